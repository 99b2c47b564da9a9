/**
 * What policies said lately, in the form in which it is recorded. A policy mostly says what it said before, for
 * the same reason, and an evaluation asks many: what does not hang on the evaluation is made once, which is the
 * canonical text of a decision and its hash in the list of decisions. Salts are new in every leaf.
 * Proven by `test/core/decided/outcome-cache.test.ts`.
 */
import { canonicalize } from '../json/parse.ts';
import type { Member, PolicyDecision } from '../policy/set/member.ts';
import { itemHash } from './leaf.ts';
import type { RecordedDecision } from './recorded-decision.ts';

/** Decisions that are kept, about 1 KB each; beyond it all are forgotten. */
export const keptDecisions = 4096;

/** The canonical text of a decision, and the hash of its leaf as a string of one-byte characters. */
export interface Spelling {
  readonly text: string;
  readonly leaf: string;
}

let count = 0;
let said = new WeakMap<Member, Map<string, RecordedDecision>>();
const spellings = new WeakMap<RecordedDecision, Spelling>();

/** The decision of a policy as it is recorded; the same object where it said the same before. */
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

/** Its members stand in the order of their canonical form, which so costs nothing to make. */
const recorded = (
  policyHash: string | null,
  { policyId, version, decision, outcome, severity }: PolicyDecision,
  reasoning: string,
): RecordedDecision => ({ decision, outcome, policyHash, policyId, reasoning, severity, version });

/** How a decision is committed to. Cost: nothing for one that was spelled before, else 1 µs. */
export function spellingOf(decision: RecordedDecision): Spelling {
  const known = spellings.get(decision);
  if (known !== undefined) return known;
  const text = canonicalize(decision);
  const made = { text, leaf: itemHash(text) };
  // one that can be changed may say something else next time
  if (Object.isFrozen(decision)) spellings.set(decision, made);
  return made;
}
