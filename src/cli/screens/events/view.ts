/** `gov events tail --tui`: the live stream with a filter, and one event in full. Tested by `test/cli/screens/events.test.ts`. */
import { partyName } from '../../runs/party.ts';
import { safe, type Safe } from '../../terminal/safe.ts';
import { yamlLines } from '../../terminal/yaml.ts';
import { dimmed, type Look } from '../draw.ts';
import { countText, listLines, paintDecision, textLines } from '../lists.ts';
import { bodyRows, filterOf } from '../model.ts';
import type { Frame } from '../shell.ts';
import { decisionOf, isBad, shownEvents, type EventsState } from './state.ts';

export function eventsView(state: EventsState, look: Look): Frame {
  const { opened, isConnected, typing } = state;
  const lines =
    opened === null
      ? list(state, look)
      : textLines(yamlLines(opened).map(String), {
          scroll: state.scroll,
          size: { columns: state.columns, rows: bodyRows(state) },
        });
  return {
    title: titleOf(state, look),
    body: isConnected || opened !== null ? lines : dimmed(lines, look),
    status: typing === null ? undefined : safe` filter: ${typing.text}█  enter keeps, esc clears`,
  };
}

function titleOf(state: EventsState, { styles: { bold, yellow, green } }: Look): Safe {
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

function list(state: EventsState, look: Look): Safe[] {
  const { columns, received } = state;
  const shown = shownEvents(state);
  const all = (state.still ?? state.events).length;
  const filter = filterOf(state, state.list);
  if (received === 0) return [safe``, safe` waiting for events …`];
  const count = countText({ shown: shown.length, all, isCut: false, filter });
  const since = state.still === null || state.still === state.events ? '' : `, ${state.events.length} now`;
  return [
    safe` ${count} events${since}, ${received} received${state.isErrorsOnly ? '; only denied, blocked and failed' : ''}`,
    ...listLines(
      {
        rows: shown,
        cursor: state.list.cursor,
        size: { columns, rows: bodyRows(state) - 1 },
        columns: [
          { name: 'time', width: 8, cell: ({ serverTimestamp }) => serverTimestamp.slice(11, 19) },
          { name: '', width: 1, cell: (event) => (isBad(event) ? '!' : '') },
          {
            name: 'event',
            width: 20,
            cell: ({ eventType }) => eventType,
            paint: (event, styles) => (isBad(event) ? styles.red : undefined),
          },
          { name: 'run', width: columns < 120 ? 14 : 24, cell: ({ runId }) => runId },
          {
            name: 'decision',
            width: 9,
            from: 76,
            cell: (event) => decisionOf(event) ?? '-',
            paint: (event, styles) => paintDecision(decisionOf(event), styles),
          },
          { name: 'actor', width: 14, from: 100, cell: ({ actor }) => partyName(actor) },
          {
            name: 'action',
            width: 'grow',
            cell: ({ action, resource }) =>
              `${action}${resource === null ? '' : ` → ${partyName(resource)}`}`,
          },
        ],
      },
      look,
    ),
  ];
}
