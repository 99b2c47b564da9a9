import { readdirSync } from 'node:fs';
import { PassThrough, Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Json } from '../../../src/core/json/parse.ts';
import { limits } from '../../../src/contract/limits.ts';
import { data, hasData } from '../../paths.ts';
import { Folder, push } from './harness.ts';
import { apiError, event, FakeService, ndjson, numbers } from './service.ts';

let folder: Folder;
let service: FakeService;
beforeEach(() => {
  folder = new Folder();
  service = new FakeService();
});
afterEach(() => folder.remove());

const sequence = (): number[] => service.recorded.map(({ metadata }) => (metadata as { n: number }).n);
const events = (count: number): string => ndjson(numbers(count).map((n) => event(n)));

describe('pushing a file', () => {
  it('a push records the events of a file in order and in batches, and reports their number', async () => {
    folder.write('in.ndjson', events(25));
    const { code, stdout, stderr } = await push({ files: ['in.ndjson'] }, { folder, service });
    expect(code).toBe(0);
    expect(stdout).toBe('');
    expect(stderr).toBe('25 events accepted in 3 runs\n');
    expect(sequence()).toEqual(numbers(25));
    expect(service.keys.length).toBe(3);
  });

  it('a repeated push of a file records nothing twice, and reports that', async () => {
    folder.write('in.ndjson', events(25));
    await push({ files: ['in.ndjson'] }, { folder, service });
    const { stderr } = await push({ files: ['in.ndjson'] }, { folder, service });
    expect(stderr).toBe('0 events accepted, 25 recorded before\n');
    expect(service.recorded.length).toBe(25);
  });

  it.each([2, 3, 16])('a push keeps the order of each run with %i lanes', async (concurrency) => {
    folder.write('in.ndjson', events(200));
    await push({ files: ['in.ndjson'], concurrency, batchSize: 7 }, { folder, service });
    for (const [run, own] of service.byRun()) {
      expect(own).toEqual(numbers(200).filter((n) => `run-${n % 3}` === run));
    }
  });

  it('a push takes several files of several formats and standard input, one after the other', async () => {
    folder.write('a.json', JSON.stringify([event(0), event(1)]));
    folder.write('b.csv', 'runId,metadata.n\nrun-2,2\n');
    await push({ files: ['a.json', '-', 'b.csv'] }, { folder, service, stdin: ndjson([event(7)]) });
    expect(service.recorded.map(({ metadata }) => Number((metadata as { n: Json }).n))).toEqual([0, 1, 7, 2]);
    expect(service.keys.length).toBe(3);
  });

  it('a push lists rejected events with file, line and reason, and exits with 9', async () => {
    folder.write('in.ndjson', `${events(3)}\n{"no":"run"}\n{"a":1,"a":2}\n${events(1)}`);
    const outcome = await push({ files: ['in.ndjson'] }, { folder, service });
    expect(outcome.code).toBe(9);
    expect(outcome.stderr).toContain('in.ndjson:5: rejected: missing_field: /runId');
    expect(outcome.stderr).toContain('in.ndjson:6: rejected: unsafe_json:');
    expect(outcome.stderr).toContain('4 events accepted in 3 runs, 2 rejected');
    expect((await push({ files: ['in.ndjson'], failOn: 'none' }, { folder, service })).code).toBe(0);
    expect(outcome.stderr).not.toContain('--from auto');
    folder.write('chat.json', '{"messages":[]}\n{"messages":[]}\n');
    const recording = await push({ files: ['chat.json'] }, { folder, service });
    expect(recording.stderr).toContain(
      'If it is a recording of an agent: gov events push --from auto FILE\n0 events',
    );
  });

  it('a push lists a limited number of rejections and counts the rest', async () => {
    folder.write('in.ndjson', ndjson(numbers(25).map(() => ({}))));
    const { stderr } = await push({ files: ['in.ndjson'] }, { folder, service });
    expect(stderr.match(/rejected: /g)?.length).toBe(limits.pushListedRejections);
    expect(stderr).toContain('5 more rejected');
  });

  it('a push shows remote text without control characters for the terminal', async () => {
    folder.write('in.ndjson', ndjson([{ clientEventId: '\u001b[2J\u202e' }]));
    const { stderr } = await push({ files: ['in.ndjson'] }, { folder, service });
    expect(stderr).toContain('\\u001b[2J\\u202e');
  });

  it.each([
    ['missing.ndjson', /cannot read missing.ndjson: the file does not exist/],
    ['.', /expected a file, got a directory/],
  ])('a push exits with 2 before it sends anything when a file cannot be read: %s', async (name, message) => {
    folder.write('in.ndjson', events(3));
    const outcome = await push({ files: ['in.ndjson', name] }, { folder, service });
    expect(outcome).toMatchObject({ code: 2, failure: expect.stringMatching(message) });
    expect(service.keys).toEqual([]);
  });
});

describe('the output', () => {
  const mixed = (): string =>
    folder.write('in.ndjson', ndjson([event(0, { clientEventId: 'c-0' }), {}, event(1)]));

  it('the output of a push is one JSON value with -o json', async () => {
    mixed();
    const { stdout } = await push({ files: ['in.ndjson'] }, { folder, service, output: 'json' });
    expect(JSON.parse(stdout)).toEqual({
      accepted: 2,
      rejected: 1,
      duplicates: 0,
      known: 0,
      runs: 2,
      results: [
        {
          line: 1,
          source: 'in.ndjson',
          status: 'accepted',
          eventId: expect.any(String),
          clientEventId: 'c-0',
        },
        { line: 2, source: 'in.ndjson', status: 'rejected', eventId: null, reason: expect.any(String) },
        { line: 3, source: 'in.ndjson', status: 'accepted', eventId: expect.any(String) },
      ],
    });
    folder.write('many.ndjson', events(limits.pushListedResults + 1));
    const many = await push({ files: ['many.ndjson'], batchSize: 500 }, { folder, service, output: 'json' });
    expect(JSON.parse(many.stdout)).toEqual({
      accepted: limits.pushListedResults + 1,
      rejected: 0,
      duplicates: 0,
      known: 0,
      runs: 3,
    });
    folder.write('none.ndjson', '');
    const none = await push({ files: ['none.ndjson'] }, { folder, service, output: 'json' });
    expect(JSON.parse(none.stdout)).toEqual({
      accepted: 0,
      rejected: 0,
      duplicates: 0,
      known: 0,
      runs: 0,
      results: [],
    });
  });

  it('the output of a push is one verdict per line with -o ndjson and csv, and event ids with -o id', async () => {
    mixed();
    const lines = (await push({ files: ['in.ndjson'] }, { folder, service, output: 'ndjson' })).stdout
      .trim()
      .split('\n');
    expect(lines.map((line) => JSON.parse(line).status)).toEqual(['accepted', 'rejected', 'accepted']);
    const elsewhere = { folder, service, target: 'http://127.0.0.1:7461/api/v1' };
    const csv = (await push({ files: ['in.ndjson'] }, { ...elsewhere, output: 'csv' })).stdout
      .trim()
      .split('\n');
    expect(csv[0]).toBe('line,source,status,eventId,clientEventId,reason');
    expect(csv.length).toBe(4);
    const third = { folder, service, target: 'http://127.0.0.1:7462/api/v1' };
    const ids = (await push({ files: ['in.ndjson'] }, { ...third, output: 'id' })).stdout.trim().split('\n');
    expect(ids).toEqual([expect.stringMatching(/^evt_/), expect.stringMatching(/^evt_/)]);
  });

  it('a push whose output loses its reader still records everything', async () => {
    folder.write('in.ndjson', events(100));
    const closed = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error('closed'), { code: 'EPIPE' })),
    });
    const { code } = await push(
      { files: ['in.ndjson'] },
      { folder, service, output: 'ndjson', stdout: closed },
    );
    expect(code).toBe(0);
    expect(service.recorded.length).toBe(100);
  });
});

describe('input that cannot be read', () => {
  it('a push records all lines except an unreadable one, and repeats nothing after its repair', async () => {
    const path = folder.write('in.ndjson', `${events(15)}{"broken\n`);
    const outcome = await push({ files: ['in.ndjson'] }, { folder, service, output: 'json' });
    expect(outcome).toMatchObject({
      code: 9,
      stderr: expect.stringMatching(/^in\.ndjson:16: rejected: invalid_json: expected/),
    });
    expect(JSON.parse(outcome.stdout)).toMatchObject({ accepted: 15, rejected: 1 });
    folder.write('in.ndjson', `${events(15)}${ndjson([event(15)])}`);
    expect((await push({ files: [path] }, { folder, service })).code).toBe(0);
    expect(sequence()).toEqual(numbers(16));
  });

  it('a push from a pipe records all lines except an unreadable one', async () => {
    const outcome = await push({ files: ['-'] }, { folder, service, stdin: `${events(15)}{"broken\n` });
    expect(outcome).toMatchObject({
      code: 9,
      stderr: expect.stringMatching(/^stdin:16: rejected: invalid_json/),
    });
    expect(sequence()).toEqual(numbers(15));
  });
});

describe('a pipe that pauses', () => {
  it('a push sends the events of a pausing pipe after a second', async () => {
    const stdin = new PassThrough();
    let arrived = (): void => {};
    const first = new Promise<void>((resolve) => (arrived = resolve));
    service.before = () => arrived();
    const running = push({ files: ['-'] }, { folder, service, stdin });
    stdin.write(events(3));
    await first;
    stdin.end(ndjson([event(3)]));
    expect((await running).code).toBe(0);
    expect(sequence()).toEqual(numbers(4));
    expect(service.keys.length).toBe(2);
  });
});

describe('a dry run', () => {
  it('a dry run checks locally and sends nothing', async () => {
    folder.write(
      'in.ndjson',
      ndjson([event(0), event(1, { eventId: 'x' }), event(2, { timestamp: 'today' })]),
    );
    const openSink = { push: () => Promise.reject(new Error('must not be sent')) };
    const outcome = await push(
      { files: ['in.ndjson'], dryRun: true },
      { folder, service: openSink, output: 'json' },
    );
    expect(outcome.code).toBe(9);
    expect(JSON.parse(outcome.stdout)).toMatchObject({ accepted: 1, rejected: 2, dryRun: true });
    expect(outcome.stderr).toContain('in.ndjson:3: rejected: invalid_field: /timestamp');
    expect(outcome.stderr).toContain('1 event would be accepted in 1 run, 2 rejected');
  });
});

describe.skipIf(!hasData)('pushing recordings (skipped without the recorded runs)', () => {
  it('a push imports a recorded file, reports the result, and records nothing new the second time', async () => {
    const files = [data('openhands/multi_swe_bench__output.jsonl'), data('openhands/resolver__output.jsonl')];
    const { code, stdout, stderr } = await push(
      { files, from: 'auto', batchSize: 500 },
      { folder, service, output: 'json' },
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      accepted: 284 + 5,
      rejected: 0,
      runs: 5,
      imports: { length: 5 },
    });
    expect(stderr).toContain('read 5 runs: 284 events from 274 messages, steps or observations');
    const recorded = service.recorded.length;
    // with other batches, so that clientEventIds alone keep it from being recorded again
    const again = await push({ files, from: 'openhands', batchSize: 100 }, { folder, service });
    expect(again.code).toBe(0);
    expect(service.recorded.length).toBe(recorded);
  });

  it('the local check accepts every event of all recorded runs', async () => {
    const names = ['tau-bench', 'swe-agent', 'langfuse-framework-traces'].flatMap((name) =>
      readdirSync(data(name))
        .filter((file) => /(json|jsonl|traj)$/.test(file))
        .map((file) => data(`${name}/${file}`)),
    );
    const outcome = await push(
      { files: names, from: 'auto', dryRun: true, batchSize: 500 },
      { folder, output: 'json' },
    );
    expect(outcome.failure).toBe('');
    expect(JSON.parse(outcome.stdout)).toMatchObject({
      // each file has a balance in each of its runs
      accepted: 8162 + 606 + 827 + 195 + 263,
      rejected: 0,
      runs: 262,
    });
    expect(outcome.stderr).toContain('tool call ids used twice in a run, numbered');
  });

  it('an import names its runs after --run', async () => {
    const files = [data('swe-agent/function_calling_simple.traj')];
    await push({ files, from: 'swe-agent', run: 'my-run' }, { folder, service });
    expect(new Set(service.recorded.map(({ runId }) => runId))).toEqual(new Set(['my-run']));
    const several = await push(
      { files: [data('tau-bench/gpt-4o-airline.json')], from: 'auto', run: 'x' },
      { folder, service },
    );
    expect(several).toMatchObject({ code: 2, failure: expect.stringMatching(/expected one run for --run/) });
  });
});

describe('a program that writes into the pipe', () => {
  /** A pipe that reports whether its reader has gone before its end. */
  const pipe = () => {
    const stdin = new PassThrough();
    let isBroken = false;
    stdin.once('close', () => (isBroken = !stdin.readableEnded));
    return { stdin, isBroken: () => isBroken };
  };

  it('a pipe is read to its end after an invalid line, and its later lines are recorded', async () => {
    const { stdin, isBroken } = pipe();
    const running = push({ files: ['-'] }, { folder, service, stdin });
    stdin.write('Warning: a library speaks\n');
    stdin.write(events(2));
    await new Promise((resolve) => setImmediate(resolve));
    stdin.end(ndjson([event(2)]));
    expect(await running).toMatchObject({ code: 9, stderr: expect.stringContaining('stdin:1: rejected') });
    expect([sequence(), isBroken()]).toEqual([numbers(3), false]);
  });

  it.each([
    ['input that cannot be read', 'runId,nonsense\n', () => {}],
    [
      'a failure of the service',
      events(30),
      () => {
        throw apiError('FORBIDDEN', 403);
      },
    ],
  ])('a pipe is read to its end after %s', async (_, text, before) => {
    const { stdin, isBroken } = pipe();
    service.before = before;
    const running = push({ files: ['-'] }, { folder, service, stdin });
    stdin.write(text);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(isBroken()).toBe(false);
    stdin.end('more\n');
    const { code, stderr } = await running;
    expect([code === 0, isBroken()]).toEqual([false, false]);
    expect(stderr).toContain('gov reads standard input to its end and keeps nothing of it');
  });
});
