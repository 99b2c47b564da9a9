/**
 * The layer `decision_lineage` (`docs/reference/proof-format.md`): each risk decision of a run follows from its recorded inputs and
 * configuration, and this configuration was in force. Proven by `test/core/proofs/decision-lineage.test.ts`.
 */
import type { RiskRecord } from '../decided/risk-decision.ts';
import { hashText } from '../hash.ts';
import { canonicalize, canonicalText } from '../json/parse.ts';
import { decisionNotRun } from './layers.ts';
import { ListRoot } from '../merkle/list-root.ts';
import { type RiskConfig, type RiskRouter, riskRouter } from '../risk/config.ts';
import type { RiskInputs } from '../risk/inputs.ts';
import { evaluateRisk, type RiskVerdict } from '../risk/router.ts';
import { type LayerResult, verdictOf } from './statement.ts';

/** Accumulates the risk decisions of a run in log order, in constant memory. */
export class DecisionLineage {
  readonly #decisions = new ListRoot();
  readonly #again = new RiskAgain();
  #recomputed = 0;
  #inputsRecompute = true;
  #actionsMatch = true;

  /** Adds the decision of leaf `index`. `inForce`: hash of the configuration that earlier leaves put in force. */
  add(index: number, record: RiskRecord, inForce: string): void {
    const { id, action, score, deterministicInputsHash, configHash } = record;
    const item = { action, configHash, deterministicInputsHash, id, index, score };
    this.#decisions.add(`\0${canonicalize(item)}`);
    this.#actionsMatch &&= configHash === inForce;
    const verdict = this.#again.decide(record);
    if (verdict === null) return;
    this.#recomputed++;
    const sameInputs =
      verdict.deterministicInputsHash === deterministicInputsHash && verdict.configHash === configHash;
    const sameAction =
      verdict.action === action &&
      verdict.score === score &&
      verdict.wouldBeAction === record.wouldBeAction &&
      canonicalText(verdict.factors) === canonicalText(record.factors);
    this.#inputsRecompute &&= sameInputs;
    this.#actionsMatch &&= sameAction;
  }

  /** Returns the layer: `not_run` without decisions; `fail` if the inputs of all decisions were erased. */
  finish(): LayerResult {
    if (this.#decisions.size === 0) return decisionNotRun();
    const shown = this.#recomputed > 0;
    const checks = [
      { id: 'inputs_recompute', pass: shown && this.#inputsRecompute },
      { id: 'action_matches_config', pass: shown && this.#actionsMatch },
    ];
    return {
      layer: 'decision_lineage',
      claims: {
        decisions: { n: this.#decisions.size, root: hashText(this.#decisions.root()) },
        notRecomputed: this.#decisions.size - this.#recomputed,
      },
      checks,
      verdict: verdictOf(checks),
    };
  }
}

/** Repeats recorded risk decisions, each with its own configuration. */
export class RiskAgain {
  #made: { readonly text: string; readonly router: RiskRouter } | null = null;

  /**
   * Returns the repeated decision, null if the inputs were erased. `router`: another configuration than the recorded
   * one. Cost: about 10 µs if the configuration is the one of the previous call.
   */
  decide({ inputs }: RiskRecord, router?: RiskRouter): RiskVerdict | null {
    if (inputs === null) return null;
    const { config, ...given } = inputs;
    // The service checked config and inputs before it recorded them.
    const own = router ?? this.#routerOf(config as unknown as RiskConfig);
    return evaluateRisk(given as unknown as RiskInputs, own);
  }

  #routerOf(config: RiskConfig): RiskRouter {
    const text = canonicalText(config);
    if (this.#made?.text !== text) this.#made = { text, router: riskRouter(config) };
    return this.#made.router;
  }
}
