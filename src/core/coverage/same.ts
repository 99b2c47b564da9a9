/**
 * Whether a source reports the call that was decided. Hashes of actions are compared where both sources have the arguments,
 * else what the tools are for. Tested by `test/core/coverage/cases.test.ts`.
 */
import type { ActionKind } from '../action/shape.ts';

/** One report of a call, as far as it says what the call does. */
export interface CallReport {
  readonly client: string | null;
  readonly tool: string | null;
  readonly kind: ActionKind | null;
  /** `core/coverage/call-hash.ts`: the engine, a blank, the hash. Null: the source has no arguments, or they say too little. */
  readonly callHash: string | null;
  readonly argumentsHash: string | null;
}

/** What was compared; `other`: the report is of another call. Null: the two say nothing that can be compared. */
export type Comparison = 'action' | 'tool' | 'other' | null;

/**
 * Compares a decision with a report, or the arguments before a call with those after it. A source that does not name its tool can
 * only differ.
 */
export function compare(one: CallReport, other: CallReport): Comparison {
  if (one.kind === 'wrapper' || other.kind === 'wrapper') return null;
  const isNamed = one.tool !== null && other.tool !== null;
  if (isNamed && !isSameTool(one, other)) return 'other';
  const isAlike =
    (one.callHash !== null && one.callHash === other.callHash) ||
    (one.argumentsHash !== null && one.argumentsHash === other.argumentsHash);
  if (isAlike) return isNamed ? 'action' : null;
  // two engines read the same arguments otherwise
  const engine = engineOf(one);
  if (engine !== undefined && engine === engineOf(other)) return 'other';
  return isNamed ? 'tool' : null;
}

const engineOf = ({ callHash }: CallReport): string | undefined => callHash?.split(' ', 1)[0];

function isSameTool({ tool, kind }: CallReport, { tool: otherTool, kind: otherKind }: CallReport): boolean {
  if (kind !== null && otherKind !== null) return kind === otherKind;
  const [name, otherName] = [tool ?? '', otherTool ?? ''].map((each) => each.toLowerCase());
  return isEnd(name ?? '', otherName ?? '') || isEnd(otherName ?? '', name ?? '');
}

/** Whether a name is another one, or the last part of it: `pay` of `mcp__till__pay`, `till_pay` and `functions.pay`. */
const isEnd = (name: string, whole: string): boolean =>
  whole === name || (whole.endsWith(name) && /[^a-z0-9]$/.test(whole.slice(0, -name.length)));
