import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../../src/contract/events.ts';
import type { Balance } from '../../../../src/core/balance/statement.ts';
import { balanceOfBytes } from '../../../../src/core/intake/balance-file.ts';
import { balanceOfParts } from '../../../../src/core/intake/parts/balance.ts';
import { NameSet } from '../../../../src/core/intake/parts/names.ts';
import { PartsReader, WholeNeeded, type FilePart } from '../../../../src/core/intake/parts/reader.ts';
import { readPartsState, type PartsPlace } from '../../../../src/core/intake/parts/state.ts';
import { data, hasData } from '../../../paths.ts';
import { claudeSession, codexSession, seeded, textOf, type SessionLine } from './sessions.ts';

interface Reading {
  readonly events: readonly EventInput[];
  readonly balance: Balance | undefined;
  readonly parts: readonly FilePart[];
  readonly place: PartsPlace | undefined;
}

const options = { format: 'auto', importedAt: 0, sourceName: 's.jsonl' } as const;

/** Undefined: the file has to be read as a whole. */
function inParts(
  bytes: Buffer,
  { from, size = bytes.length, part = 1 }: { from?: PartsPlace; size?: number; part?: number } = {},
): Reading | undefined {
  const file = { size, read: (at: number, most: number) => bytes.subarray(at, Math.min(at + most, size)) };
  const reader = new PartsReader(file, options, { from, bytes: part });
  try {
    const parts = [...reader.parts()];
    const after = parts.at(-1)?.after ?? from?.state;
    const balance = after && balanceOfParts(after.balance, { name: 's.jsonl', sha256: '' });
    return { events: parts.flatMap(({ run }) => run.events), balance, parts, place: reader.place };
  } catch (failure) {
    if (failure instanceof WholeNeeded) return undefined;
    throw failure;
  }
}

function whole(bytes: Buffer): Pick<Reading, 'events' | 'balance'> {
  const { runs, balance } = balanceOfBytes('s.jsonl', bytes);
  return { events: runs.flatMap(({ events }) => events), balance: withoutHash(balance) };
}
const withoutHash = (balance: Balance): Balance => ({
  ...balance,
  source: { ...balance.source, sha256: '' },
});

/** Faster to compare than the values. */
const textOfEach = ({ events, balance }: Pick<Reading, 'events' | 'balance'>): string[] =>
  [...events, balance].map((each) => JSON.stringify(each));

/** As a note keeps it. */
function kept(place: PartsPlace | undefined): PartsPlace | undefined {
  if (place === undefined) return undefined;
  const { state, names }: { state: unknown; names: string } = JSON.parse(JSON.stringify(place));
  const read = readPartsState(state);
  expect(read).toEqual(place.state);
  return read && { state: read, names };
}

const sessions: [string, SessionLine[]][] = [1, 2].flatMap((seed) => [
  [`claude ${seed}`, claudeSession({ turns: 5, seed })],
  [`codex ${seed}`, codexSession({ turns: 5, seed })],
]);

describe('a recording that is read in parts', () => {
  it.each(sessions)('%s gives the same events and balance as when it is read as a whole', (_, lines) => {
    const bytes = Buffer.from(textOf(lines));
    const expected = whole(bytes);
    for (const part of [1, 600, 3000, 20_000]) {
      const read = inParts(bytes, { part });
      expect(read?.events).toEqual(expected.events);
      expect(read?.balance).toEqual(expected.balance);
    }
    expect(inParts(bytes)?.parts.length).toBeGreaterThan(5);
  });

  it.each(sessions)('%s, read on from any line, gives the same as when it is read as a whole', (_, lines) => {
    const bytes = Buffer.from(textOf(lines));
    const expected = whole(bytes);
    let readOn = 0;
    for (let count = 0; count < lines.length; count += 2) {
      const size = Buffer.byteLength(textOf(lines.slice(0, count + 1)));
      const begun = inParts(bytes, { size });
      const from = kept(begun?.place);
      if (begun === undefined || from === undefined) continue;
      const beginning = whole(bytes.subarray(0, size));
      expect(textOfEach(begun)).toEqual(textOfEach(beginning));
      const read = inParts(bytes, { from });
      if (read === undefined) continue;
      readOn += 1;
      const rest = { ...expected, events: expected.events.slice(from.state.counts.events) };
      expect(textOfEach(read)).toEqual(textOfEach(rest));
    }
    expect(readOn).toBeGreaterThan(lines.length * 0.35);
  });

  it('a recording of the corpus gives the same as when it is read as a whole, or is not read in parts', () => {
    const folder = join(import.meta.dirname, '../corpus');
    const names = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
    const paths = names.map((name) => join(folder, name));
    const real = [
      'a48c2586-1147-4b76-9f7a-4637e11f95e6',
      'rollout-2026-11-25T04-12-39-01a210e7-d996-7a00-b02a-f68b288485e0',
    ];
    if (hasData) paths.push(...real.map((name) => data(`agents/transcript-${name}.jsonl`)));
    const read = paths.filter((path) => {
      const bytes = readFileSync(path);
      const found = inParts(bytes);
      if (found === undefined) return false;
      expect({ events: found.events, balance: found.balance }).toEqual(whole(bytes));
      return true;
    });
    expect(read.length).toBeGreaterThanOrEqual(hasData ? 4 : 2);
  });

  const [opening = {}, ...rest] = claudeSession({ turns: 3, seed: 4 });
  const answered = rest.find((line) => JSON.stringify(line).includes('tool_result')) ?? {};
  const call = rest.find((line) => JSON.stringify(line).includes('tool_use"')) ?? {};
  it.each([
    ['a line of an earlier part that comes again', answered],
    ['a second result of a call', { ...answered, uuid: 'other', message: changed(answered, /x+/, 'y') }],
    ['a further line of an earlier answer', { ...call, uuid: 'other' }],
    ['a line of another session', { ...answered, uuid: 'other', sessionId: 'session-2' }],
    ['a line of a subagent', { ...answered, uuid: 'other', isSidechain: true, agentId: 'a1' }],
    ['a line of a branch', { ...answered, uuid: 'other', forkedFrom: { sessionId: 's', messageUuid: 'm' } }],
    ['a line of another program', { role: 'user', content: 'Hello.' }],
  ])('%s needs the whole file', (_, line) => {
    const bytes = Buffer.from(textOf([opening, ...rest]));
    expect(inParts(bytes)).toBeDefined();
    expect(inParts(Buffer.from(textOf([opening, ...rest, line])))).toBeUndefined();
  });

  it.each([
    ['a line that is no JSON', '{"type":\n'],
    [
      'bytes that are no UTF-8',
      Buffer.from('{"type":"user","sessionId":"session-1","x":"\xff"}\n', 'latin1'),
    ],
  ])('%s needs the whole file', (_, end) => {
    const bytes = Buffer.from(textOf([opening, ...rest]));
    expect(inParts(Buffer.concat([bytes, Buffer.from(end)]))).toBeUndefined();
  });

  it('a message of Codex whose item another part has needs the whole file', () => {
    const lines = codexSession({ turns: 4, seed: 5 });
    const text = { message: 'done 0', type: 'agent_message' };
    const more = { timestamp: '2026-11-21T10:00:00Z', type: 'event_msg', payload: text };
    const last = { ...more, payload: { type: 'token_count' } };
    expect(
      inParts(Buffer.from(textOf([...lines, last, last, last, more, last, last, last, last]))),
    ).toBeUndefined();
  });
});

function changed(line: SessionLine, from: RegExp, to: string): unknown {
  return JSON.parse(JSON.stringify(line['message']).replace(from, to));
}

describe('the names of earlier parts', () => {
  it('has each name of an earlier part, also after its way through a file, and none of its own part', () => {
    const names = new NameSet();
    const random = seeded(1);
    const all = Array.from({ length: 5000 }, () => `call ${random()}`);
    for (const name of all) names.add(name);
    expect(all.some((name) => names.has(name))).toBe(false);
    names.endPart();
    const saved = new NameSet(String(names));
    for (const set of [names, saved]) {
      expect(all.every((name) => set.has(name))).toBe(true);
      expect(set.has('call of nobody')).toBe(false);
    }
    expect(String(saved)).toBe(String(names));
  });
});
