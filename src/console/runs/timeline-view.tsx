/**
 * The timeline of a run as a list of which only the visible rows are in the document. One tab stop; arrow keys move the
 * selection. Tested by `test/console/runs/page.long.test.ts`.
 */
import type { RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { visibleLine } from '../../core/visible.ts';
import { rowsShown } from '../parts/rows-shown.ts';
import { Status, toneOf } from '../parts/status.tsx';
import type { Entry, EntryKind } from './timeline.ts';

/** As the stylesheet has it. */
const rowHeight = 34;

const kindNames: Readonly<Record<EntryKind, string>> = {
  prompt: 'Prompt',
  model: 'Model',
  output: 'Answer',
  call: 'Tool call',
  decision: 'Decision',
  approval: 'Approval',
  result: 'Result',
  run: 'Run',
  other: 'Event',
};

interface TimelineProps {
  readonly entries: readonly Entry[];
  /** Whether calls and their parts are apart, since only some are listed: each part then names its tool. */
  readonly isFlat: boolean;
  readonly selected: string | null;
  readonly select: (entry: Entry) => void;
}

export function TimelineView({ entries, isFlat, selected, select }: TimelineProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ scrollTop: 0, height: 600 });
  const listId = useId();
  const at = entries.findIndex(({ id }) => id === selected);
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const measure = (): void => setView({ scrollTop: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useStay(frame, { entries, at, moved: setView });
  // not where rows that arrive move the selected one
  useEffect(() => {
    if (frame.current !== null && at !== -1) reveal(frame.current, at);
  }, [at === -1 ? null : selected]);
  const [first, end] = rowsShown({ ...view, count: entries.length, rowHeight });
  const onKeyDown = (event: KeyboardEvent): void => {
    const next =
      entries[moved(event.key, { at, count: entries.length, page: Math.floor(view.height / rowHeight) })];
    if (next === undefined) return;
    event.preventDefault();
    select(next);
  };
  return (
    <div
      ref={frame}
      class="timeline"
      role="listbox"
      aria-label="Timeline"
      tabIndex={0}
      {...(at >= first && at < end ? { 'aria-activedescendant': `${listId}-${at}` } : {})}
      onScroll={({ currentTarget: { scrollTop, clientHeight: height } }) => setView({ scrollTop, height })}
      onKeyDown={onKeyDown}
    >
      <div class="timeline-rows" role="presentation" style={{ height: `${entries.length * rowHeight}px` }}>
        {entries.slice(first, end).map((entry, index) => (
          <Row
            key={entry.id}
            entry={entry}
            id={`${listId}-${first + index}`}
            place={{ at: first + index, count: entries.length }}
            isSelected={first + index === at}
            isFlat={isFlat}
            select={select}
          />
        ))}
      </div>
    </div>
  );
}

interface TimelinePosition {
  readonly entries: readonly Entry[];
  /** The selected row; -1 for none. */
  readonly at: number;
  readonly moved: (view: { readonly scrollTop: number; readonly height: number }) => void;
}

/** Where rows arrive above: the selected row, or the first one in view, stays at its place on the screen. */
function useStay(
  frame: RefObject<HTMLElement | null>,
  { entries, at, moved: setView }: TimelinePosition,
): void {
  const last = useRef({ entries, at });
  useLayoutEffect(() => {
    const before = last.current;
    last.current = { entries, at };
    const element = frame.current;
    if (element === null || before.entries === entries) return;
    const { scrollTop, clientHeight: height } = element;
    const top = before.at * rowHeight;
    const isInView = before.at !== -1 && top + rowHeight > scrollTop && top < scrollTop + height;
    const stays = isInView ? before.at : Math.floor(scrollTop / rowHeight);
    const now = entries.findIndex(({ id }) => id === before.entries[stays]?.id);
    if (now === -1 || now === stays) return;
    element.scrollTop = scrollTop + (now - stays) * rowHeight;
    setView({ scrollTop: element.scrollTop, height });
  });
}

interface RowProps {
  readonly entry: Entry;
  readonly id: string;
  readonly place: { readonly at: number; readonly count: number };
  readonly isSelected: boolean;
  readonly isFlat: boolean;
  readonly select: (entry: Entry) => void;
}

function Row({ entry, id, place: { at, count }, isSelected, isFlat, select }: RowProps) {
  const { kind, title, text, isPart, outcome } = entry;
  const isState = outcome !== null && kind !== 'call';
  return (
    <div
      id={id}
      role="option"
      aria-selected={isSelected}
      aria-setsize={count}
      aria-posinset={at + 1}
      class={`timeline-row ${kind}${isPart && !isFlat ? ' part' : ''}`}
      style={{ transform: `translateY(${at * rowHeight}px)` }}
      onClick={() => select(entry)}
    >
      <span class="timeline-kind">{kindNames[kind]}</span>
      {isState && <Status tone={toneOf(outcome)}>{visibleLine(outcome)}</Status>}
      {(isFlat || !(isState || isPart)) && <bdi class="timeline-title">{visibleLine(title)}</bdi>}
      <bdi class="timeline-text">{visibleLine(text)}</bdi>
    </div>
  );
}

interface From {
  readonly at: number;
  readonly count: number;
  /** Rows of a page. */
  readonly page: number;
}

/** The row to which a key moves; -1 for another key. */
function moved(key: string, { at, count, page }: From): number {
  const last = count - 1;
  switch (key) {
    case 'ArrowDown':
      return Math.min(last, at + 1);
    case 'ArrowUp':
      return Math.max(0, at - 1);
    case 'PageDown':
      return Math.min(last, at + page);
    case 'PageUp':
      return Math.max(0, at - page);
    case 'Home':
      return 0;
    case 'End':
      return last;
    default:
      return -1;
  }
}

/** Scrolls so far that the row is visible. */
function reveal(frame: HTMLElement, at: number): void {
  const top = at * rowHeight;
  if (top < frame.scrollTop) frame.scrollTop = top;
  else if (top + rowHeight > frame.scrollTop + frame.clientHeight)
    frame.scrollTop = top + rowHeight - frame.clientHeight;
}
