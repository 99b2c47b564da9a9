/**
 * A policy as text, which people write and compare:
 *
 *     // comments may appear wherever conditions allow them
 *     deny "no-shell" high
 *     name "No shell for agents"
 *     description "Runbook 4"
 *     when
 *       tool.name == "shell" && !has(context.approvedBy)
 *
 *     Policy = Action string [ Severity ] { "signed" | "unknown" Action } { "name" string | "description" string } "when" Condition ;
 *     Action = "allow" | "warn" | "escalate" | "deny" ;
 *     Severity = "low" | "medium" | "high" | "critical" ;
 *
 * The string after the action is the policy id. `src/core/policies/language/text.ts` defines `Condition`; `when true` always
 * matches. Tested by `test/cli/commands/policy/files.test.ts`, which parses and prints.
 */
import { nameMembers, policyActions, policySeverities, unsaid } from '../../contract/policy-words.ts';
import type { PolicyAction, PolicyName, PolicySeverity } from '../../contract/policy-words.ts';
import type { Node } from '../../core/policies/language/ast.ts';
import { canonicalCondition } from '../../core/policies/language/canonical.ts';
import { canonicalize } from '../../core/json/parse.ts';
import { refuse, shown, spelled, tokenize } from '../../core/policies/language/lexer.ts';
import type { Token } from '../../core/policies/language/lexer.ts';
import { parseText, printText } from '../../core/policies/language/text.ts';

export interface TextPolicy extends Omit<PolicyName, 'name'> {
  readonly policyId: string;
  readonly name: string | null;
  readonly action: PolicyAction;
  readonly severity: PolicySeverity | null;
  /** The word `signed` after the severity. */
  readonly requireSignedApproval: boolean;
  /** The word after `unknown`: what an undecided condition means. */
  readonly onIndeterminate: PolicyAction | null;
  readonly node: Node;
}

/** Throws VALIDATION_ERROR with line and column. */
export function parsePolicyText(source: string): TextPolicy {
  const header = new Header(source);
  const action = header.word(policyActions);
  const policyId = header.string('the id of the policy in quotes');
  const severity = header.maybe(policySeverities);
  let requireSignedApproval = header.maybe(['signed']) !== null;
  const onIndeterminate = header.maybe(['unknown']) === null ? null : header.word(policyActions);
  if (!requireSignedApproval) requireSignedApproval = header.maybe(['signed']) !== null;
  const said = { name: null as string | null, ...unsaid };
  for (;;) {
    const word = header.word([...nameMembers, 'when'] as const);
    if (word === 'when') break;
    said[word] = header.string(`the ${word} in quotes`);
  }
  // blanks in place of the header keep lines and columns
  const blank = source.slice(0, header.end).replace(/[^\r\n]/gu, ' ');
  const node = parseText(`${blank}${source.slice(header.end)}`);
  return { policyId, ...said, action, severity, requireSignedApproval, onIndeterminate, node };
}

class Header {
  readonly #source: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(source: string) {
    this.#source = source;
    this.#tokens = tokenize(source);
  }

  /** The end of the last token read. */
  get end(): number {
    return this.#tokens[this.#at - 1]?.end ?? 0;
  }

  maybe<Word extends string>(words: readonly Word[]): Word | null {
    const token = this.#token;
    const word = token.kind === 'name' ? words.find((each) => each === token.text) : undefined;
    if (word !== undefined) this.#at += 1;
    return word ?? null;
  }

  word<Word extends string>(words: readonly Word[]): Word {
    return this.maybe(words) ?? this.#refuse(`one of ${words.join(', ')}`);
  }

  string(expected: string): string {
    const token = this.#token;
    if (token.kind !== 'string') return this.#refuse(expected);
    this.#at += 1;
    return token.value;
  }

  get #token(): Token {
    return this.#tokens[this.#at] as Token; // the last one is `end`, which nothing passes
  }

  #refuse(expected: string): never {
    return refuse(this.#source, this.#token.at, expected, shown(this.#token));
  }
}

/** Returns the text of a policy. Parsing it gives the same policy. */
export function printPolicyText(policy: TextPolicy): string {
  const { policyId, action, severity, requireSignedApproval, onIndeterminate, node } = policy;
  const words = [
    ...(severity === null ? [] : [severity]),
    ...(requireSignedApproval ? ['signed'] : []),
    ...(onIndeterminate === null ? [] : ['unknown', onIndeterminate]),
  ];
  return [
    [action, spelled(policyId), ...words].join(' '),
    ...nameMembers.flatMap((member) => {
      const text = policy[member];
      return text === null || (member === 'name' && text === policyId) ? [] : [`${member} ${spelled(text)}`];
    }),
    'when',
    `  ${onLines(node)}`,
    '',
  ].join('\n');
}

/** Puts each part of an outermost `and` or `or` on a line of its own. */
function onLines(node: Node): string {
  const whole = printText(node);
  if (node.kind !== 'call' || (node.op !== 'and' && node.op !== 'or')) return whole;
  const sign = node.op === 'and' ? '&&' : '||';
  const parts = node.args.map((part) => (isLoose(part) ? `(${printText(part)})` : printText(part)));
  const text = parts.join(`\n  ${sign} `);
  const isSame = (one: string): boolean =>
    canonicalize(canonicalCondition(parseText(one))) === canonicalize(canonicalCondition(node));
  return isSame(text) ? text : whole;
}

/** Returns whether the operator binds less tightly than its surroundings. */
const isLoose = (node: Node): boolean => node.kind === 'call' && ['and', 'or', 'if'].includes(node.op);
