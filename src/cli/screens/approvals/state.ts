/**
 * The state of the inbox of approvals. A decision takes three steps: the key, a comment, a yes; and the person sees the
 * whole call meanwhile. Tested by `test/cli/screens/approvals.test.ts`.
 */
import type { ApprovalOutcome, ShownApproval } from '../../../contract/approvals.ts';
import type { KeyAction } from '../keys.ts';
import {
  browsed,
  common,
  filterOf,
  matches,
  reduceCommon,
  reduceList,
  refitted,
  type Common,
  type CommonEvent,
  type LoadState,
} from '../model.ts';
import { approvalText, isTooLong, longCall } from './text.ts';

export interface Decide {
  readonly approvalId: string;
  readonly outcome: ApprovalOutcome;
  /** Null while the person types it. */
  readonly comment: string | null;
}

export interface ApprovalsState extends Common {
  readonly target: string;
  /** The longest waiting first. */
  readonly approvals: LoadState<readonly ShownApproval[]>;
  /** When the rows were read. */
  readonly readMs: number;
  /** Why the newest reading failed. */
  readonly failure: string | null;
  /** The approval in full view. */
  readonly openId: string | null;
  /** The greatest `scroll` since the approval was opened, in lines of the present width. */
  readonly furthest: number;
  readonly asking: Decide | null;
  /** Confirmed; the command sends it. */
  readonly wanted: Decide | null;
  /** What became of the last decision. */
  readonly message: { readonly text: string; readonly isBad: boolean } | null;
  /** Counts up to ask the command for a new reading. */
  readonly reloads: number;
}

export type ApprovalsEvent =
  | CommonEvent
  | { readonly kind: 'read'; readonly rows: readonly ShownApproval[]; readonly atMs: number }
  | { readonly kind: 'unread'; readonly why: string }
  | { readonly kind: 'decided'; readonly for: Decide; readonly text: string }
  | { readonly kind: 'refused'; readonly for: Decide; readonly why: string };

export const approvalsState = (target: string, nowMs: number): ApprovalsState => ({
  ...common,
  nowMs,
  target,
  approvals: { state: 'loading' },
  readMs: 0,
  failure: null,
  openId: null,
  furthest: 0,
  asking: null,
  wanted: null,
  message: null,
  reloads: 0,
});

export function shownApprovals(state: ApprovalsState): readonly ShownApproval[] {
  if (state.approvals.state !== 'ready') return [];
  const filter = filterOf(state);
  return state.approvals.value.filter(({ approvalId, runId, tool, actor, reason }) =>
    matches(
      `${approvalId} ${runId} ${tool?.name ?? ''} ${tool?.server ?? ''} ${JSON.stringify(actor)} ${reason}`,
      filter,
    ),
  );
}

/** The approval in full view, else the chosen row. */
export function chosenApproval(state: ApprovalsState): ShownApproval | undefined {
  const all = state.approvals.state === 'ready' ? state.approvals.value : [];
  if (state.openId !== null) return all.find(({ approvalId }) => approvalId === state.openId);
  return shownApprovals(state)[state.list.cursor];
}

/** Whether a person is about to approve a call without having seen its end. */
export function isUnread(state: ApprovalsState, { outcome }: Pick<Decide, 'outcome'>): boolean {
  const approval = chosenApproval(state);
  if (outcome !== 'approved' || approval === undefined) return false;
  return isTooLong(approval) || state.furthest < approvalText(approval, state).lastScroll;
}

const screen = {
  ids: (state: ApprovalsState) => shownApprovals(state).map(({ approvalId }) => approvalId),
  isText: ({ openId }: ApprovalsState) => openId !== null,
  key,
};

export function reduceApprovals(state: ApprovalsState, event: ApprovalsEvent): ApprovalsState {
  const next = reduced(state, event);
  return next.scroll > next.furthest ? { ...next, furthest: next.scroll } : next;
}

function reduced(state: ApprovalsState, event: ApprovalsEvent): ApprovalsState {
  switch (event.kind) {
    case 'read':
      return read(state, event);
    case 'unread': {
      const approvals =
        state.approvals.state === 'ready' ? state.approvals : ({ state: 'failed', why: event.why } as const);
      return { ...state, approvals, failure: event.why };
    }
    case 'decided':
      return event.for === state.wanted ? decided(state, event) : state;
    case 'refused':
      if (event.for !== state.wanted) return state;
      return {
        ...state,
        wanted: null,
        reloads: state.reloads + 1,
        message: { text: event.why, isBad: true },
      };
    case 'size':
      return { ...state, ...reduceCommon(state, event), furthest: state.scroll };
    default: {
      const { asking } = state;
      if (asking === null || asking.comment === null) return reduceList(state, event, screen);
      return reduceCommon(state, event) ?? answered(state, asking, event);
    }
  }
}

/** An approval that somebody else decided closes. */
function read(
  state: ApprovalsState,
  { rows, atMs }: { rows: readonly ShownApproval[]; atMs: number },
): ApprovalsState {
  const approvals = { state: 'ready', value: rows } as const;
  const now = { ...state, approvals, readMs: atMs, nowMs: atMs, failure: null };
  const next = refitted(state, now, screen);
  const isGone = state.openId !== null && !rows.some(({ approvalId }) => approvalId === state.openId);
  if (!isGone || state.wanted?.approvalId === state.openId) return next;
  const text = `${state.openId} is no longer pending: somebody decided it, or it expired`;
  return { ...next, openId: null, asking: null, typing: null, message: { text, isBad: true } };
}

function decided(
  state: ApprovalsState,
  { for: { approvalId }, text }: { for: Decide; text: string },
): ApprovalsState {
  const rest =
    state.approvals.state === 'ready'
      ? state.approvals.value.filter((each) => each.approvalId !== approvalId)
      : [];
  const next: ApprovalsState = {
    ...state,
    approvals: { state: 'ready', value: rest },
    wanted: null,
    openId: null,
    scroll: 0,
    message: { text, isBad: false },
    reloads: state.reloads + 1,
  };
  return refitted(state, next, screen);
}

function key(state: ApprovalsState, action: KeyAction): ApprovalsState {
  if (state.typing !== null) return commented(state, action);
  const quiet = state.message === null ? state : { ...state, message: null };
  switch (action) {
    case 'approve':
      return asked(quiet, 'approved');
    case 'deny':
      return asked(quiet, 'denied');
    case 'reload':
      return { ...quiet, reloads: quiet.reloads + 1 };
    case 'open': {
      const openId = chosenApproval(quiet)?.approvalId ?? null;
      return quiet.openId === null && openId !== null ? { ...quiet, openId, scroll: 0, furthest: 0 } : quiet;
    }
    case 'back':
      return quiet.openId === null ? browsed(quiet, action, screen) : { ...quiet, openId: null };
    default:
      return browsed(quiet, action, screen);
  }
}

/** Opens the full view: nobody decides about a row of a list. */
function asked(state: ApprovalsState, outcome: ApprovalOutcome): ApprovalsState {
  const approval = chosenApproval(state);
  if (approval === undefined || state.wanted !== null) return state;
  const { approvalId } = approval;
  const isLong = outcome === 'approved' && isTooLong(approval);
  const opened = state.openId === null ? { openId: approvalId, scroll: 0, furthest: 0 } : {};
  if (isLong) return { ...state, ...opened, message: { text: longCall(approval), isBad: true } };
  return {
    ...state,
    ...opened,
    asking: { approvalId, outcome, comment: null },
    typing: { purpose: 'comment', text: '' },
  };
}

function commented(state: ApprovalsState, action: KeyAction): ApprovalsState {
  if (state.typing === null || (action !== 'open' && action !== 'back')) return state;
  const done = { ...state, typing: null };
  if (action === 'back' || state.asking === null) return { ...done, asking: null };
  return { ...done, asking: { ...state.asking, comment: state.typing.text } };
}

/** Only `y` confirms, and an approval only after its end was seen. Moving through the view is no answer. */
function answered(state: ApprovalsState, asking: Decide, event: CommonEvent): ApprovalsState {
  if (event.kind === 'key' && event.action === 'yes')
    return isUnread(state, asking) ? state : { ...state, asking: null, wanted: asking };
  if (event.kind !== 'key' && event.kind !== 'other key') return state;
  if (event.kind === 'key') {
    const next = browsed(state, event.action, screen);
    if (next !== state) return next;
  }
  return { ...state, asking: null, message: { text: 'nothing was decided', isBad: false } };
}
