import { hash } from 'node:crypto';
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { build } from '../../../src/client/version.ts';
import { limits } from '../../../src/contract/limits.ts';
import { balanceType } from '../../../src/core/balance/statement.ts';
import { importerVersion } from '../../../src/core/intake/run.ts';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { claudeSession, codexSession, textOf, type SessionLine } from '../../core/intake/parts/sessions.ts';
import { Folder, push } from './harness.ts';
import { Listing } from './service.ts';

/** A service that notes the runs of which it is asked for all events. */
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

  count = async (runId: string): Promise<number> =>
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

const importing = async (files = ['s.jsonl'], world = { folder, service }) => {
  world.service.asked.length = 0;
  const { code, stdout, failure } = await push(
    { files, from: 'auto', batchSize: 500 },
    { ...world, output: 'json' },
  );
  const { accepted, known, rejected } = stdout === '' ? {} : JSON.parse(stdout);
  return { code, accepted, known, rejected, failure, asked: [...world.service.asked] };
};

const events = (of: Asked) => of.recorded.filter(({ eventType }) => eventType !== balanceType);
const balances = (of: Asked) => of.recorded.filter(({ eventType }) => eventType === balanceType);
const byId = (a: JsonObject, b: JsonObject) =>
  String(a['clientEventId']) < String(b['clientEventId']) ? -1 : 1;
const path = () => join(folder.path, 's.jsonl');
const notes = () =>
  readdirSync(join(folder.path, 'state/recorded')).map((name) => join(folder.path, 'state/recorded', name));
const placeOf = (note: string): JsonObject =>
  JSON.parse(readFileSync(note, 'utf8').split('\n')[1] ?? '')['place'];

/** What one push of the whole file to a new service records. */
async function atOnce(): Promise<Asked> {
  const world = { folder: new Folder(), service: new Asked() };
  world.folder.write('s.jsonl', readFileSync(path()));
  await importing(['s.jsonl'], world);
  world.folder.remove();
  return world.service;
}

/** Whether a line continues the answer of the line before it. */
function isWithin(lines: readonly SessionLine[], at: number): boolean {
  const [one, other] = [lines[at - 1], lines[at]].map(
    (line) => /"id":"(msg[^"]*)"/.exec(JSON.stringify(line ?? {}))?.[1],
  );
  return one !== undefined && one === other;
}

const claude = claudeSession({ turns: 60, seed: 7, resultChars: 2500 });
const prompt = claude.find(({ type }) => type === 'user') ?? {};
const codex = codexSession({ turns: 60, seed: 7, resultChars: 2500 });

describe('a long recording', () => {
  it.each([
    ['Claude Code', claude],
    ['Codex', codex],
  ])('of %s that grows is read on, and has the events and the balance of one push', async (_, lines) => {
    const ends = lines.flatMap((_line, at) => (isWithin(lines, at) ? [] : [at])).slice(-30);
    const [begun = 0] = ends;
    writeFileSync(path(), textOf(lines.slice(0, begun)));
    expect(Buffer.byteLength(textOf(lines.slice(0, begun)))).toBeGreaterThan(limits.pushNotedBytes);
    expect(await importing()).toMatchObject({ code: 0, rejected: 0, asked: [expect.any(String)] });
    for (const [at, from] of ends.entries()) {
      const known = events(service).length;
      appendFileSync(path(), textOf(lines.slice(from, ends[at + 1])));
      expect(await importing()).toMatchObject({ code: 0, rejected: 0, known, asked: [] });
    }
    const once = await atOnce();
    // a message for the screen of Codex is understood three lines later, and then added
    expect(events(service).toSorted(byId)).toEqual(events(once).toSorted(byId));
    expect(balances(service).at(-1)).toEqual(balances(once)[0]);
    expect(await importing()).toMatchObject({ accepted: 0, known: events(service).length + 1, asked: [] });
  });

  it('that was cut within an answer adds what the answer became, as if it was read as a whole', async () => {
    const message = { id: 'cut', role: 'assistant', model: 'm', stop_reason: null };
    const answer = (uuid: string, block: object) => ({
      ...prompt,
      uuid,
      type: 'assistant',
      message: { ...message, content: [block] },
    });
    const said = answer('cut1', { type: 'text', text: 'I look.' });
    const called = answer('cut2', { type: 'tool_use', id: 'cut-call', name: 'Bash', input: {} });
    writeFileSync(path(), textOf([...claude, said]));
    await importing();
    const before = events(service).length;
    appendFileSync(path(), textOf([called]));
    expect(await importing()).toMatchObject({
      code: 0,
      rejected: 0,
      known: before - 2,
      asked: ['session-1'],
    });
    expect(
      events(service)
        .slice(before)
        .map(({ eventType }) => eventType),
    ).toEqual(['event.completed', 'tool.call']);
    expect(balances(service).at(-1)).toEqual(balances(await atOnce())[0]);
  });

  it('a note has no content of the file', async () => {
    writeFileSync(path(), textOf(claude));
    await importing();
    expect(placeOf(notes()[0] ?? '')).toBeDefined();
    expect(readFileSync(notes()[0] ?? '', 'utf8')).not.toContain('xxxx');
  });

  it('a note that was changed makes nothing less recorded: the service is asked', async () => {
    const begun = claude.length - 40;
    writeFileSync(path(), textOf(claude.slice(0, begun)));
    await importing();
    const [note = ''] = notes();
    const before = readFileSync(note, 'utf8');
    const [, text = ''] = before.split('\n');
    const sums = (given: string, version = `${build} ${importerVersion}`) =>
      `${hash('sha256', `${version}\n${given}`, 'hex')}\n${given}`;
    const parsed = () => JSON.parse(text);
    const wrong = parsed();
    wrong.place.state.balance.balance.recorded.calls -= 1;
    wrong.place.state.balance.balance.found.calls -= 1;
    const later = parsed();
    later.place.state.bytes = later.bytes;
    const other = parsed();
    other.hashes = '';
    const torn = parsed();
    delete torn.place.state.own.conversation;
    appendFileSync(path(), textOf(claude.slice(begun)));
    const grown = readFileSync(path());
    const all = { bytes: grown.length, sha256: hash('sha256', grown, 'hex') };
    const log = [...service.recorded];
    for (const written of [
      `${before}\n`,
      before.slice(0, -100),
      sums(text, 'another build'),
      ...[wrong, later, other, torn, { ...parsed(), ...all }].map((each) => sums(JSON.stringify(each))),
    ]) {
      service = new Asked();
      for (const event of log)
        await service.push(
          { key: String(service.recorded.length), events: [event] },
          AbortSignal.timeout(60_000),
        );
      writeFileSync(path(), grown);
      writeFileSync(note, written);
      expect(await importing()).toMatchObject({ code: 0, asked: ['session-1'] });
      const once = await atOnce();
      expect(events(service)).toEqual(events(once));
      expect(balances(service).at(-1)?.['metadata']).toEqual(balances(once)[0]?.['metadata']);
    }
  });

  it.each([
    ['the last one that is looked at', limits.pushNewestBalances - 1, []],
    ['one more', limits.pushNewestBalances, ['session-1']],
  ])('is known by its balance among those of its subagents: %s', async (_, subagents, asked) => {
    writeFileSync(path(), textOf(claude));
    for (let at = 0; at < subagents; at++)
      folder.write(
        `s/subagents/agent-a${at}.jsonl`,
        textOf([{ ...prompt, uuid: `s${at}`, isSidechain: true, agentId: `a${at}` }]),
      );
    expect(await importing(['s.jsonl', 's'])).toMatchObject({ code: 0, rejected: 0 });
    expect(await importing()).toMatchObject({ code: 0, accepted: 0, asked });
  });

  it('a beginning that was changed is compared with what the service has', async () => {
    writeFileSync(path(), textOf(claude));
    await importing();
    const text = textOf(claude).replaceAll('"content":"Do 0."', '"content":"Do 9."');
    writeFileSync(path(), `${text}${textOf([{ ...prompt, uuid: 'new' }])}`);
    const count = service.recorded.length;
    expect(await importing()).toMatchObject({ code: 9, accepted: 0, asked: ['session-1'] });
    expect(service.recorded.length).toBe(count);
  });

  it('what cannot be read in parts is read as a whole, and after it has grown too', async () => {
    const repeated = [...claude, claude[3] ?? {}];
    writeFileSync(path(), textOf(repeated));
    expect(await importing()).toMatchObject({ code: 0, rejected: 0 });
    appendFileSync(path(), textOf([{ ...prompt, uuid: 'new' }]));
    expect(await importing()).toMatchObject({ code: 0, rejected: 0, asked: [] });
    const once = await atOnce();
    expect(events(service)).toEqual(events(once));
    expect(balances(service).at(-1)).toEqual(balances(once)[0]);
  });

  it('a part that gov does not understand is in the balance of the grown file', async () => {
    const news = (at: number): SessionLine => ({
      ...prompt,
      type: 'news',
      uuid: `news${at}`,
      message: undefined,
    });
    writeFileSync(path(), textOf([...claude.slice(0, 40), news(1), ...claude.slice(40)]));
    await importing();
    appendFileSync(path(), textOf([news(2), { ...prompt, uuid: 'new' }]));
    expect(await importing()).toMatchObject({ code: 0, asked: [] });
    const once = await atOnce();
    expect(balances(service).at(-1)).toEqual(balances(once)[0]);
  });

  it('of a session with a subagent names the call that started it, in one push of both files', async () => {
    const at = claude.findIndex((line) => JSON.stringify(line).includes('"tool_result"'));
    const started = claude.with(at, { ...claude[at], toolUseResult: { agentId: 'a1' } });
    writeFileSync(path(), textOf(started));
    const own = [{ ...prompt, uuid: 's1', isSidechain: true, agentId: 'a1' }];
    folder.write('s/subagents/agent-a1.jsonl', textOf(own));
    expect(await importing(['s.jsonl', 's'])).toMatchObject({ code: 0, rejected: 0 });
    const call = JSON.parse(JSON.stringify(claude[at])).message.content[0].tool_use_id;
    const cause = service.recorded.find(
      ({ eventType, metadata }) =>
        eventType === 'tool.call' && JSON.parse(JSON.stringify(metadata)).toolCallId === call,
    );
    const first = service.recorded.find(({ clientEventId }) => clientEventId === 'session-1:s1');
    expect(first?.['causedBy']).toEqual([cause?.['clientEventId']]);
  });
});
