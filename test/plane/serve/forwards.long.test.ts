/** A serving plane forwards its log: to a receiver over TLS, with position, errors, health and metrics. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { planeServe, type RunningPlane } from '../../../plane/serve/start.ts';
import { addTarget } from '../../../src/host/data/forwards.ts';
import type { TargetFile } from '../../../src/host/forwards/config.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { startSyslog, type SyslogReceiver } from '../../host/forwards/support/receivers.ts';
import { makeAuthority, type Authority, type Issued } from '../../support/certificates.ts';
import { serveProcess } from '../../support/process.ts';
import { event, send } from '../../support/serving.ts';

let folder: string;
let authority: Authority;
let server: Issued;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gov-forwards-'));
  authority = makeAuthority(folder);
  server = authority.issue('server');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function receiver(port = 0): Promise<SyslogReceiver> {
  const started = await startSyslog({ cert: server.cert, key: server.key }, port);
  ends.push(() => started.close());
  return started;
}

let planes = 0;
async function planeWith(target: Omit<TargetFile, 'name'>): Promise<string> {
  const dataDir = join(folder, `plane-${++planes}`);
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: '127.0.0.1:0' });
  addTarget(dataDir, { name: 'siem', ...target });
  return dataDir;
}

async function serve(dataDir: string): Promise<RunningPlane & { key: string }> {
  const plane = await planeServe({ dataDir, log: silentLog, env: {}, overloadDelayMs: 60_000 });
  ends.push(() => plane.close());
  return { ...plane, key: readFileSync(join(dataDir, 'local.key'), 'utf8').trim() };
}

const status = async ({ baseUrl, key }: { baseUrl: string; key: string }) => {
  const { status: code, body } = await send('GET', `${baseUrl}/operations/forwards`, { key });
  expect(code).toBe(200);
  return body.data[0];
};

const overTls = (port: number): Omit<TargetFile, 'name'> => ({
  to: `syslog+tls://localhost:${port}`,
  ca: authority.certFile,
  from: 'start',
});
const indexes = ({ messages }: SyslogReceiver): number[] =>
  messages.map((message) => Number(/ index="(\d+)"/.exec(message)?.[1]));

describe('a plane with a forward target', () => {
  it('copies its log from the start over TLS, and shows position, lag and records', async () => {
    const syslog = await receiver();
    const plane = await serve(await planeWith(overTls(syslog.port)));
    for (const runId of ['a', 'b'])
      await send('POST', `${plane.baseUrl}/events`, { key: plane.key, body: event({ runId }) });
    await vi.waitFor(
      async () => expect(await status(plane)).toMatchObject({ state: 'current', lag: 0 }),
      20_000,
    );
    const { records, position, treeSize, to } = await status(plane);
    expect([records, position]).toEqual([treeSize, treeSize]);
    expect(to).toBe(`syslog+tls://localhost:${syslog.port}`);
    expect(indexes(syslog)).toEqual(Array.from({ length: treeSize }, (_, index) => index));
    const metrics = await (await fetch(plane.metricsUrl!)).text();
    expect(metrics).toContain(`gov_forward_records_total{target="siem"} ${treeSize}`);
    expect(metrics).toContain('gov_forward_lag_leaves{target="siem"} 0');
  });

  it('records while its receiver is away, says why it fails, and delivers everything later', async () => {
    const syslog = await receiver();
    const { port } = syslog;
    await syslog.close();
    const plane = await serve(await planeWith(overTls(port)));
    const { status: code } = await send('POST', `${plane.baseUrl}/events`, { key: plane.key, body: event() });
    expect(code).toBe(201);
    await vi.waitFor(
      async () =>
        expect(await status(plane)).toMatchObject({
          state: 'failing',
          lastError: expect.stringContaining('ECONNREFUSED'),
          retryAt: expect.any(String),
        }),
      20_000,
    );
    const metrics = await (await fetch(plane.metricsUrl!)).text();
    expect(metrics).toContain('gov_forward_failing{target="siem"} 1');
    const again = await receiver(port);
    await vi.waitFor(async () => expect(await status(plane)).toMatchObject({ state: 'current' }), 40_000);
    expect(indexes(again)).toHaveLength((await status(plane)).treeSize);
  });

  it('after a kill between the send and the save, nothing is lost and a repetition has the same leaf index', async () => {
    const syslog = await receiver();
    const dataDir = await planeWith(overTls(syslog.port));
    const first = await serveProcess('plane', dataDir);
    const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
    for (let at = 0; at < 5; at++) await send('POST', `${first.baseUrl}/events`, { key, body: event() });
    await vi.waitFor(() => expect(syslog.messages.length).toBeGreaterThanOrEqual(5), 20_000);
    first.child.kill('SIGKILL');
    await first.ended;
    const before = syslog.messages.length;
    const plane = await serve(dataDir);
    await send('POST', `${plane.baseUrl}/events`, { key: plane.key, body: event() });
    await vi.waitFor(async () => expect(await status(plane)).toMatchObject({ state: 'current' }), 30_000);
    const { treeSize } = await status(plane);
    expect(before).toBeLessThan(syslog.messages.length);
    const got = indexes(syslog);
    expect([...new Set(got)].toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: treeSize }, (_, at) => at),
    );
    const byIndex = Map.groupBy(syslog.messages, (message) => / leafHash="([^"]+)"/.exec(message)?.[1]);
    expect(byIndex.size).toBe(treeSize);
  });

  it('refuses to start with a target that is wrong, and names the member', async () => {
    const dataDir = await planeWith({ to: 'syslog+tcp://127.0.0.1:1' });
    const file = join(dataDir, 'plane.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('syslog+tcp', 'telnet'));
    await expect(planeServe({ dataDir, log: silentLog, env: {} })).rejects.toThrow(
      '/forwards/0/to: expected syslog+tls',
    );
  });
});
