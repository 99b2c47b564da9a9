import { existsSync, readdirSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Folder, push } from './harness.ts';
import { apiError, event, FakeService, ndjson, numbers, unreachable } from './service.ts';

let folder: Folder;
let service: FakeService;
beforeEach(() => {
  folder = new Folder();
  service = new FakeService();
});
afterEach(() => folder.remove());

const sequence = (): number[] => service.recorded.map(({ metadata }) => (metadata as { n: number }).n);
const events = (count: number): string => ndjson(numbers(count).map((n) => event(n)));

describe('a service that is away', () => {
  it('a push from memory exits with 10 when the service is away, and may be repeated', async () => {
    folder.write('in.ndjson', events(35));
    service.before = (request) => {
      if (request === 2) throw unreachable();
    };
    const outcome = await push({ files: ['in.ndjson'] }, { folder, service, output: 'json' });
    expect(outcome).toMatchObject({ code: 10, failure: expect.stringMatching(/run the same command again/) });
    expect(JSON.parse(outcome.stdout)).toMatchObject({ accepted: 10 });
    expect((await push({ files: ['in.ndjson'] }, { folder, service })).code).toBe(0);
    expect(sequence()).toEqual(numbers(35));
  });

  it('a push from a pipe reports lost events when the service is away', async () => {
    service.before = () => {
      throw unreachable();
    };
    const { code, stderr } = await push({ files: ['-'] }, { folder, service, stdin: events(35) });
    expect(code).toBe(10);
    expect(stderr).toMatch(/\d+ events read and not acknowledged; without --spool they are lost from a pipe/);
  });

  it('a push to an unreachable service leaves all events in the spool, and --resume sends them', async () => {
    service.before = () => {
      throw unreachable();
    };
    const spool = join(folder.path, 'spool');
    const outcome = await push(
      { files: ['-'], spool },
      { folder, service, stdin: events(35), output: 'json' },
    );
    expect(outcome.code).toBe(10);
    expect(outcome.stderr).toContain(`35 events safe in ${spool}; to send them: gov events push --resume`);
    expect(JSON.parse(outcome.stdout)).toMatchObject({ accepted: 0, spool: { waiting: 35 } });
    service.before = () => {};
    const resumed = await push({ spool, resume: true }, { folder, service });
    expect(resumed.code).toBe(0);
    expect(resumed.stderr).toContain('sending the events left in');
    expect(sequence()).toEqual(numbers(35));
    expect(readdirSync(spool)).toEqual([]);
  });

  it.each([
    ['INVALID_CREDENTIAL', 401, 4],
    ['QUOTA_EXCEEDED', 429, 7],
    ['INTERNAL', 500, 1],
  ])(
    'a push refused with %s exits with its code, and the input stays in the spool',
    async (code, status, exit) => {
      folder.write('in.ndjson', events(35));
      service.before = (request) => {
        if (request === 2) throw apiError(code, status, { retryable: false });
      };
      const spool = join(folder.path, 'spool');
      const outcome = await push({ files: ['in.ndjson'], spool }, { folder, service });
      expect(outcome.code).toBe(exit);
      expect(outcome.stderr).toContain('25 events safe in');
      expect((await push({ spool, resume: true }, { folder, service })).code).toBe(0);
      expect(sequence()).toEqual(numbers(35));
    },
  );

  it('a push sends earlier spooled events before new ones', async () => {
    const spool = join(folder.path, 'spool');
    service.before = () => {
      throw unreachable();
    };
    await push({ files: ['-'], spool }, { folder, service, stdin: events(5) });
    service.before = () => {};
    await push(
      { files: ['-'], spool, concurrency: 3 },
      { folder, service, stdin: ndjson([event(6), event(7)]) },
    );
    expect(sequence().slice(0, 5)).toEqual(numbers(5));
    expect(sequence().slice(5).toSorted()).toEqual([6, 7]);
  });

  it('a push leaves spooled events of another target in the spool', async () => {
    const spool = join(folder.path, 'spool');
    service.before = () => {
      throw unreachable();
    };
    await push({ files: ['-'], spool }, { folder, service, stdin: events(5), target: 'a' });
    const outcome = await push({ files: ['-'], spool }, { folder, service, stdin: events(1), target: 'b' });
    expect(outcome).toMatchObject({ code: 2, failure: expect.stringMatching(/holds events for a/) });
  });
});

describe('a push that is interrupted', () => {
  it('an interrupted push reports acknowledged events, and the same command continues without repeats', async () => {
    folder.write('in.ndjson', events(35));
    const stop = new AbortController();
    service.before = (request) => {
      if (request === 3) stop.abort(new Error('ended by SIGINT'));
    };
    const { stderr } = await push({ files: ['in.ndjson'] }, { folder, service, signal: stop.signal });
    expect(stderr).toContain('interrupted: 20 events acknowledged (in.ndjson up to line 20)');
    await push({ files: ['in.ndjson'] }, { folder, service });
    expect(sequence()).toEqual(numbers(35));
  });

  it('an interrupted push continues in the file where the spool stopped reading', async () => {
    const spool = join(folder.path, 'spool');
    folder.write('in.ndjson', events(5000));
    const stop = new AbortController();
    service.before = () => stop.abort(new Error('ended by SIGTERM'));
    const first = await push({ files: ['in.ndjson'], spool }, { folder, service, signal: stop.signal });
    expect(first.stderr).toContain('events safe in');
    expect(first.stderr).toContain(
      `the input was not read to its end; to continue: gov events push --resume --spool=${spool}`,
    );
    service.before = () => {};
    const pipe = await push({ files: ['-'], spool, resume: true }, { folder, service });
    expect(pipe).toMatchObject({
      code: 2,
      failure: expect.stringMatching(/a pipe, which cannot be read again/),
    });
    service.keys.length = 0;
    expect((await push({ files: ['in.ndjson'], spool, resume: true }, { folder, service })).code).toBe(0);
    expect(sequence()).toEqual(numbers(5000));
    expect(new Set(service.keys).size).toBe(service.keys.length);
  });

  it('an interrupted push from a pipe with a spool keeps all events that were read', async () => {
    const spool = join(folder.path, 'spool');
    const stop = new AbortController();
    const stdin = new PassThrough();
    stdin.write(`${events(13)}{"half of": `);
    service.before = () => stop.abort(new Error('ended by SIGINT'));
    await push({ files: ['-'], spool }, { folder, service, stdin, signal: stop.signal });
    service.before = () => {};
    await push({ spool, resume: true }, { folder, service });
    expect(sequence()).toEqual(numbers(13));
  });

  it('a push whose spool cannot be written reads the pipe to its end, so that its writer lives on', async () => {
    folder.write('taken', 'a file where the directory of the spool should be');
    const stdin = new PassThrough();
    const pushed = push({ files: ['-'], spool: join(folder.path, 'taken') }, { folder, service, stdin });
    for (let n = 0; n < 200; n++) if (!stdin.write(events(100))) await once(stdin, 'drain');
    stdin.end();
    const { code, stderr } = await pushed;
    expect(stdin.readableEnded).toBe(true);
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining('reads standard input to its end')]);
  });

  it('an interrupted push resumes only the files that it was reading', async () => {
    const spool = join(folder.path, 'spool');
    const rows = numbers(3).map((n) => `run-0,x,a,b,2026-01-02T03:04:05Z,${n}\n`);
    const csv = (header: string) => folder.write('in.csv', `${header}\n${rows.join('')}`);
    csv('runId,nonsense');
    folder.write('other.ndjson', events(1));
    expect((await push({ files: ['in.csv'], spool }, { folder, service })).code).toBe(2);
    const other = await push({ files: ['other.ndjson'], spool, resume: true }, { folder, service });
    expect(other).toMatchObject({
      code: 2,
      failure: expect.stringMatching(/expected the files of the stopped session/),
    });
    csv('runId,eventType,actor,action,timestamp,metadata.n');
    expect((await push({ files: ['in.csv'], spool, resume: true }, { folder, service })).code).toBe(0);
    expect(service.byRun().get('run-0')).toEqual(numbers(3));
    expect(existsSync(join(spool, '00000001.queue'))).toBe(false);
  });
});
