import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { planeInit } from '../../plane/data/init.ts';
import { limits } from '../../src/contract/limits.ts';
import { serveProcess, type ServingProcess } from '../support/process.ts';
import { event, send } from '../support/serving.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

interface Serving extends ServingProcess {
  readonly key: string;
  readonly dataDir: string;
}

async function start(dataDir?: string, openFiles?: number): Promise<Serving> {
  let directory = dataDir;
  if (directory === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'gov-life-'));
    folders.push(folder);
    directory = join(folder, 'plane');
    await planeInit({ dataDir: directory, listen: '127.0.0.1:0', metricsListen: 'off' });
  }
  const served = await serveProcess('plane', directory, { openFiles });
  const key = readFileSync(join(directory, 'local.key'), 'utf8').trim();
  return { ...served, key, dataDir: directory };
}

const post = ({ baseUrl, key }: Serving, body: unknown) => send('POST', `${baseUrl}/events`, { key, body });

describe('a serving plane', () => {
  it('a plane exits with 0 on SIGTERM and on SIGINT, removes run.json, and starts again', async () => {
    let plane = await start();
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      expect(JSON.parse(readFileSync(join(plane.dataDir, 'run.json'), 'utf8'))).toMatchObject({
        pid: plane.child.pid,
        baseUrl: plane.baseUrl,
        metricsUrl: null,
      });
      await post(plane, event());
      plane.child.kill(signal);
      expect(await plane.ended).toBe(0);
      expect(existsSync(join(plane.dataDir, 'run.json'))).toBe(false);
      plane = await start(plane.dataDir);
    }
    const { body } = await send('GET', `${plane.baseUrl}/events/count`, { key: plane.key });
    expect(body.count).toBe(4); // two, and the events of the two local keys
    plane.child.kill('SIGTERM');
    await plane.ended;
  });

  it('a plane keeps serving when there are more idle connections than its limit of open files', async () => {
    const plane = await start(undefined, 256);
    const { port } = new URL(plane.baseUrl);
    const idle = Array.from({ length: 400 }, () => connect(Number(port), '127.0.0.1').on('error', () => {}));
    const ended = new Promise<void>((resolve) => {
      let closed = 0;
      for (const socket of idle)
        socket.on('close', () => ++closed === 400 - (256 - limits.ownOpenFiles) && resolve());
    });
    await ended;
    const descriptors = readdirSync(`/proc/${plane.child.pid}/fd`).length;
    expect(descriptors).toBeLessThan(256);
    for (const socket of idle.slice(0, 200)) socket.destroy();
    await vi.waitFor(async () => expect((await post(plane, event())).status).toBe(201), 10_000);
    for (const socket of idle) socket.destroy();
    plane.child.kill('SIGTERM');
    expect(await plane.ended).toBe(0);
    expect(plane.log()).not.toContain('EMFILE');
  });

  it('a plane does not start when its limit of open files is too low', async () => {
    await expect(start(undefined, 64)).rejects.toThrow(
      `expected a limit of at least ${limits.ownOpenFiles + limits.fewestConnections} open files, got 64`,
    );
  });

  it('a stopping plane finishes accepted requests and loses no acknowledged event', async () => {
    const plane = await start();
    const acknowledged: string[] = [];
    const senders = Array.from({ length: 8 }, async () => {
      for (;;) {
        try {
          const { status, body } = await post(plane, event({ runId: 'drain' }));
          if (status === 201) acknowledged.push(body.eventId as string);
          else expect(body.code).toBe('SHUTTING_DOWN');
          if (status !== 201) return;
        } catch {
          return; // refused or reset: not acknowledged
        }
      }
    });
    while (acknowledged.length < 50) await new Promise((resolve) => setImmediate(resolve));
    plane.child.kill('SIGTERM');
    await Promise.all(senders);
    expect(await plane.ended).toBe(0);
    const again = await start(plane.dataDir);
    const { body } = await send('GET', `${again.baseUrl}/events?runId=drain&limit=1000`, { key: again.key });
    const stored = new Set(body.events.map(({ eventId }: { eventId: string }) => eventId));
    expect(acknowledged.filter((eventId) => !stored.has(eventId))).toEqual([]);
    again.child.kill('SIGKILL');
    expect(await again.ended).toBe('SIGKILL');
  });

  it('a stopping plane does not wait for clients that keep their connection open', async () => {
    const plane = await start();
    const agent = new Agent({ keepAlive: true });
    const options = {
      agent,
      method: 'POST',
      headers: { authorization: `Bearer ${plane.key}`, 'content-type': 'application/json' },
    };
    let stopped = false;
    const [first, last]: [number[], number[]] = [[], []];
    const ask = () => {
      const request = httpRequest(`${plane.baseUrl}/events`, options, (response) => {
        (stopped ? last : first).push(response.statusCode ?? 0);
        if (!stopped) ask();
        response.resume();
      });
      request.on('error', () => undefined).end(JSON.stringify(event({ runId: 'kept' })));
    };
    for (let at = 0; at < 16; at++) ask();
    while (first.length < 100) await new Promise((resolve) => setImmediate(resolve));
    stopped = true;
    const from = performance.now();
    plane.child.kill('SIGTERM');
    expect(await plane.ended).toBe(0);
    expect(performance.now() - from).toBeLessThan((limits.drainSeconds * 1000) / 2);
    expect(last.length).toBeGreaterThan(0);
    agent.destroy();
  });

  it('a plane starts after kill -9 with all acknowledged events and idempotency keys', async () => {
    const plane = await start();
    const keyed = { key: plane.key, body: event({ runId: 'killed' }), headers: { 'idempotency-key': 'k' } };
    const { body, text } = await send('POST', `${plane.baseUrl}/events`, keyed);
    plane.child.kill('SIGKILL');
    await plane.ended;
    const again = await start(plane.dataDir);
    const repeat = await send('POST', `${again.baseUrl}/events`, keyed);
    expect([repeat.text, repeat.headers['idempotent-replayed']]).toEqual([text, 'true']);
    const counted = await send('GET', `${again.baseUrl}/events/count?runId=killed`, { key: again.key });
    expect(counted.body.count).toBe(1);
    const found = await send('GET', `${again.baseUrl}/events/${body.eventId}`, { key: again.key });
    expect(found.status).toBe(200);
    const proof = await send('POST', `${again.baseUrl}/proofs`, {
      key: again.key,
      body: { runId: 'killed' },
    });
    expect(proof.status).toBe(201);
    again.child.kill('SIGTERM');
    expect(await again.ended).toBe(0);
  });

  it('a data directory has at most one serving plane', async () => {
    const plane = await start();
    await expect(start(plane.dataDir)).rejects.toThrow(/holds it/);
    plane.child.kill('SIGTERM');
    expect(await plane.ended).toBe(0);
  });

  const hasPrlimit = process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0;
  it.skipIf(!hasPrlimit)(
    'a plane exits with 74 when the disk fails, and refuses writes until then',
    async () => {
      const plane = await start();
      await post(plane, event());
      // the next write that makes a file larger fails with an I/O error
      spawnSync('prlimit', ['--pid', String(plane.child.pid), '--fsize=4096']);
      const { status, body } = await post(plane, event({ metadata: { fill: 'x'.repeat(200_000) } }));
      expect([status, body.code]).toEqual([503, 'STORAGE_FAULT']);
      const ready = await send('GET', `${plane.baseUrl}/health/ready`, { key: plane.key }).catch(() => null);
      if (ready !== null) expect(ready.status).toBe(503);
      expect(await plane.ended).toBe(74);
    },
  );

  it('a plane writes no key to its log', async () => {
    const plane = await start();
    await post(plane, event({ metadata: { key: plane.key } }));
    await send('GET', `${plane.baseUrl}/events?key=${plane.key}`, { key: plane.key });
    plane.child.kill('SIGTERM');
    await plane.ended;
    expect(plane.log()).toContain('"msg":"serving"');
    expect(plane.log()).not.toContain(plane.key);
  });
});
