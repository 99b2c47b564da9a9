/**
 * Runs test cases of policies without a service: the decision of each case, the clauses that the cases have seen both
 * ways, and small changes to a condition (mutants) that no case notices.
 * Tested by `test/cli/commands/policy/test.test.ts`.
 */
import { policyActions, type PolicyAction } from '../../contract/policy-words.ts';
import type { Json } from '../../core/json/parse.ts';
import { compile, type PolicyInput } from '../../core/policies/evaluate/compile.ts';
import { coverage, mutants, type Coverage } from '../../core/policies/lint/coverage.ts';
import { counts, decide, restriction, type Decision } from '../../core/policies/evaluate/decision.ts';
import { usage } from '../program/exit.ts';
import { filesOf, readInput, valuesOf, type InputIo } from '../terminal/input.ts';
import { isObject } from '../../core/json/object.ts';
import { checkpointOf } from './input.ts';
import type { PolicyFile } from './file.ts';

export interface Case {
  readonly file: string;
  readonly name: string;
  readonly checkpoint: PolicyInput;
  /** The combined decision, or decisions by policy id. */
  readonly expect: PolicyAction | ReadonlyMap<string, PolicyAction>;
}

/**
 * Reads cases from files, and from `*.cases.json` and `*.cases.ndjson` in directories. Errors: exit 2 for other
 * content.
 */
export async function readCases(words: readonly string[], place: InputIo): Promise<Case[]> {
  const cases: Case[] = [];
  for (const file of filesOf(words, ['.cases.json', '.cases.ndjson'], place)) {
    const values = valuesOf(await readInput(file, place));
    for (const [at, value] of values.entries()) cases.push(caseOf(value, { file, at }));
  }
  if (cases.length === 0) throw usage('expected at least one case, got none');
  return cases;
}

function caseOf(value: Json, { file, at }: { file: string; at: number }): Case {
  const where = `${file} case ${at + 1}`;
  if (!isObject(value)) throw usage(`${where}: expected {name, checkpoint, expect}, got another type`);
  const other = Object.keys(value).find((name) => !['name', 'checkpoint', 'expect'].includes(name));
  if (other !== undefined)
    throw usage(`${where}: expected name, checkpoint and expect, got ${JSON.stringify(other)}`);
  const { name = `case ${at + 1}`, checkpoint, expect } = value;
  if (typeof name !== 'string') throw usage(`${where}: expected a string as name, got another type`);
  return { file, name, checkpoint: checkpointOf(checkpoint, where), expect: expectationOf(expect, where) };
}

function expectationOf(value: Json | undefined, where: string): Case['expect'] {
  if (!isObject(value)) return actionOf(value, where);
  return new Map(Object.entries(value).map(([policyId, each]) => [policyId, actionOf(each, where)]));
}

function actionOf(value: Json | undefined, where: string): PolicyAction {
  const action = policyActions.find((each) => each === value);
  if (action !== undefined) return action;
  const expected = `one of ${policyActions.join(', ')}, or those by policy id`;
  throw usage(`${where}: expected ${expected} as expect, got ${JSON.stringify(value ?? null).slice(0, 64)}`);
}

interface Miss {
  /** Null: the combined decision. */
  readonly policyId: string | null;
  readonly expected: PolicyAction;
  readonly got: PolicyAction;
}
export interface CaseResult {
  readonly file: string;
  readonly name: string;
  readonly passed: boolean;
  readonly combined: PolicyAction;
  readonly decidedBy: readonly string[];
  readonly misses: readonly Miss[];
}

export interface PolicyCoverage extends Coverage {
  readonly policyId: string;
}
export interface PolicyMutant {
  readonly policyId: string;
  readonly description: string;
  readonly killed: boolean;
}

/** Policies with the decisions of each case. */
export class Suite {
  readonly #policies: readonly PolicyFile[];
  readonly #ran: readonly Ran[];

  /** Errors: exit 2 if a case names an unknown policy. */
  constructor(policies: readonly PolicyFile[], cases: readonly Case[]) {
    this.#policies = policies;
    const known = new Set(policies.map(({ policyId }) => policyId));
    for (const { expect, file, name } of cases) {
      if (typeof expect === 'string') continue;
      const other = [...expect.keys()].find((policyId) => !known.has(policyId));
      if (other !== undefined)
        throw usage(
          `${file} ${name}: expected one of ${[...known].join(', ')}, got ${JSON.stringify(other)}`,
        );
    }
    const conditions = policies.map(({ policyId, action, onIndeterminate, node }) => ({
      policyId,
      action,
      onIndeterminate,
      condition: compile(node),
    }));
    this.#ran = cases.map((each) => new Ran(each, conditions));
  }

  results(): CaseResult[] {
    return this.#ran.map((each) => each.result());
  }

  coverage(): PolicyCoverage[] {
    const checkpoints = this.#ran.map(({ case: { checkpoint } }) => checkpoint);
    return this.#policies.map(({ policyId, node }) => ({ policyId, ...coverage(node, checkpoints) }));
  }

  /** A mutant is killed if it makes a passing case fail. Cost: evaluates each mutant for each case. */
  *mutants(): Generator<PolicyMutant, void, undefined> {
    const passing = this.#ran.filter((each) => each.result().passed);
    for (const { policyId, action, onIndeterminate, node } of this.#policies) {
      for (const { description, node: changed } of mutants(node)) {
        const condition = compile(changed);
        const killed = passing.some((each) =>
          each.failsWith(policyId, decide(action, condition.evaluate(each.case.checkpoint), onIndeterminate)),
        );
        yield { policyId, description, killed };
      }
    }
  }
}

interface TestedPolicy {
  readonly policyId: string;
  readonly action: PolicyAction;
  readonly onIndeterminate: PolicyAction | null;
  readonly condition: ReturnType<typeof compile>;
}

/** A case with the decision of each policy. */
class Ran {
  readonly case: Case;
  readonly #decisions: ReadonlyMap<string, Decision>;
  /** For each action, from the mildest: the number of policies that decided it. */
  readonly #votes: readonly number[];

  constructor(of: Case, policies: readonly TestedPolicy[]) {
    this.case = of;
    this.#decisions = new Map(
      policies.map(({ policyId, action, onIndeterminate, condition }) => [
        policyId,
        decide(action, condition.evaluate(of.checkpoint), onIndeterminate),
      ]),
    );
    const votes = policyActions.map(() => 0);
    for (const { decision, outcome } of this.#decisions.values()) {
      if (counts(outcome)) votes[restriction(decision)] = (votes[restriction(decision)] ?? 0) + 1;
    }
    this.#votes = votes;
  }

  result(): CaseResult {
    const { file, name, expect } = this.case;
    const combined = strictest(this.#votes);
    const decidedBy = [...this.#decisions]
      .filter(([, { decision, outcome }]) => counts(outcome) && decision === combined)
      .map(([policyId]) => policyId);
    const misses: Miss[] =
      typeof expect === 'string'
        ? [{ policyId: null, expected: expect, got: combined }]
        : [...expect].map(([policyId, expected]) => ({
            policyId,
            expected,
            got: this.#decisions.get(policyId)?.decision ?? 'allow',
          }));
    const missed = misses.filter(({ expected, got }) => expected !== got);
    return { file, name, passed: missed.length === 0, combined, decidedBy, misses: missed };
  }

  /** Returns whether the passing case fails if this policy decides `changed`. */
  failsWith(policyId: string, changed: Decision): boolean {
    const { expect } = this.case;
    if (typeof expect !== 'string') {
      const expected = expect.get(policyId);
      return expected !== undefined && expected !== changed.decision;
    }
    const before = this.#decisions.get(policyId);
    const votes = [...this.#votes];
    const vote = ({ decision, outcome }: Decision, by: number): void => {
      if (counts(outcome)) votes[restriction(decision)] = (votes[restriction(decision)] ?? 0) + by;
    };
    if (before !== undefined) vote(before, -1);
    vote(changed, 1);
    return strictest(votes) !== expect;
  }
}

/** Returns the strictest action with a vote; without a vote, allow. */
const strictest = (votes: readonly number[]): PolicyAction =>
  policyActions.findLast((_, at) => (votes[at] ?? 0) > 0) ?? 'allow';
