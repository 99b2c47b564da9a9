import { describe, expect, it } from 'vitest';
import { Repeats } from '../../../src/core/intake/repeats.ts';
import { reconcile, type StoredEvent } from '../../../src/core/intake/reconcile.ts';
import type { ImportedRun } from '../../../src/core/intake/run.ts';
import { expectToFit, importText, meta, ofType } from './fits.ts';

describe('ids that come again in one recording', () => {
  it('a repeated id keeps its place for the same content and gets a number for other content', () => {
    const repeats = new Repeats();
    const place = (id: string, part: unknown) => repeats.placeOf(id, part);
    expect(place('a', 1)).toEqual({ id: 'a', isRepeat: false });
    expect(place('a', 1)).toEqual({ id: 'a', isRepeat: true });
    expect(place('a', 2)).toEqual({ id: 'a.repeat2', isRepeat: false });
    expect(place('a', 2)).toEqual({ id: 'a.repeat2', isRepeat: true });
    expect(place('a', 1)).toEqual({ id: 'a', isRepeat: true });
    expect(place('a', 3)).toEqual({ id: 'a.repeat3', isRepeat: false });
  });

  it('a number skips an id that the source uses itself', () => {
    const repeats = new Repeats();
    repeats.placeOf('a.repeat2', 0);
    repeats.placeOf('a', 1);
    expect(repeats.placeOf('a', 2).id).toBe('a.repeat3');
    expect(repeats.placeOf('a.repeat3', 4).id).toBe('a.repeat3.repeat2');
  });
});

const time = { timestamp: '2026-01-05T09:00:00Z' };
const claude = (uuid: string, content: unknown, role = 'user') => ({
  ...time,
  type: role,
  sessionId: 's',
  uuid,
  message: { id: 'm1', role, content },
});
const codex = (ordinal: number, text: string) => ({
  ...time,
  type: 'response_item',
  ordinal,
  payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
});
const openhands = (id: string, text: string) => ({
  ...time,
  id,
  source: 'user',
  kind: 'MessageEvent',
  llm_message: { role: 'user', content: [{ type: 'text', text }] },
});
const meta1 = { ...time, type: 'session_meta', payload: { id: 's' } };
const call = [{ type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } }];

const sessions: [string, object[], number[]][] = [
  ['Claude Code', [claude('u1', 'a'), claude('u1', 'b'), claude('u1', 'a'), claude('u2', 'c')], [3, 1, 1]],
  ['Codex', [meta1, codex(1, 'a'), codex(1, 'b'), codex(1, 'a'), codex(2, 'c')], [3, 1, 1]],
  [
    'OpenHands',
    [openhands('e1', 'a'), openhands('e1', 'b'), openhands('e1', 'a'), openhands('e2', 'c')],
    [3, 1, 1],
  ],
];

const read = (lines: readonly object[]): ImportedRun => {
  const text = lines.map((line) => JSON.stringify(line)).join('\n');
  const [run] = importText(text, { sourceName: 'session.jsonl' });
  return run!;
};
/** A stored event as the service gives it back. */
const stored = ({ events }: ImportedRun): StoredEvent[] =>
  events.map(
    (event) => ({ resource: null, causedBy: null, metadata: {}, ...event }) as unknown as StoredEvent,
  );

describe('a session that uses an id twice', () => {
  it.each(sessions)(
    'a session of %s keeps both parts, and says which id was numbered',
    (_, lines, counts) => {
      const run = read(lines);
      expect(ofType([run], 'prompt.submitted')).toHaveLength(counts[0]!);
      expect([run.changes.get('id_numbered'), run.changes.get('id_repeated')]).toEqual(counts.slice(1));
      expect(run.numbered).toHaveLength(1);
      expectToFit([run]);
    },
  );

  it.each(sessions)('a session of %s adds nothing when it is read again, at any cut', (_, lines) => {
    const whole = read(lines);
    for (let count = 2; count <= lines.length; count++) {
      const found = reconcile(whole, stored(read(lines.slice(0, count))));
      expect(found).not.toHaveProperty('pointer');
      const fresh = 'events' in found ? found.events.filter((event) => event !== null) : [];
      expect(fresh).toEqual(whole.events.slice(read(lines.slice(0, count)).events.length));
    }
  });

  it('a line of Claude Code that comes twice does not become a second tool call', () => {
    const run = read([claude('u1', call, 'assistant'), claude('u1', call, 'assistant')]);
    expect(ofType([run], 'tool.call').map((event) => meta(event).toolCallId)).toEqual(['t1']);
    expect(run.changes.get('call_id_renamed')).toBeUndefined();
  });

  it('an id that equals the id of a part of another line gets a number', () => {
    const run = read([claude('u1', call, 'assistant'), claude('u1.call', 'hello')]);
    expect(ofType([run], 'prompt.submitted')[0]?.clientEventId).toBe('s:u1.call.repeat2');
    expectToFit([run]);
  });

  it('a numbered id stays within the length of an identifier', () => {
    const id = 'u'.repeat(300);
    const run = read([claude(id, 'a'), claude(id, 'b'), claude(id, 'c')]);
    expect(ofType([run], 'prompt.submitted')).toHaveLength(3);
    expectToFit([run]);
  });
});
