/**
 * `gov runs browse`: runs → timeline → event → decision with its clause → proof as the two questions.
 * Tested by `test/cli/screens/runs.test.ts`.
 */
import { relativeTime } from '../../terminal/table.ts';
import { Safe, safe } from '../../terminal/safe.ts';
import { yamlLines } from '../../terminal/yaml.ts';
import { remote, type ScreenStyle } from '../draw.ts';
import { filterLine, listText, paintDecision, still, textLines, whenReady, type Text } from '../lists.ts';
import type { KeyAction } from '../keys.ts';
import { bodyRows, filterOf } from '../model.ts';
import type { Frame } from '../shell.ts';
import type { DecidedPolicy, TimelineRow } from './load.ts';
import { chosenRow, levelOf, shownRows, shownRuns, type RunsState } from './state.ts';

export function runsView(state: RunsState, look: ScreenStyle): Frame {
  const level = levelOf(state);
  const { lines, lastScroll } = { runs, timeline, event, decision, proof }[level](state, look);
  const message = state.message === null ? undefined : safe` ${state.message}`;
  return {
    title: titleOf(state, look),
    body: lines,
    status: state.typing === null ? message : filterLine(state.typing.text, state.columns),
    idle: idle[level].filter((action) => action !== 'back' || state.list.filter === ''),
    lastScroll,
  };
}

/** Keys that do nothing in a view. Esc clears a filter of the first one. */
const idle = {
  runs: ['back', 'decision', 'proof'],
  timeline: [],
  event: ['filter', 'reload'],
  decision: ['filter', 'reload', 'decision'],
  proof: ['open', 'filter', 'reload', 'proof'],
} as const satisfies Readonly<Record<ReturnType<typeof levelOf>, readonly KeyAction[]>>;

function titleOf(state: RunsState, { styles }: ScreenStyle): Safe {
  const row = chosenRow(state);
  const words = state.levels.map((level) => {
    if (level === 'runs') return styles.bold('gov runs');
    if (level === 'timeline') return safe`${state.runId}`;
    return level === 'event' ? safe`${row?.type ?? ''} #${row?.sequence ?? ''}` : safe`${level}`;
  });
  return safe` ${Safe.join(words, ' › ')}${levelOf(state) === 'runs' ? `  ${state.target}` : ''}`;
}

function runs(state: RunsState, look: ScreenStyle): Text {
  const { columns, nowMs } = state;
  return whenReady(state.runs, { what: 'runs', columns, look }, ({ rows, nextCursor }) => {
    if (rows.length === 0)
      return still([safe``, safe` no runs yet: gov events push FILE, or gov run -- COMMAND`]);
    return listText(
      state,
      {
        rows: shownRuns(state),
        all: rows.length,
        isCut: nextCursor !== null,
        noun: 'run',
        note: `, the newest first${searchNote(state, nextCursor)}`,
        columns: [
          { name: 'run', width: 'grow', cell: ({ runId }) => runId },
          { name: 'events', width: 7, cell: ({ events }) => String(events).padStart(7) },
          {
            name: 'last',
            width: 10,
            cell: ({ lastServerTimestamp }) => relativeTime(lastServerTimestamp, nowMs),
          },
          {
            name: 'decision',
            width: 9,
            cell: ({ lastDecision }) => lastDecision ?? '-',
            paint: ({ lastDecision }, styles) => paintDecision(lastDecision, styles),
          },
          { name: 'proofs', width: 6, cell: ({ proofs }) => String(proofs).padStart(6) },
          { name: 'system', width: 16, from: 100, cell: ({ aiSystemId }) => aiSystemId ?? '-' },
          { name: 'sealed', width: 6, from: 110, cell: ({ sealed }) => (sealed ? 'yes' : 'no') },
        ],
      },
      look,
    );
  });
}

function searchNote(state: RunsState, nextCursor: string | null): string {
  if (filterOf(state) === '' || nextCursor === null) return '';
  return state.wanted?.kind === 'runs' ? '; reading older runs' : '; G reads older runs';
}

function timeline(state: RunsState, look: ScreenStyle): Text {
  const { columns } = state;
  return whenReady(state.run, { what: 'the run', columns, look }, ({ rows, notes, proofId }) => {
    const proved = proofId === null ? 'not proved' : `newest proof ${proofId}: p verifies it`;
    const most = Math.max(1, bodyRows(state) - 6);
    return listText(
      state,
      {
        rows: shownRows(state),
        all: rows.length,
        noun: 'row',
        note: `${daysOf(rows)}  ${proved}`,
        notes: notes.slice(0, most).map((note) => safe` ${note}`),
        columns: [
          { name: 'time utc', width: 8, cell: ({ time }) => time.slice(11, 19) },
          { name: 'event', width: columns < 76 ? 16 : columns < 160 ? 20 : 28, cell: ({ type }) => type },
          {
            name: 'decision',
            width: 9,
            cell: ({ decision }) => decision ?? '-',
            paint: (row, styles) => paintDecision(row.decision, styles),
          },
          { name: 'actor', width: columns < 160 ? 16 : 28, from: 90, cell: ({ actor }) => actor },
          { name: 'action', width: 'grow', cell: ({ action }) => action },
        ],
      },
      look,
    );
  });
}

/** The day of the rows, whose times have none. */
function daysOf(rows: readonly TimelineRow[]): string {
  const [first, last] = [rows[0], rows.at(-1)].map((row) => row?.time.slice(0, 10));
  if (first === undefined || last === undefined) return '';
  return first === last ? `, ${first}` : `, ${first} to ${last}`;
}

function event(state: RunsState): Text {
  const row = chosenRow(state);
  if (!row?.event) return still([]);
  const next =
    row.evaluation === null
      ? 'no policy decided about it; enter shows the proof'
      : 'enter shows its decision';
  const lines = [next, '', ...yamlLines(row.event).map(String)];
  return textLines(lines, state);
}

function decision(state: RunsState, look: ScreenStyle): Text {
  const row = chosenRow(state);
  if (!row?.evaluation) return still([]);
  return whenReady(state.policies, { what: 'the decision', columns: state.columns, look }, (policies) =>
    textLines(decisionLines(row, policies), state),
  );
}

function decisionLines({ evaluation, decision }: TimelineRow, policies: readonly DecidedPolicy[]): string[] {
  if (evaluation === null) return [];
  const { combined, id, evaluatedAt, policyCount } = evaluation;
  const acted = decision === null || decision === combined ? '' : `; the program acted on: ${decision}`;
  return [
    `${combined.toUpperCase()}${acted}`,
    `${id} at ${evaluatedAt}, ${policyCount} policies evaluated; enter shows the proof`,
    ...policies.flatMap((policy) => ['', ...policyLines(policy)]),
    ...(policies.length === 0 ? ['', 'no policy decided'] : []),
    '',
    'What the policies saw',
    ...yamlLines(evaluation.checkpoint, '  ').map(String),
  ];
}

const policyLines = ({ policyId, version, decision, outcome, reasoning, text }: DecidedPolicy): string[] => [
  `${policyId} v${version ?? '?'}: ${decision}, ${outcome.replace('_', ' ')}`,
  `  clause  ${reasoning}`,
  ...(text === null
    ? []
    : text
        .trim()
        .split('\n')
        .map((line, at) => `  ${at === 0 ? 'policy' : '      '}  ${line}`)),
];

function proof(state: RunsState, look: ScreenStyle): Text {
  return whenReady(
    state.proof,
    { what: 'and verifying the proof', columns: state.columns, look },
    (proof) => {
      const { lines, lastScroll } = textLines(proof, state);
      return { lines: lines.map((line) => painted(line, look)), lastScroll };
    },
  );
}

/** The marks of a verdict; its words say the same. */
function painted(line: Safe, { styles: { red, green, bold } }: ScreenStyle): Safe {
  const text = String(line);
  if (text.startsWith(' ✗')) return bold(red(line));
  if (text.startsWith(' ✓')) return bold(green(line));
  if (/^ {3}(authentic|compliant) /.test(text)) return bold(remote(text));
  return line;
}
