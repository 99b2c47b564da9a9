import { hash } from 'node:crypto';
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { build } from '../../../src/client/version.ts';
import { importerVersion } from '../../../src/core/intake/run.ts';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { limits } from '../../../src/contract/limits.ts';
import { Folder, push } from './harness.ts';
import { Listing } from './service.ts';

/** A service that notes what it is asked for. */
class Asked extends Listing {
  readonly asked: string[] = [];
  readonly list: Listing['stored'];

  constructor() {
    super();
    this.list = this.stored;
    this.stored = (runId) => {
      this.asked.push(runId);
      return this.list(runId);
    };
  }

  count = async (runId: string): Promise<number | undefined> =>
    this.recorded.filter((event) => event['runId'] === runId).length;

  newest = async (runId: string, { eventType, limit }: { eventType: string; limit: number }) =>
    (await this.list(runId))
      .filter((event) => event.eventType === eventType)
      .toReversed()
      .slice(0, limit);
}

let folder: Folder;
let service: Asked;
beforeEach(() => {
  folder = new Folder();
  service = new Asked();
});
afterEach(() => folder.remove());

const line = (number: number, content: string) =>
  `${JSON.stringify({
    type: 'user',
    sessionId: 'one',
    uuid: `u${number}`,
    timestamp: '2026-11-20T10:00:00Z',
    message: { role: 'user', content },
  })}\n`;
const long = 'x'.repeat(30_000);
const large = Array.from({ length: 10 }, (_, at) => line(at, `${at} ${long}`)).join('');
const importing = async () => {
  service.asked.length = 0;
  const { code, stdout } = await push(
    { files: ['one.jsonl'], from: 'auto' },
    { folder, service, output: 'json' },
  );
  const { accepted, known, rejected } = JSON.parse(stdout);
  return { code, accepted, known, rejected, asked: [...service.asked] };
};
const path = () => join(folder.path, 'one.jsonl');
/** Everything that a push of the file to a new service records. */
const atOnce = async () => {
  const other = new Asked();
  const again = new Folder();
  again.write('one.jsonl', readFileSync(path()));
  await push({ files: ['one.jsonl'], from: 'auto' }, { folder: again, service: other, output: 'json' });
  again.remove();
  return other.recorded;
};
const ids = (events: readonly JsonObject[]) =>
  events.filter(({ eventType }) => eventType !== 'gov.balance/1').map(({ clientEventId }) => clientEventId);

describe('what was recorded of a large file', () => {
  it('a file that has grown is not compared with all events of its run, and adds the same events', async () => {
    writeFileSync(path(), large);
    expect(await importing()).toMatchObject({ accepted: 12, asked: ['one'] });
    for (let more = 0; more < 3; more++) {
      appendFileSync(path(), line(100 + more, 'more'));
      expect(await importing()).toEqual({
        code: 0,
        accepted: 2,
        known: 11 + more,
        rejected: 0,
        asked: [],
      });
    }
    expect(ids(service.recorded)).toEqual(ids(await atOnce()));
    expect(await importing()).toMatchObject({ accepted: 0, known: 15, asked: [] });
  });

  it('it asks for all events if the run has others, or fewer, or the file begins otherwise', async () => {
    writeFileSync(path(), large);
    await importing();
    service.recorded.push({ ...service.recorded[1]!, clientEventId: 'other', eventType: 'x.other' });
    expect(await importing()).toMatchObject({ accepted: 0, asked: ['one'] });
    expect(await importing()).toMatchObject({ accepted: 0, asked: ['one'] });
    service.recorded.pop();
    expect(await importing()).toMatchObject({ accepted: 0, asked: [] });
    service.recorded.splice(3, 1);
    expect(await importing()).toMatchObject({ asked: ['one'] });
    writeFileSync(path(), large.replace('0 x', '0 y'));
    expect(await importing()).toMatchObject({ code: 9, accepted: 0, asked: ['one'] });
  });

  it('it asks where the service cannot count, and where a note is damaged', async () => {
    writeFileSync(path(), large);
    await importing();
    service.count = async () => undefined;
    expect(await importing()).toMatchObject({ accepted: 0, asked: ['one'] });
    service = Object.assign(new Asked(), { recorded: service.recorded });
    const notes = join(folder.path, 'state/recorded');
    for (const name of readdirSync(notes)) writeFileSync(join(notes, name), '{"bytes":');
    expect(await importing()).toMatchObject({ accepted: 0, asked: ['one'] });
  });

  it.each([
    ['its growth was recorded', 1],
    ['all of it was recorded', 3],
  ])('a note that says %s, which the log has not, hides nothing', async (_, lines) => {
    // a line that is there twice makes the file be read as a whole
    writeFileSync(path(), `${large}${line(0, `0 ${long}`)}`);
    await importing();
    const [note = ''] = readdirSync(join(folder.path, 'state/recorded')).map((name) =>
      join(folder.path, 'state/recorded', name),
    );
    const honest = JSON.parse(readFileSync(note, 'utf8').split('\n')[1] ?? '');
    const growth = [100, 101, 102].map((more) => line(more, 'more'));
    appendFileSync(path(), growth.join(''));
    const other = new Folder();
    other.write('one.jsonl', readFileSync(path()));
    await push({ files: ['one.jsonl'], from: 'auto' }, { folder: other, service: new Asked() });
    const [ofAll = ''] = readdirSync(join(other.path, 'state/recorded')).map((name) =>
      join(other.path, 'state/recorded', name),
    );
    const { hashes, ...all } = JSON.parse(readFileSync(ofAll, 'utf8').split('\n')[1] ?? '');
    const forged =
      lines === 3
        ? { ...honest, ...all, hashes, total: honest.total }
        : { ...honest, hashes: hashes.slice(0, honest.hashes.length + 16) };
    const text = JSON.stringify(forged);
    writeFileSync(note, `${hash('sha256', `${build} ${importerVersion}\n${text}`, 'hex')}\n${text}`);
    other.remove();
    expect(await importing()).toMatchObject({ code: 0, asked: ['one'] });
    expect(ids(service.recorded)).toEqual(ids(await atOnce()));
  });

  it('a note has no content of the file', async () => {
    writeFileSync(path(), large);
    await importing();
    const notes = join(folder.path, 'state/recorded');
    for (const name of readdirSync(notes))
      expect(readFileSync(join(notes, name), 'utf8')).not.toContain('xxxx');
  });

  it.each([
    ['below the size of large files', limits.pushNotedBytes - 1, 0],
    ['of the size of large files', limits.pushNotedBytes, 1],
  ])('a file %s has a note or none', async (_, size, notes) => {
    const rest = size - Buffer.byteLength(line(0, ''));
    writeFileSync(path(), line(0, 'x'.repeat(rest)));
    await importing();
    const names = readdirSync(join(folder.path, 'state'));
    expect(names.includes('recorded') ? 1 : 0).toBe(notes);
  });
});
