/** `gov events tail --tui`: the live stream with a filter, and one event in full. Tested by `test/cli/screens/events.test.ts`. */
import { partyName } from '../../runs/party.ts';
import { number } from '../../terminal/numbers.ts';
import { safe, type Safe } from '../../terminal/safe.ts';
import { yamlLines } from '../../terminal/yaml.ts';
import { dimmed, type ScreenStyle } from '../draw.ts';
import { filterLine, listText, paintDecision, still, textLines, type Text } from '../lists.ts';
import type { Frame } from '../shell.ts';
import { decisionOf, isBad, shownEvents, type EventsState } from './state.ts';

export function eventsView(state: EventsState, look: ScreenStyle): Frame {
  const { opened, isConnected, typing } = state;
  const { lines, lastScroll } =
    opened === null ? list(state, look) : textLines(yamlLines(opened).map(String), state);
  return {
    title: titleOf(state, look),
    body: isConnected || opened !== null ? lines : dimmed(lines, look),
    status: typing === null ? undefined : filterLine(typing.text, state.columns),
    idle:
      opened !== null ? ['pause', 'filter', 'errors only', 'open'] : state.list.filter === '' ? ['back'] : [],
    lastScroll,
  };
}

function titleOf(state: EventsState, { styles: { bold, yellow, green } }: ScreenStyle): Safe {
  const { opened, isConnected, connection, still, isErrorsOnly, isFollowing, target } = state;
  const name = safe` ${bold('gov events')}`;
  if (opened !== null) return safe`${name} › ${opened.eventType} #${opened.sequence}`;
  const connected = isConnected ? green('✓ live') : yellow(safe`! ${connection}`);
  const modes = [
    still === null ? '' : 'paused',
    isErrorsOnly ? 'errors only' : '',
    isFollowing ? '' : 'not following: G follows',
  ];
  return safe`${name}  ${connected}  ${target}${modes
    .filter((mode) => mode !== '')
    .map((mode) => `  ${mode}`)
    .join('')}`;
}

function list(state: EventsState, look: ScreenStyle): Text {
  const { columns, received, isErrorsOnly } = state;
  if (received === 0) return still([safe``, safe` waiting for events …`]);
  const all = (state.still ?? state.events).length;
  const newer = state.still === null ? 0 : received - state.stillAt;
  const notes = [
    newer > 0 ? `; ${number(newer)} more arrived` : '',
    state.still === null && received > all ? `, the newest of ${number(received)}` : '',
    isErrorsOnly ? '; only denied, blocked and failed' : '',
  ];
  return listText(
    state,
    {
      rows: shownEvents(state),
      all,
      noun: 'event',
      note: notes.join(''),
      columns: [
        { name: 'time utc', width: 8, cell: ({ serverTimestamp }) => serverTimestamp.slice(11, 19) },
        { name: '', width: 1, cell: (event) => (isBad(event) ? '!' : '') },
        {
          name: 'event',
          width: columns < 76 ? 16 : columns < 160 ? 20 : 28,
          cell: ({ eventType }) => eventType,
          paint: (event, styles) => (isBad(event) ? styles.red : undefined),
        },
        { name: 'run', width: columns < 120 ? 14 : columns < 160 ? 24 : 44, cell: ({ runId }) => runId },
        {
          name: 'decision',
          width: 9,
          from: 76,
          cell: (event) => decisionOf(event) ?? '-',
          paint: (event, styles) => paintDecision(decisionOf(event), styles),
        },
        { name: 'actor', width: columns < 160 ? 14 : 28, from: 100, cell: ({ actor }) => partyName(actor) },
        {
          name: 'action',
          width: 'grow',
          cell: ({ action, resource }) => `${action}${resource === null ? '' : ` → ${partyName(resource)}`}`,
        },
      ],
    },
    look,
  );
}
