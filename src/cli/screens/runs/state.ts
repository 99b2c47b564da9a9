/**
 * The state of the browser of runs: runs → timeline → event → decision → proof. What has to be loaded is in `wanted`;
 * the command loads it and sends it back with the same request. Tested by `test/cli/screens/runs.test.ts`.
 */
import type { Run } from '../../../contract/events.ts';
import { shellWord } from '../../../core/shell-word.ts';
import type { KeyAction } from '../keys.ts';
import {
  bodyRows,
  browsed,
  common,
  emptyList,
  filterOf,
  matches,
  reduceList,
  refitted,
  type Common,
  type CommonEvent,
  type List,
  type LoadState,
} from '../model.ts';
import type { DecidedPolicy, RunDetail, RunsPage, TimelineRow } from './load.ts';

type Level = 'runs' | 'timeline' | 'event' | 'decision' | 'proof';

export type RunsRequest =
  | { readonly kind: 'runs'; readonly cursor: string | null }
  | { readonly kind: 'run'; readonly runId: string }
  | { readonly kind: 'decision'; readonly row: TimelineRow }
  | { readonly kind: 'proof'; readonly proofId: string };

/** What a request brought. */
export type RunsAnswer =
  | { readonly kind: 'runs'; readonly page: RunsPage }
  | { readonly kind: 'run'; readonly run: RunDetail }
  | { readonly kind: 'decision'; readonly policies: readonly DecidedPolicy[] }
  | { readonly kind: 'proof'; readonly lines: readonly string[] };

export interface RunsState extends Common {
  readonly target: string;
  /** The open views, the newest last. */
  readonly levels: readonly Level[];
  readonly wanted: RunsRequest | null;
  readonly runs: LoadState<RunsPage>;
  /** The list of runs while a run is open. */
  readonly runList: List;
  readonly runId: string;
  readonly run: LoadState<RunDetail>;
  readonly policies: LoadState<readonly DecidedPolicy[]>;
  readonly proof: LoadState<readonly string[]>;
  /** Why the last key did nothing. */
  readonly message: string | null;
}

export type RunsEvent =
  | CommonEvent
  | { readonly kind: 'loaded'; readonly for: RunsRequest; readonly loaded: RunsAnswer }
  | { readonly kind: 'failed'; readonly for: RunsRequest; readonly why: string };

const loading = { state: 'loading' } as const;

export const runsState = (target: string, nowMs: number): RunsState => ({
  ...common,
  nowMs,
  target,
  levels: ['runs'],
  wanted: { kind: 'runs', cursor: null },
  runs: loading,
  runList: emptyList,
  runId: '',
  run: loading,
  policies: loading,
  proof: loading,
  message: null,
});

export const levelOf = ({ levels }: RunsState): Level => levels.at(-1) ?? 'runs';

/** Of the first level. */
export function shownRuns(state: RunsState): readonly Run[] {
  if (state.runs.state !== 'ready') return [];
  return state.runs.value.rows.filter(({ runId, aiSystemId, lastDecision }) =>
    matches(`${runId} ${aiSystemId ?? ''} ${lastDecision ?? ''}`, filterOf(state)),
  );
}

/** Of the open run. */
export function shownRows(state: RunsState): readonly TimelineRow[] {
  if (state.run.state !== 'ready') return [];
  return state.run.value.rows.filter(({ type, actor, action, decision }) =>
    matches(`${type} ${actor} ${action} ${decision ?? ''}`, filterOf(state)),
  );
}

export const chosenRow = (state: RunsState): TimelineRow | undefined => shownRows(state)[state.list.cursor];

const screen = {
  ids: (state: RunsState) =>
    levelOf(state) === 'runs'
      ? shownRuns(state).map(({ runId }) => runId)
      : shownRows(state).map(({ sequence }) => sequence),
  isText: ({ levels }: RunsState) => levels.length > 2,
  key,
};

export function reduceRuns(state: RunsState, event: RunsEvent): RunsState {
  switch (event.kind) {
    case 'loaded':
      return event.for === state.wanted ? received(state, event.loaded) : state;
    case 'failed':
      return event.for === state.wanted ? failed(state, event.for.kind, event.why) : state;
    default: {
      const next = reduceList(state, event, screen);
      return next.typing === state.typing ? next : wantMatches(next);
    }
  }
}

function received(state: RunsState, loaded: RunsAnswer): RunsState {
  const done = { ...state, wanted: null };
  switch (loaded.kind) {
    case 'runs': {
      const before =
        state.wanted?.kind === 'runs' && state.wanted.cursor !== null && state.runs.state === 'ready'
          ? state.runs.value.rows
          : [];
      const { rows, nextCursor } = loaded.page;
      const value = { rows: [...before, ...rows], nextCursor };
      return wantMatches(refitted(state, { ...done, runs: { state: 'ready', value } }, screen));
    }
    case 'run':
      return refitted(state, { ...done, run: { state: 'ready', value: loaded.run } }, screen);
    case 'decision':
      return { ...done, policies: { state: 'ready', value: loaded.policies } };
    case 'proof':
      return { ...done, proof: { state: 'ready', value: loaded.lines } };
  }
}

function failed(state: RunsState, kind: RunsRequest['kind'], why: string): RunsState {
  const done = { ...state, wanted: null };
  // rows of earlier pages stay; at the end of the list the page is asked for again
  if (kind === 'runs' && state.runs.state === 'ready') return done;
  const part = { runs: 'runs', run: 'run', decision: 'policies', proof: 'proof' }[kind];
  return { ...done, [part]: { state: 'failed', why } };
}

function key(before: RunsState, action: KeyAction): RunsState {
  const state = before.message === null ? before : { ...before, message: null };
  switch (action) {
    case 'open':
      return opened(state);
    case 'back':
      if (!screen.isText(state) && state.list.filter !== '') return browsed(state, action, screen);
      return closed(state);
    case 'decision':
      return openDecision(state);
    case 'proof':
      return openProof(state);
    case 'reload':
      return reloaded(state);
    case 'filter':
      return browsed(state, action, screen);
    default:
      return wantMore(browsed(state, action, screen));
  }
}

/** Runs that a filter searches by itself; the key for the last row searches further. */
const searched = 5000;

/** A filter also searches runs that are not loaded yet, until the screen is full. */
function wantMatches(state: RunsState): RunsState {
  if (state.runs.state !== 'ready' || state.wanted !== null || levelOf(state) !== 'runs') return state;
  const { rows, nextCursor } = state.runs.value;
  const isFull = shownRuns(state).length >= bodyRows(state);
  if (filterOf(state) === '' || nextCursor === null || isFull || rows.length >= searched) return state;
  return { ...state, wanted: { kind: 'runs', cursor: nextCursor } };
}

/** At the end of the list the next page is loaded. */
function wantMore(state: RunsState): RunsState {
  if (state.runs.state !== 'ready' || state.wanted !== null || levelOf(state) !== 'runs') return state;
  const { nextCursor } = state.runs.value;
  if (nextCursor === null || state.list.cursor < shownRuns(state).length - 1) return state;
  return { ...state, wanted: { kind: 'runs', cursor: nextCursor } };
}

const into = (state: RunsState, level: Level): RunsState => ({
  ...state,
  levels: [...state.levels, level],
  scroll: 0,
});

function opened(state: RunsState): RunsState {
  switch (levelOf(state)) {
    case 'runs': {
      const runId = shownRuns(state)[state.list.cursor]?.runId;
      if (runId === undefined) return state;
      const lists = { runList: state.list, list: emptyList };
      return { ...into(state, 'timeline'), ...lists, runId, run: loading, wanted: { kind: 'run', runId } };
    }
    case 'timeline': {
      const row = chosenRow(state);
      if (row === undefined) return state;
      return row.event === null ? openDecision(state) : into(state, 'event');
    }
    case 'event':
      return chosenRow(state)?.evaluation ? openDecision(state) : openProof(state);
    case 'decision':
      return openProof(state);
    case 'proof':
      return state;
  }
}

function openDecision(state: RunsState): RunsState {
  const level = levelOf(state);
  const row = chosenRow(state);
  if (level === 'runs' || level === 'decision' || row === undefined) return state;
  if (row.evaluation === null) return { ...state, message: 'no policy decided about this event' };
  return { ...into(state, 'decision'), policies: loading, wanted: { kind: 'decision', row } };
}

function openProof(state: RunsState): RunsState {
  if (levelOf(state) === 'proof' || levelOf(state) === 'runs' || state.run.state !== 'ready') return state;
  const { runId } = state;
  const { proofId } = state.run.value;
  if (proofId === null) {
    const value = ['not proved', `  gov proofs create --run ${shellWord(runId)}`];
    return { ...into(state, 'proof'), proof: { state: 'ready', value } };
  }
  return { ...into(state, 'proof'), proof: loading, wanted: { kind: 'proof', proofId } };
}

/** An answer on its way is no longer wanted. */
function closed(state: RunsState): RunsState {
  if (state.levels.length === 1) return state;
  const list = levelOf(state) === 'timeline' ? state.runList : state.list;
  return { ...state, levels: state.levels.slice(0, -1), list, scroll: 0, wanted: null };
}

function reloaded(state: RunsState): RunsState {
  const level = levelOf(state);
  if (level === 'runs') return { ...state, runs: loading, wanted: { kind: 'runs', cursor: null } };
  if (level !== 'timeline' || state.run.state === 'loading') return state;
  return { ...state, run: loading, wanted: { kind: 'run', runId: state.runId } };
}
