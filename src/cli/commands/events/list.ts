/**
 * `gov events list`: the events of a run in their order, or a search over all runs. Tested by
 * `test/cli/commands/events/list.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { runOperation } from '../generated.ts';
import type { eventsList as spec } from '../../specs/record/events.ts';

/** Flags that only a search has. */
const searched = ['actor', 'onBehalfOf', 'resource', 'tool', 'decision', 'aiSystem'] as const;

export const run: Run<typeof spec> = async (call) => {
  const flags: Readonly<Record<string, unknown>> = call.flags;
  const isSearch = flags['run'] === undefined || searched.some((name) => flags[name] !== undefined);
  if (isSearch && flags['order'] !== undefined) {
    throw usage('expected --order with --run alone; a search lists the newest recording first');
  }
  return runOperation(isSearch ? 'searchEvents' : 'listEvents', call);
};
