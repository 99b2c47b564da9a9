import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { data, hasData } from '../../paths.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { documents } from '../../../src/core/intake/source.ts';
import type { Loose } from '../../core/intake/fits.ts';
import { cleanEnv, emptyDirectory, ended, gov, govHere, runner, shell } from '../support/tool.ts';
import { event, ndjson, numbers } from './service.ts';

let plane: TestPlane;
let env: Record<string, string>;
let cwd: string;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());
beforeEach(() => {
  cwd = emptyDirectory();
  env = {
    GOV_BASE_URL: plane.baseUrl,
    GOV_API_KEY: plane.key,
    XDG_STATE_HOME: join(cwd, 'state'),
    GOV_RETRIES: '0',
  };
});

const write = (name: string, text: string): void => writeFileSync(join(cwd, name), text);
const countOf = async (runId: string): Promise<number> =>
  (await plane.call('GET', `/events/count?runId=${runId}`)).body.count;
const own = (run: string, count: number) => numbers(count).map((n) => event(n, { runId: run }));

describe('gov events push, against a plane', () => {
  it('gov events push records a file in the order of its lines, and repeats nothing the second time', async () => {
    write('in.ndjson', ndjson(own('ordered', 1200)));
    const first = await govHere(['events', 'push', 'in.ndjson', '-o', 'json'], { env, cwd });
    expect(first).toMatchObject({ code: 0, stderr: '1,200 events accepted in 1 run\n' });
    expect(JSON.parse(first.stdout)).toMatchObject({ accepted: 1200, rejected: 0, duplicates: 0, runs: 1 });
    const again = await govHere(['events', 'push', 'in.ndjson', '-o', 'json'], { env, cwd });
    expect(JSON.parse(again.stdout)).toMatchObject({ accepted: 0, known: 1200 });
    expect(await countOf('ordered')).toBe(1200);
    const { body } = await plane.call('GET', '/events?runId=ordered&limit=1000');
    expect(body.events.map(({ metadata }: { metadata: { n: number } }) => metadata.n)).toEqual(numbers(1000));
  });

  it('gov events push keeps each run in order with concurrent requests, through a spool', async () => {
    const events = numbers(900).map((n) => event(n, { runId: `lane-${n % 5}` }));
    write('in.ndjson', ndjson(events));
    const words = ['events', 'push', 'in.ndjson', '--spool', '--concurrency', '4', '--batch-size', '50'];
    expect(await govHere(words, { env, cwd })).toMatchObject({
      code: 0,
      stderr: '900 events accepted in 5 runs\n',
    });
    for (const lane of numbers(5)) {
      const { body } = await plane.call('GET', `/events?runId=lane-${lane}&limit=1000`);
      const recorded = body.events.map(({ metadata }: { metadata: { n: number } }) => metadata.n);
      expect(recorded).toEqual(numbers(900).filter((n) => n % 5 === lane));
    }
  });

  it('gov events push reports every verdict with its line, and exits with 9', async () => {
    write(
      'in.ndjson',
      `${ndjson(own('mixed', 2))}\n${ndjson([{ ...event(0), eventId: 'evt_x' }, { runId: 'mixed' }])}`,
    );
    const { code, stdout, stderr } = await govHere(['events', 'push', 'in.ndjson', '-o', 'ndjson'], {
      env,
      cwd,
    });
    expect(code).toBe(9);
    const verdicts = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(verdicts.map(({ line, status }) => [line, status])).toEqual([
      [1, 'accepted'],
      [2, 'accepted'],
      [4, 'rejected'],
      [5, 'rejected'],
    ]);
    expect(stderr).toContain(`in.ndjson:4: rejected: ${verdicts[2].reason}`);
    expect(await countOf('mixed')).toBe(2);
  });

  it('gov events push --dry-run checks like the service, but sends nothing', async () => {
    write('in.ndjson', ndjson([...own('dry', 2), { ...event(0), eventId: 'x' }]));
    const words = ['events', 'push', 'in.ndjson', '--dry-run'];
    const { code, stderr } = await govHere(words, { cwd, env: {} });
    expect([code, stderr.includes('2 events would be accepted in 1 run, 1 rejected')]).toEqual([9, true]);
    expect(await countOf('dry')).toBe(0);
  });

  it('gov events push accepts an event of the largest size and refuses only the larger one', async () => {
    const text = 'x'.repeat(256 * 1024 - 60);
    const sized = [
      event(0, { runId: 'large', metadata: { text } }),
      event(1, { runId: 'large', metadata: { text: text + text } }),
    ];
    write('in.json', JSON.stringify([...sized, event(2, { runId: 'large' })]));
    const { code, stderr } = await govHere(['events', 'push', 'in.json'], { env, cwd });
    expect([code, await countOf('large')]).toEqual([9, 2]);
    expect(stderr).toMatch(/in\.json:1: rejected: (event_too_large|unsafe_json)/);
  });

  it('gov events push keeps events when the service is away, and sends them later', async () => {
    const away = { ...env, GOV_BASE_URL: 'http://127.0.0.1:1/api/v1' };
    const input = ndjson(own('spooled', 30));
    // no context names the plane here, so the spool remembers the address
    const failed = await gov(['events', 'push', '-', '--spool=queue', '-o', 'json'], {
      env: away,
      cwd,
      input,
    });
    expect(failed.code).toBe(10);
    expect(JSON.parse(failed.stdout)).toMatchObject({ accepted: 0, spool: { waiting: 30 } });
    expect(failed.stderr).toContain('30 events safe in');
    expect(JSON.parse(failed.stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({
      error: { code: 'ECONNREFUSED' },
    });
    const other = await gov(['events', 'push', '--resume', '--spool=queue'], { env, cwd });
    expect(other).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('holds events for http://127.0.0.1:1/'),
    });
  });

  it('gov events push works in a pipe, and continues without a reader', async () => {
    const line = `for n in 1 2 3; do echo '{"runId":"piped","eventType":"x","actor":"a","action":"b","timestamp":"2026-01-01T00:00:0'$n'Z"}'; done | gov events push -o ndjson | head -n 1`;
    const { code, stdout } = await shell(line, { env, cwd });
    expect([code, stdout.trim().split('\n').length]).toEqual([0, 1]);
    expect(await countOf('piped')).toBe(3);
  });

  it.each([
    [['in.ndjson', '--run', 'x'], /--run: expected together with --from/],
    [['in.ndjson', '--from', 'auto', '--format', 'csv'], /--format: expected without --from/],
    [['in.ndjson', '--batch-size', '501'], /--batch-size/],
    [['in.ndjson', '--concurrency', '17'], /--concurrency/],
    [['in.ndjson', '--from', 'telepathy'], /--from: expected one of/],
    [['in.ndjson', '-', '-'], /standard input once/],
    [['in.ndjson', '--idempotency-key', 'k'.repeat(200)], /--idempotency-key/],
  ])('gov events push refuses %j before it reads', async (words, message) => {
    write('in.ndjson', ndjson(own('refused', 1)));
    const { code, stderr } = await govHere(['events', 'push', ...words], { env, cwd });
    expect([code, message.test(stderr)]).toEqual([2, true]);
    expect(await countOf('refused')).toBe(0);
  });

  it('gov events push --resume without a file sends the spool and waits for no input', async () => {
    const { code, stderr } = await govHere(['events', 'push', '--resume', '--spool'], { env, cwd });
    expect([code, stderr]).toEqual([0, '0 events accepted\n']);
    expect(existsSync(join(cwd, 'state/gov/spool'))).toBe(true);
  });

  it('an interrupted gov events push leaves all its input recorded or spooled', async () => {
    const words = [runner, 'events', 'push', '-', '--spool=queue', '-o', 'ndjson'];
    const child = spawn(process.execPath, words, { env: cleanEnv(env), cwd });
    child.stdin.write(ndjson(own('cut', 1)));
    child.stdout.once('data', () => {
      child.stdin.write(ndjson(own('cut', 3).slice(1)));
      child.stdin.write('{"half of a line', () => child.kill('SIGINT'));
    });
    const { code, stderr } = await ended(child);
    expect(code).toBe(130);
    expect(stderr).toContain('interrupted: 1 event acknowledged');
    expect((await govHere(['events', 'push', '--resume', '--spool=queue'], { env, cwd })).code).toBe(0);
    // what the pipe held when the signal came may not have been taken out of it
    expect(await countOf('cut')).toBeGreaterThanOrEqual(1);
  });
});

describe.skipIf(!hasData)(
  'gov events push --from, against a plane (skipped without the recorded runs)',
  () => {
    it(
      'gov events push --from records all runs of τ-bench, and records none of them twice',
      { timeout: 180_000 },
      async () => {
        const words = [
          'events',
          'push',
          data('tau-bench/gpt-4o-airline.json'),
          '--from',
          'auto',
          '-o',
          'json',
        ];
        const first = await govHere(words, { env, cwd });
        expect(first.code).toBe(0);
        expect(JSON.parse(first.stdout)).toMatchObject({ accepted: 8162 + 200, rejected: 0, runs: 200 });
        expect(first.stderr).toContain(
          'read 200 runs: 8,162 events from 5,308 messages, steps or observations',
        );
        const later = await govHere([...words, '--batch-size', '499'], {
          env,
          cwd,
          now: Date.parse('2026-03-02T12:00:00Z'),
        });
        expect(JSON.parse(later.stdout)).toMatchObject({ accepted: 0, rejected: 0, known: 8162 + 200 });
        expect(await countOf('tau-airline-0-0')).toBe(JSON.parse(first.stdout).imports[0].events + 1);
        const elsewhere = { ...env, XDG_STATE_HOME: join(cwd, 'other') };
        const other = await govHere(words, {
          env: elsewhere,
          cwd,
          now: Date.parse('2026-03-02T12:00:00Z'),
        });
        expect(JSON.parse(other.stdout)).toMatchObject({ accepted: 0, rejected: 0, known: 8162 + 200 });
      },
    );

    /** The graph of a run with its events, and each edge between events by their clientEventIds. */
    async function graphOf(runId: string) {
      expect((await plane.call('POST', `/graphs/${runId}/commit`)).status).toBe(200);
      const { edges } = (await plane.call('GET', `/graphs/${runId}`)).body;
      const events: Loose[] = (await plane.call('GET', `/events?runId=${runId}&limit=1000`)).body.events;
      const byId = new Map(events.map((each) => [each.eventId, each]));
      const between = edges
        .map((edge: Loose) => ({
          type: edge.type,
          source: byId.get(edge.source),
          target: byId.get(edge.target),
        }))
        .filter(({ source, target }: Loose) => source !== undefined && target !== undefined);
      return { events, between: between as Loose[] };
    }

    const importedRuns = async (path: string, format = 'auto'): Promise<string[]> => {
      const pushed = await govHere(['events', 'push', data(path), '--from', format, '-o', 'json'], {
        env,
        cwd,
      });
      expect(pushed.code).toBe(0);
      return JSON.parse(pushed.stdout).imports.map(({ runId }: { runId: string }) => runId);
    };

    it(
      'gov events push --from records OpenHands runs with exactly the causes of the source',
      { timeout: 60_000 },
      async () => {
        let causes = 0;
        for (const name of readdirSync(data('openhands')).filter((each) => /json/.test(each))) {
          const runIds = await importedRuns(`openhands/${name}`, 'openhands');
          const sources: Loose[] = [...documents(readFileSync(data(`openhands/${name}`), 'utf8'), name)];
          for (const [index, runId] of runIds.entries()) {
            const { between } = await graphOf(runId);
            const { value } = sources[index];
            const expected = (Array.isArray(value) ? value : value.history)
              .filter((each: Loose) => each.cause !== undefined)
              .map((each: Loose) => `${each.cause} -> ${each.id}`);
            const found = between.filter(({ type }) => type === 'causes');
            expect(
              found.map(({ source, target }) => `${source.metadata.sourceId} -> ${target.metadata.sourceId}`),
            ).toEqual(expected);
            causes += expected.length;
          }
        }
        expect(causes).toBe(117);
      },
    );

    it(
      'gov events push --from links calls of all other formats, and causes precede effects',
      { timeout: 60_000 },
      async () => {
        const folders = ['swe-agent', 'langfuse-framework-traces'];
        const files = folders.flatMap((folder) =>
          readdirSync(data(folder)).map((name) => `${folder}/${name}`),
        );
        for (const file of files.filter((each) => /(json|traj)$/.test(each))) {
          for (const runId of await importedRuns(file)) {
            const { events, between } = await graphOf(runId);
            const ordered = between.filter(({ type }) => type !== 'contains');
            expect(ordered.every(({ source, target }) => source.sequence < target.sequence)).toBe(true);
            const results = events.filter(({ eventType }) => eventType === 'tool.result');
            const answered = between.filter(
              ({ type, target }) => type === 'produces' && target.eventType === 'tool.result',
            );
            expect(answered.length).toBe(results.length);
            if (!file.startsWith('swe-agent')) continue;
            const asked = between.filter(
              ({ type, target }) => type === 'causes' && target.eventType === 'tool.call',
            );
            expect(asked.length).toBe(events.filter(({ eventType }) => eventType === 'tool.call').length);
          }
        }
      },
    );

    it(
      'gov events push --from links each τ-bench call with its model, its result and the reading model',
      { timeout: 120_000 },
      async () => {
        const runIds = await importedRuns('tau-bench/gpt-4o-airline.json');
        for (const runId of runIds.filter((_, index) => index % 5 === 0)) {
          const { events, between } = await graphOf(runId);
          const calls = events.filter(({ eventType }) => eventType === 'tool.call').length;
          const count = (type: string, target: string) =>
            between.filter((edge) => edge.type === type && edge.target.eventType === target).length;
          expect(count('causes', 'tool.call')).toBe(calls);
          expect(count('produces', 'tool.result')).toBe(calls);
          const read = events.flatMap(({ metadata }) => metadata.toolResultIds ?? []).length;
          expect(count('feeds', 'model.invoked')).toBe(read);
        }
      },
    );
  },
);
