import { expect, it } from 'vitest';
import { ShownRun } from '../../../src/core/intake/repeat.ts';

const call = {
  runId: 'r',
  actor: 'a',
  action: 'x',
  timestamp: '2026-01-05T09:00:00Z',
  clientEventId: 'codex:1',
};
const completed = (added: object) => ({
  eventType: 'event.completed',
  clientEventId: 'codex:1.completed',
  metadata: { completes: 'codex:1', added },
});

it('a later event adds what an event of a recording lacks, and changes nothing that it says', () => {
  const given = { ...call, eventType: 'tool.call', metadata: { arguments: { amount: 5 } } };
  const shown = (metadata: object) => {
    const run = new ShownRun();
    run.add({ ...call, eventType: 'tool.call', metadata });
    run.add(completed({ arguments: { amount: 5 } }));
    return run.differenceFrom(given);
  };
  expect(shown({})).toBeUndefined();
  expect(shown({ arguments: { amount: 5000 } })).toBe(
    'its arguments in the proof are other ones than in the file',
  );
});
