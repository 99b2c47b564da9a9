/**
 * A cache of recent policy decisions in recorded form: canonical text and hash in the list of decisions.
 * Most policies repeat a decision with the same reasoning, and an evaluation has many of them; the parts that do not
 * depend on the evaluation are computed once. Salts are new in every leaf.
 * Proven by `test/core/decided/outcome-cache.test.ts`.
 */
import { canonicalize } from '../json/parse.ts';
import type { Member, PolicyDecision } from '../policies/set/member.ts';
import { itemHash } from './leaf.ts';
import type { RecordedDecision } from './recorded-decision.ts';

/** Number of cached decisions, about 1 KB each; beyond it the cache is emptied. */
export const keptDecisions = 4096;

/** The canonical text of a decision, and the hash of its leaf as 32 one-byte characters. */
export interface DecisionText {
  readonly text: string;
  readonly leaf: string;
}

let count = 0;
let said = new WeakMap<Member, Map<string, RecordedDecision>>();
const spellings = new WeakMap<RecordedDecision, DecisionText>();

/** Returns the decision of a policy in recorded form; the same object for a repeated decision and reasoning. */
export function recordedDecision(
  member: Member | undefined,
  decision: PolicyDecision,
  reasoning: string,
): RecordedDecision {
  if (member === undefined) return recorded(null, decision, reasoning);
  const known = said.get(member)?.get(reasoning);
  if (known?.outcome === decision.outcome) return known;
  if (count === keptDecisions) {
    said = new WeakMap();
    count = 0;
  }
  count += 1;
  const made = Object.freeze(recorded(member.policy.policyHash, decision, reasoning));
  const kept = said.get(member);
  if (kept === undefined) said.set(member, new Map([[reasoning, made]]));
  else kept.set(reasoning, made);
  return made;
}

/** Its members are in canonical order, so that canonicalization makes no copy. */
const recorded = (
  policyHash: string | null,
  { policyId, version, decision, outcome, severity }: PolicyDecision,
  reasoning: string,
): RecordedDecision => ({ decision, outcome, policyHash, policyId, reasoning, severity, version });

/** Returns text and hash of a decision. Cost: nothing for a cached decision, else 1 µs. */
export function spellingOf(decision: RecordedDecision): DecisionText {
  const known = spellings.get(decision);
  if (known !== undefined) return known;
  const text = canonicalize(decision);
  const made = { text, leaf: itemHash(text) };
  // A decision that is not frozen may change, so it is not cached.
  if (Object.isFrozen(decision)) spellings.set(decision, made);
  return made;
}
