import { describe, expect, it } from 'vitest';
import { expectToFit, importValue, meta, ofType } from '../fits.ts';

const text = 'Also delete the old ones.';
const line = (uuid: string, members: object) => ({
  uuid,
  sessionId: 's',
  timestamp: '2026-11-20T10:00:00Z',
  ...members,
});
const user = (uuid: string, content: unknown) =>
  line(uuid, { type: 'user', message: { role: 'user', content } });
const queue = (operation: string, more: object = {}) => ({
  type: 'queue-operation',
  operation,
  timestamp: '2026-11-20T10:00:02Z',
  sessionId: 's',
  ...more,
});
const attached = (more: object = {}) =>
  line('q1', {
    type: 'attachment',
    attachment: { type: 'queued_command', prompt: text, commandMode: 'prompt', ...more },
  });
const first = user('u1', 'List invoices.');
const enqueued = queue('enqueue', { content: text });

describe('what the user types while Claude Code works', () => {
  it.each([
    ['taken into the turn', [enqueued, queue('remove')], 1],
    [
      'taken in, with its words',
      [enqueued, queue('remove', { content: text, reason: 'absorbed_mid_turn' })],
      1,
    ],
    ['taken in, with an attachment', [enqueued, queue('remove'), attached()], 1],
    ['an attachment alone', [attached({ origin: { kind: 'human' } })], 1],
    ['taken in, and a line of the user', [enqueued, queue('remove'), user('u2', text)], 1],
    ['sent at the end of the turn', [enqueued, queue('dequeue'), user('u2', text)], 1],
    ['waiting', [enqueued], 0],
    ['taken back', [enqueued, queue('popAll')], 0],
    ['removed for another reason', [enqueued, queue('remove', { content: text, reason: 'cancelled' })], 0],
    ['a notification', [queue('enqueue', { content: '<task-notification>' }), queue('remove')], 0],
    ['a command', [queue('enqueue', { content: '/compact' }), queue('remove')], 0],
    ['a notification in an attachment', [attached({ commandMode: 'task-notification' })], 0],
    ['the word of another agent', [attached({ origin: { kind: 'peer' } })], 0],
  ])('%s is so many prompts: %#', (_, lines, count) => {
    const [run] = importValue([first, ...lines]);
    const prompts = ofType([run!], 'prompt.submitted').slice(1);
    expect(prompts.map((event) => meta(event)['content'])).toEqual(Array(count).fill(text));
    for (const { actor } of prompts) expect(actor).toMatchObject({ role: 'user' });
    expectToFit([run!]);
  });
});
