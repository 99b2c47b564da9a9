import { appendFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Folder, push } from './harness.ts';
import { event, FakeService, ndjson, numbers, unreachable } from './service.ts';

let folder: Folder;
let service: FakeService & { has?: (eventId: string) => Promise<boolean | undefined> };
beforeEach(() => {
  folder = new Folder();
  service = new FakeService();
});
afterEach(() => folder.remove());

const lines = (from: number, to: number): string =>
  ndjson(
    numbers(to)
      .slice(from)
      .map((n) => event(n, { runId: 'log' })),
  );
const recorded = () => service.byRun().get('log');
const again = async (more: Parameters<typeof push>[0] = {}) => {
  const outcome = await push({ files: ['day.ndjson'], ...more }, { folder, service, output: 'json' });
  return { ...outcome, value: outcome.stdout === '' ? undefined : JSON.parse(outcome.stdout) };
};

describe('a file that is pushed again', () => {
  it('a repeated push adds nothing for the same file, and each new line of a longer file once', async () => {
    const path = folder.write('day.ndjson', lines(0, 3));
    expect((await again()).value).toMatchObject({ accepted: 3, known: 0 });
    expect((await again()).value).toMatchObject({ accepted: 0, known: 3 });
    appendFileSync(path, lines(3, 5));
    // another size of batches, so that no idempotency key helps
    expect((await again({ batchSize: 2 })).value).toMatchObject({ accepted: 2, known: 3 });
    expect(recorded()).toEqual(numbers(5));
  });

  it('a repeated push sends a truncated last line when it is complete', async () => {
    const [first, second] = [lines(0, 1), lines(1, 2)];
    const path = folder.write('day.ndjson', `${first}${second.slice(0, 20)}`);
    expect(await again()).toMatchObject({ code: 9, value: { accepted: 1, rejected: 1 } });
    appendFileSync(path, second.slice(20));
    expect(await again()).toMatchObject({ code: 0, value: { accepted: 1, known: 1 } });
    expect(recorded()).toEqual([0, 1]);
  });

  it('a repeated push retries rejected lines, and sends each other line once after a repair', async () => {
    folder.write('day.ndjson', `${lines(0, 2)}{oops\n${lines(3, 5)}`);
    expect(await again()).toMatchObject({ code: 9, value: { accepted: 4, rejected: 1 } });
    expect(await again()).toMatchObject({ code: 9, value: { accepted: 0, rejected: 1, known: 4 } });
    folder.write('day.ndjson', lines(0, 5));
    expect(await again()).toMatchObject({ code: 0, value: { accepted: 1, known: 4 } });
    expect(recorded()?.toSorted()).toEqual(numbers(5));
  });

  it.each([1, 3])(
    'a repeated push after a failure sends each line once, in %i lanes',
    async (concurrency) => {
      const path = folder.write('day.ndjson', lines(0, 45));
      service.before = (request) => {
        if (request === 3) throw unreachable();
      };
      expect((await again({ concurrency })).code).toBe(10);
      service.before = () => {};
      appendFileSync(path, lines(45, 52));
      expect((await again({ concurrency })).code).toBe(0);
      expect(recorded()?.toSorted((a, b) => a - b)).toEqual(numbers(52));
    },
  );

  it('a repeated push sends lines of the failed push in the same batches', async () => {
    const path = folder.write('day.ndjson', lines(0, 3));
    const push = service.push.bind(service);
    let isLost = true;
    service.push = async (batch, signal) => {
      const receipt = await push(batch, signal);
      if (isLost) throw unreachable();
      return receipt;
    };
    expect((await again()).code).toBe(10);
    isLost = false;
    appendFileSync(path, lines(3, 5));
    expect((await again()).value).toMatchObject({ accepted: 5, duplicates: 3 });
    expect(recorded()).toEqual(numbers(5));
  });

  it('a repeated push is tracked for each service, and sends all lines if the service lost its events', async () => {
    folder.write('day.ndjson', lines(0, 3));
    await again();
    const other = new FakeService();
    await push({ files: ['day.ndjson'] }, { folder, service: other, target: 'http://other/api/v1' });
    expect(other.recorded.length).toBe(3);
    service = new FakeService();
    service.has = async () => false;
    const outcome = await again();
    expect(outcome.value).toMatchObject({ accepted: 3, known: 0 });
    expect(outcome.stderr).toContain('does not have the events of its last push, so gov cannot know');
  });

  it('a repeated push knows lines that went through a spool', async () => {
    const path = folder.write('day.ndjson', lines(0, 3));
    const spool = `${folder.path}/spool`;
    await again({ spool });
    appendFileSync(path, lines(3, 5));
    expect((await again({ spool })).value).toMatchObject({ accepted: 2, known: 3 });
    expect(recorded()).toEqual(numbers(5));
  });

  it.each([
    [
      'day.json',
      (to: number) =>
        JSON.stringify(
          numbers(to).map((n) => event(n, { runId: 'log' })),
          null,
          1,
        ),
    ],
    [
      'day.csv',
      (to: number) =>
        `runId,eventType,actor,action,timestamp,metadata.n\n${numbers(to)
          .map((n) => `log,x,a,b,2026-01-02T03:04:05Z,${n}`)
          .join('\n')}\n`,
    ],
  ])('a repeated push may read %s', async (name, text) => {
    folder.write(name, text(3));
    await again({ files: [name] });
    folder.write(name, text(5));
    expect((await again({ files: [name] })).value).toMatchObject({ accepted: 2, known: 3 });
  });
});
