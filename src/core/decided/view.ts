/**
 * What an approver sees of a call (contract O13), as text: JCS (RFC 8785) of {tool, arguments, actor, context}, each UTF-16
 * unit outside of U+0020 to U+007E as \uXXXX. So what is signed has no character that an eye cannot see. `view-hash.ts` hashes
 * it.
 *
 * Values that the project redacts are replaced in the view; the statement names their places. So a verifier recomputes the
 * hash from the recorded call. Attacker controlled. Proven by `test/core/decided/view.test.ts`.
 */
import { isObject } from '../json/object.ts';
import { canonicalize, type Json, type JsonObject } from '../json/canonical.ts';
import { memberName } from '../json/pointer.ts';
import { escaped } from '../visible.ts';

/** What an approver is shown of a call. A client computes the hash from the approval that it displays. */
export interface CallView {
  readonly tool: object | null;
  readonly arguments: object | null;
  readonly actor: string | object | null;
  readonly context: object | null;
}

/** Fingerprints of replaced values by their JSON pointer in the input: `{"/arguments/card": "hmac-sha256:…"}`. */
export type MaskFingerprints = Readonly<Record<string, string>>;

/**
 * What is shown of the input of an evaluation; of one that is not of a tool call, the whole input. Null: it was erased. The
 * action of a call follows from its other members, and would repeat their text, also where a project redacts it.
 */
export function shownOf(input: JsonObject | null, { isCall }: { readonly isCall: boolean }): CallView {
  if (input === null || !isCall) return { tool: null, arguments: null, actor: null, context: input };
  const {
    tool = null,
    arguments: given = null,
    actor = null,
    runId: _run,
    action: _action,
    ...context
  } = input;
  // the input was recorded from a checked body
  return { tool, arguments: given, actor, context } as CallView;
}

/** The view: one line of printable ASCII. */
export const viewText = (shown: CallView): string =>
  canonicalize(membersOf(shown)).replace(/[^ -~]/g, escaped);

export const membersOf = ({ tool, arguments: given, actor, context }: CallView): JsonObject =>
  ({ tool, arguments: given, actor, context }) as unknown as JsonObject;

/** The input with the values at these places replaced, as an approver saw it; null where it lacks a place. */
export function maskedInput(input: JsonObject, masked: MaskFingerprints): JsonObject | null {
  let shown: Json | undefined = input;
  for (const [pointer, fingerprint] of Object.entries(masked)) {
    const path = pointer.split('/').slice(1).map(memberName);
    shown = replacedAt(shown, path, { redacted: true, fingerprint });
    if (shown === undefined) return null;
  }
  return isObject(shown) ? shown : null;
}

function replacedAt(value: Json, path: readonly string[], by: Json): Json | undefined {
  const [name, ...below] = path;
  if (name === undefined) return by;
  if (!isObject(value) && !Array.isArray(value)) return undefined;
  const isListed = !Array.isArray(value) || /^(?:0|[1-9][0-9]*)$/.test(name);
  if (!isListed || !Object.hasOwn(value, name)) return undefined;
  const inner = replacedAt((value as JsonObject)[name] as Json, below, by);
  if (inner === undefined) return undefined;
  return Array.isArray(value) ? value.with(Number(name), inner) : { ...value, [name]: inner };
}
