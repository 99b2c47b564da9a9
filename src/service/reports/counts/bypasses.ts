/** Results of drills of ways around hooks in the period: rows, and what the check says of them. */
import {
  bypassStates,
  bypassType,
  readBypass,
  type BypassState,
  type BypassTrial,
} from '../../../core/agents/bypasses.ts';
import { drillRun } from '../../../core/agents/drills.ts';
import { limits } from '../../../contract/limits.ts';
import type { Examination } from '../checks/verdict.ts';
import type { Draft } from '../templates/draft.ts';
import { count, isIn, timeText } from '../templates/period.ts';
import { eventsOf } from '../templates/read.ts';
import { Rows } from '../templates/rows.ts';
import { columns, type TableSpec } from '../templates/source.ts';

export const bypassTable: TableSpec = {
  id: 'ways-around-hooks',
  title: 'Ways around hooks',
  lists:
    'The newest result of each way around the hooks of a client that gov agents drill --bypasses tried in the period; open ones first, each part by client, machine and way',
  columns: columns({
    client: 'Client',
    version: 'Version',
    machine: 'Machine',
    scope: 'Hooks of',
    way: 'Way',
    title: 'What it is',
    result: ['Result', 'status'],
    triedAt: ['Tried', 'time'],
    reason: 'Reason',
    closes: 'What closes it',
  }),
  unshown: 'Its rows are the newest of several results of a way, and the log lists all of them.',
  rest: `gov events list --run ${drillRun} --type ${bypassType} has all results.`,
};

interface Bypasses {
  readonly rows: Rows;
  readonly open: number;
  readonly examination: Examination;
}

export async function bypassesIn({ source, period }: Draft): Promise<Bypasses> {
  let trials: BypassTrial[] = [];
  const range = { eventType: bypassType, from: period.from, to: period.to };
  for await (const { index, serverMs, clear, members, metadata } of eventsOf(source, drillRun, range)) {
    if (!isIn(period, index, serverMs)) continue;
    const { eventType, serverTimestamp } = clear;
    const trial = readBypass({ eventType, serverTimestamp, resource: members.get('resource'), metadata });
    if (trial !== null) trials.push(trial);
    if (trials.length >= 2 * limits.drillBypassResults) trials = bypassStates(trials).flatMap(trialsOf);
  }
  const states = bypassStates(trials);
  const rows = new Rows(bypassTable);
  for (const state of states) rows.add(rowOf(state), isOpen(state));
  const open = states.filter(isOpen).length;
  return { rows, open, examination: examined(states, open) };
}

const isOpen = ({ shown }: BypassState): boolean => shown?.result === 'open';

/** The newest two results of a way say the same as all of them. */
const trialsOf = ({ newest, shown }: BypassState): BypassTrial[] =>
  shown === null || shown === newest ? [newest] : [shown, newest];

/** A way that was open, and of which a newer attempt shows nothing, stays open. */
function rowOf({ newest, shown }: BypassState) {
  const { client, version, machine, scope, id, title, result, atMs, reason, closes } =
    shown?.result === 'open' ? shown : newest;
  const said = result.replace('_', ' ');
  return [client, version, machine, scope, id, title, said, timeText(atMs), reason, closes];
}

function examined(states: readonly BypassState[], open: number): Examination {
  const shown = states.filter((state) => state.shown !== null);
  const unclear = states.filter(({ newest }) => newest.result === 'not_shown').length;
  const machines = new Set(states.map(({ newest }) => newest.machine)).size;
  return {
    examined: shown.length,
    failed: open,
    detail: `${open} of ${count(shown.length, 'way')} ${open === 1 ? 'is' : 'are'} open, on ${count(machines, 'machine')}. A result is about one client in one version, its settings and the policies at that time. A way that nobody knows was not tried.`,
    none:
      states.length === 0
        ? 'The log has no result of gov agents drill --bypasses in the period.'
        : `Each of ${count(states.length, 'way')} was tried without a result.`,
    missing:
      unclear === 0 ? null : `Of ${count(unclear, 'way')} the newest attempt shows nothing: see its reason.`,
  };
}
