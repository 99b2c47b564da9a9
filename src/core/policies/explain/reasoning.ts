/**
 * The reasoning of a policy decision, one sentence of at most `limits.reasoningChars` characters: template `gov.reason/1`.
 * It depends only on the policy and its input, so a replay gives the same text. The texts must not change.
 *
 *   matched        deny v3: context.env = "production"; context.tool.name "shell" in list of 10
 *   not matched    deny v3 not matched: context.env = "staging", "production" needed at $.and[0].===
 *   indeterminate  deny (fail closed): context.resource.sizeBytes absent, number needed at $.and[3].>
 *
 *                  escalate (unknown escalate): …   if the policy says what an undecided condition means
 *
 *   unexplained    deny v3: matched; there is no room to explain the decisions of all policies
 *
 * Masked values, and the values compared with them, are printed as `‹masked›`. Proven by
 * `test/core/policies/explain/reasoning.test.ts` (golden texts).
 */
import { limits } from '../../../contract/limits.ts';
import type { PolicyAction } from '../../../contract/policy-words.ts';
import type { Node, Segment } from '../language/ast.ts';
import type { Clause } from '../evaluate/clause.ts';
import type { PolicyInput } from '../evaluate/compile.ts';
import { addWork } from '../evaluate/budget.ts';
import { decide } from '../evaluate/decision.ts';
import { cutText } from './echo.ts';
import type { Masks } from './echo.ts';
import type { PolicyDecision } from '../set/member.ts';
import { Phrasebook } from './phrase.ts';
import { judge } from './decisive-clauses.ts';
import type { ClauseResult } from './decisive-clauses.ts';

export interface ReasoningInput {
  readonly action: PolicyAction;
  readonly onIndeterminate?: PolicyAction | null;
  readonly version: number;
  readonly node: Node;
  readonly input: PolicyInput;
  readonly masked?: Masks;
}

/** Returns the sentence. Cost: evaluates each clause once. */
export function reasoning(policy: ReasoningInput): string {
  const { action, onIndeterminate = null, version, node, input, masked = [] } = policy;
  addWork(reasoningUnits);
  const root = judge(node, input);
  const phrases = new Phrasebook(input, masked);
  const { deciders, truth } = root;
  switch (truth) {
    case 'true':
      return sentence(`${action} v${version}`, withoutGuards(deciders), ({ clause, truth }) =>
        phrases.holds(clause, truth === 'true'),
      );
    case 'false':
      return sentence(`${action} v${version} not matched`, deciders, ({ clause, truth }) =>
        phrases.needs(clause, truth === 'true'),
      );
    case 'indeterminate': {
      const open = deciders.find((each) => each.truth === 'indeterminate') ?? root;
      const { decision } = decide(action, truth, onIndeterminate);
      const why = onIndeterminate === null ? 'fail closed' : `unknown ${decision}`;
      return sentence(`${decision} (${why})`, [open], ({ clause }) => phrases.lacks(clause));
    }
  }
}

/** Work units of the sentence without evaluation: 30 µs. */
const reasoningUnits = 300;

/** Returns the substitute for the sentence if more policies decided than are explained. Cost: nothing. */
export const unexplained = ({ decision, version, outcome }: PolicyDecision): string =>
  `${decision} v${version}: ${outcome}; there is no room to explain the decisions of all policies`;

/** Joins as many parts as fit, and always states how many are omitted. */
function sentence(
  head: string,
  parts: readonly ClauseResult[],
  phrase: (part: ClauseResult) => string,
): string {
  let text = `${head}: `;
  for (const [at, part] of parts.entries()) {
    const next = (at === 0 ? '' : '; ') + phrase(part);
    const left = parts.length - at - 1;
    const room = limits.reasoningChars - text.length - (left === 0 ? 0 : more(left).length);
    if (next.length > room && at > 0) return text + more(left + 1);
    text += cutText(next, room);
  }
  return text;
}

const more = (count: number): string => `; and ${count} more`;

/** Removes `exists` clauses whose path another clause explains. */
function withoutGuards(deciders: readonly ClauseResult[]): readonly ClauseResult[] {
  const others = deciders.filter(({ clause }) => !isGuard(clause)).flatMap(({ clause }) => clause.reads);
  const kept = deciders.filter(
    ({ clause, truth }) =>
      !isGuard(clause) ||
      truth !== 'true' ||
      !others.some(({ path }) => clause.reads.every((guard) => begins(path, guard.path))),
  );
  return kept.length === 0 ? deciders : kept;
}

const isGuard = (clause: Clause): boolean => clause.op === 'exists';

const begins = (path: readonly Segment[], start: readonly Segment[]): boolean =>
  start.every((segment, at) => String(segment) === String(path[at]));
