/**
 * Prints policy decisions: the combined decision, then a table of its reasons.
 * Tested by `test/cli/commands/policy/create.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import type { PolicySummary, SimulatedDecision } from '../../contract/governance.ts';
import type { PolicyAction } from '../../contract/policy-words.ts';
import type { Json } from '../../core/json/parse.ts';
import { allClausesOf, clausesOf } from '../../core/policies/evaluate/clause.ts';
import { counts } from '../../core/policies/evaluate/decision.ts';
import { parseCondition } from '../../core/policies/language/parse.ts';
import { printText } from '../../core/policies/language/text.ts';
import type { Out } from '../terminal/out.ts';
import { safe } from '../terminal/safe.ts';
import type { Safe, Styles } from '../terminal/safe.ts';
import { findPolicy } from './stored.ts';

/** Returns the combined decision in one line. */
export function combinedLine(summary: PolicySummary, styles: Styles): Safe {
  const { combined, decidedBy, total, matched, indeterminate } = summary;
  const by = decidedBy.length === 0 ? 'no policy decided' : `by ${decidedBy.join(', ')}`;
  const open = indeterminate === 0 ? '' : `, ${indeterminate} could not be decided`;
  const of = `${total} evaluated, ${matched} matched${open}`;
  return safe`${painted(combined, styles)}  ${by} ${styles.dim(`(${of})`)}`;
}

/** The same for a pipe. */
export const summaryFacts = ({ combined, decidedBy, total, matched, indeterminate }: PolicySummary) => ({
  combined,
  decidedBy: decidedBy.join(', '),
  total,
  matched,
  indeterminate,
});

export function painted(decision: PolicyAction, styles: Styles): Safe {
  const paint = { allow: styles.green, warn: styles.yellow, escalate: styles.yellow, deny: styles.red };
  return styles.bold(paint[decision](decision));
}

/** Policies whose clauses are printed in full. For others only the position in the condition is printed. */
const spelledPolicies = 20;

/** Returns the deciding clauses as texts, by policy, for policies that decided. */
export async function decidingClauses(
  client: Client,
  decisions: readonly SimulatedDecision[],
): Promise<ReadonlyMap<string, string>> {
  const clauses = new Map<string, string>();
  for (const decision of decisions.filter(({ outcome }) => counts(outcome)).slice(0, spelledPolicies)) {
    clauses.set(decision.policyId, await clausesText(client, decision));
  }
  return clauses;
}

async function clausesText(
  client: Client,
  { policyId, version, trace = [] }: SimulatedDecision,
): Promise<string> {
  const decisive = trace.filter((entry) => entry.decisive).map(({ path }) => path);
  const policy = await findPolicy(client, policyId);
  const stored = [policy?.latest, policy?.active].find((each) => each?.version === version);
  if (!stored) return decisive.join(', ');
  // the value was parsed from a response body
  const clauses = allClausesOf(clausesOf(parseCondition(stored.normalized as Json)));
  const texts = decisive.map((path) => {
    const clause = clauses.find((each) => each.path === path);
    return clause === undefined ? path : printText(clause.node);
  });
  return texts.length === 0 ? stored.text : texts.join('; ');
}

/** Returns every clause with the values it read, and the nearest change. */
export function explanationLines(decision: SimulatedDecision, { styles }: Out): Safe[] {
  const { policyId, version, trace = [], nearest = [], reasoning } = decision;
  const marks = { true: '✓', false: '✗' } as Readonly<Record<string, string>>;
  return [
    safe``,
    safe`${styles.bold(policyId)} ${styles.dim(version === null ? '' : `version ${version}`)}  ${reasoning}`,
    ...trace.map(({ path, reads, result, decisive }) => {
      const read = Object.entries(reads).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
      const line = safe`  ${marks[String(result)] ?? '?'} ${path}  ${read.join(', ')}`;
      return decisive ? safe`${styles.bold(line)}  decided` : styles.dim(line);
    }),
    ...nearest.map(
      ({ path, op, value }) =>
        safe`  ${styles.cyan('nearest change:')} ${path} ${op} ${JSON.stringify(value)}`,
    ),
  ];
}
