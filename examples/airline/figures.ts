/**
 * Counts over all decided calls: how many were stopped, and how that compares with the recorded endings.
 */
import type { Decided, Decision } from './decide.ts';
import type { Run } from './recording.ts';
import { labels } from './truth.ts';

export type Row = readonly (string | number)[];
export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly Row[];
}

const decisions: readonly Decision[] = ['allow', 'warn', 'escalate', 'deny'];
export const isStopped = ({ decision }: Decided): boolean => decision === 'escalate' || decision === 'deny';
const isDenied = ({ decision }: Decided): boolean => decision === 'deny';
export const isWrite = ({ label }: Decided): boolean => label !== null;

const count = <Item>(items: readonly Item[], holds: (item: Item) => boolean): number =>
  items.filter(holds).length;
const ratio = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${((100 * part) / whole).toFixed(0)} %`;

/** Calls by tool, in rows, and by decision. */
export function byTool(decided: readonly Decided[]): Table {
  const kindOf = ({ call, label }: Decided): string =>
    label !== null || call.tool === 'transfer_to_human_agents' ? call.tool : 'reading, reckoning, thinking';
  const kinds = [...new Set(decided.map(kindOf))].toSorted();
  const row = (name: string, calls: readonly Decided[]): Row => [
    name,
    calls.length,
    ...decisions.map((decision) => count(calls, (each) => each.decision === decision)),
  ];
  return {
    title: 'Decisions by tool',
    head: ['tool', 'calls', ...decisions],
    rows: [
      ...kinds.map((kind) =>
        row(
          kind,
          decided.filter((each) => kindOf(each) === kind),
        ),
      ),
      row('all', decided),
    ],
  };
}

const stoppers = ({ says }: Decided): readonly string[] =>
  says.flatMap(({ decision, policyId }) =>
    decision === 'deny' || decision === 'escalate' ? [policyId] : [],
  );

/** Decisions by policy. A call that two policies stop counts for both. */
export function byPolicy(decided: readonly Decided[]): Table {
  const ids = [...new Set(decided.flatMap(({ says }) => says.map(({ policyId }) => policyId)))].toSorted();
  const rows = ids.map((id) => {
    const its = decided.filter(({ says }) => says.some(({ policyId }) => policyId === id));
    const says = its.flatMap((each) => each.says.filter(({ policyId }) => policyId === id));
    const writes = its.filter(isWrite);
    const perLabel = labels.map((label) => count(writes, (each) => each.label === label));
    const off = writes.length - (perLabel[0] ?? 0);
    return [
      `\`${id}\``,
      says[0]?.decision ?? '',
      its.length,
      count(says, ({ matched }) => !matched),
      count(its, (each) => stoppers(each).join() === id),
      ...perLabel,
      ratio(off, writes.length),
    ];
  });
  return {
    title: 'Decisions by policy',
    head: ['policy', 'action', 'calls', 'undecidable', 'alone', ...labels, 'precision'],
    rows,
  };
}

/** The facts that decided, for policies with more than one alternative. */
export function byClause(decided: readonly Decided[]): Table {
  const counts = new Map<string, number>();
  for (const { says } of decided) {
    for (const { policyId, facts, matched } of says) {
      const key = JSON.stringify([`\`${policyId}\``, facts.map((fact) => `\`${fact}\``).join(', '), matched]);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  const rows = [...counts]
    .map(([key, calls]) => {
      const [policy = '', facts = '', matched] = JSON.parse(key) as [string, string, boolean];
      return [policy, facts, matched ? 'matched' : 'undecidable', calls] as const;
    })
    .toSorted((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : b[3] - a[3] || (a[1] < b[1] ? -1 : 1)));
  return { title: 'The facts that decided', head: ['policy', 'facts', 'outcome', 'calls'], rows };
}

/** Precision and recall on calls that change something, under two meanings of "this call was wrong". */
export function measured(decided: readonly Decided[]): Table {
  const writes = decided.filter(isWrite);
  const readings = [
    ['not expected', ({ label }: Decided) => label === 'not expected'],
    ['not expected, or other details', ({ label }: Decided) => label !== 'as expected'],
  ] as const;
  const stops = [
    ['denied', isDenied],
    ['denied or escalated', isStopped],
    ['every one (baseline)', () => true],
  ] as const;
  const rows = readings.flatMap(([reading, isWrong]) =>
    stops.map(([stop, isPicked]): Row => {
      const right = count(writes, (each) => isPicked(each) && isWrong(each));
      const picked = count(writes, isPicked);
      const wrong = count(writes, isWrong);
      return [reading, wrong, stop, picked, right, ratio(right, picked), ratio(right, wrong)];
    }),
  );
  return {
    title: 'Stopped calls against expected calls',
    head: [
      'wrong means',
      'wrong calls',
      'stopped means',
      'stopped',
      'wrong among them',
      'precision',
      'recall',
    ],
    rows,
  };
}

/** The same for whole runs: did a failed run contain a stopped call? */
export function measuredRuns(runs: readonly Run[], decided: readonly Decided[]): Table {
  const stops = [
    ['a denied call', isDenied],
    ['a denied or escalated call', isStopped],
    ['anything (baseline)', () => true],
  ] as const;
  const failed = count(runs, ({ reward }) => reward === 0);
  const rows = stops.map(([name, isPicked]): Row => {
    const picked = new Set(decided.filter(isPicked).map(({ run }) => run));
    const right = count([...picked], ({ reward }) => reward === 0);
    return [name, picked.size, right, ratio(right, picked.size), ratio(right, failed)];
  });
  return {
    title: `Runs with stopped calls against the ${failed} of ${runs.length} runs that failed`,
    head: ['runs with', 'runs', 'failed', 'precision', 'recall'],
    rows,
  };
}

/** Where the failed runs went wrong, as far as calls show it. */
export function failures(runs: readonly Run[], decided: readonly Decided[]): Table {
  const failed = runs.filter(({ reward }) => reward === 0);
  const kinds = [
    ['a denied call', isDenied],
    ['an escalated call, none denied', isStopped],
    ['no stopped call, but one that the task does not expect so', isUnexpected],
    ['no call that the task does not expect so', () => true],
  ] as const;
  let rest = failed;
  const rows = kinds.map(([name, holds]): Row => {
    const holding = new Set(decided.filter(holds).map(({ run }) => run));
    const all = name.startsWith('no call') ? rest : rest.filter((run) => holding.has(run));
    rest = rest.filter((run) => !all.includes(run));
    return [name, all.length];
  });
  return { title: `The ${failed.length} runs that failed`, head: ['they hold', 'runs'], rows };
}

/** How the recording treated the calls that are stopped here. */
export function aftermath(decided: readonly Decided[]): Table {
  const stopped = decided.filter((each) => isWrite(each) && isStopped(each));
  const refused = count(stopped, ({ call }) => call.failed);
  return {
    title: `The ${stopped.length} stopped calls, as the recording went on`,
    head: ['what came', 'calls'],
    rows: [
      ['carried out', stopped.length - refused],
      ['refused by the airline’s own system', refused],
    ],
  };
}

const isUnexpected = ({ label }: Decided): boolean => label !== null && label !== 'as expected';

/** Returns a table as Markdown. */
export const printed = ({ title, head, rows }: Table): string =>
  [
    `**${title}**`,
    '',
    ...[head, head.map((_, at) => (typeof rows[0]?.[at] === 'number' ? '--:' : '---')), ...rows].map(
      (cells) => `| ${cells.join(' | ')} |`,
    ),
    '',
  ].join('\n');
