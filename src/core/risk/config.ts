/**
 * The configuration of a project's risk router (contract F7, F8, O3): what was put, filled with the defaults, is
 * the *effective* configuration; that is what is hashed and what decides. Names of signals are a client's, so the
 * registry has no prototype. `configHash = SHA-256("gov.riskconfig/v1\n" || JCS({ algorithm, config }))`.
 * Proven by `test/core/risk/config.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError, type FieldError } from '../../contract/problems.ts';
import type { RiskAction, RiskMode } from '../../contract/risk-words.ts';
import { sha256Text } from '../hash.ts';
import { canonicalText } from '../json/parse.ts';

/** The rules of `score.ts` and `router.ts`; another word where the same inputs could be scored otherwise. */
export const riskAlgorithm = 'gov.risk/1';

/** How a known signal is read: `min` … `max` becomes 0 … 1, or 1 … 0; `weight` is the cap of its factor. */
export interface SignalRule {
  readonly weight: number;
  readonly direction: 'higher_is_riskier' | 'lower_is_riskier';
  readonly min: number;
  readonly max: number;
}

/** As a project puts it: `PUT /risk/config` without what is read only. Thresholds and weights are 0 to 1. */
export interface RiskSettings {
  readonly mode: RiskMode;
  readonly thresholds: Readonly<Record<RiskAction, number>>;
  readonly defaultAction: RiskAction;
  readonly signals?: Readonly<Record<string, Pick<SignalRule, 'weight'> & Partial<SignalRule>>>;
}

/** Settings with nothing absent. */
export interface RiskConfig extends RiskSettings {
  readonly signals: Readonly<Record<string, SignalRule>>;
}

/** A configuration ready to decide: its JCS text and hash are made once, not with each decision. */
export interface RiskRouter {
  readonly config: RiskConfig;
  /** JCS of `config`. */
  readonly text: string;
  readonly configHash: string;
}

const builtIn: NonNullable<RiskSettings['signals']> = Object.freeze({
  prompt_injection: { weight: 0.9 },
  pii: { weight: 0.6 },
  anomaly: { weight: 0.6 },
  toxicity: { weight: 0.5 },
  drift: { weight: 0.4 },
  hallucination: { weight: 0.4 },
});

/** What a project has before it puts one. */
export const defaultRiskConfig: RiskSettings = Object.freeze({
  mode: 'adaptive',
  thresholds: Object.freeze({ allow: 0, flag: 0.3, escalate: 0.6, block: 0.9 }),
  defaultAction: 'escalate',
});

/**
 * The effective configuration of checked settings: signals have a direction and a range, and those built in stand
 * where the project named none. `bands`, which is read only, is no part of it.
 */
export function effectiveConfig(settings: RiskSettings): RiskConfig {
  const { mode, defaultAction, signals: given = builtIn } = settings;
  const { allow, flag, escalate, block } = settings.thresholds;
  const signals: Record<string, SignalRule> = Object.create(null);
  for (const [name, rule] of Object.entries(given)) {
    const { weight, direction = 'higher_is_riskier', min = 0, max = 1 } = rule;
    signals[name] = { weight, direction, min, max };
  }
  return { mode, thresholds: { allow, flag, escalate, block }, defaultAction, signals };
}

/** Prepares a configuration to decide with. Cost: about 5 µs; keep it as long as the configuration stands. */
export function riskRouter(settings: RiskSettings): RiskRouter {
  const config = effectiveConfig(settings);
  const text = canonicalText(config);
  return { config, text, configHash: riskConfigHash(text) };
}

/** The hash of a configuration by its JCS text. */
export const riskConfigHash = (text: string): string =>
  sha256Text(`gov.riskconfig/v1\n{"algorithm":"${riskAlgorithm}","config":${text}}`);

/** What is in force in a log before its first `gov.config/1` leaf; of another default, proofs made before it fail. */
export const defaultConfigHash = riskRouter(defaultRiskConfig).configHash;

/**
 * Refuses what the contract's schema cannot say: a signal without a name or with too long a one, and a range
 * that is empty or has no finite width. VALIDATION_ERROR with pointers. The client controls the input.
 */
export function checkRiskConfig({ signals = {} }: RiskSettings): void {
  const errors: FieldError[] = [];
  for (const [name, { min = 0, max = 1 }] of Object.entries(signals)) {
    const shown = name.slice(0, limits.signalChars).replaceAll('~', '~0').replaceAll('/', '~1');
    const fault = (code: string, detail: string): void => {
      errors.push({ pointer: `/signals/${shown}`, in: 'body', code, detail });
    };
    if (name === '') fault('TOO_SHORT', 'expected a name of at least 1 character, got none');
    if (name.length > limits.signalChars) {
      fault('TOO_LONG', `expected a name of at most ${limits.signalChars} characters, got ${name.length}`);
    }
    if (!(max > min)) fault('TOO_SMALL', `expected max greater than min, got min ${min} and max ${max}`);
    else if (!Number.isFinite(max - min)) fault('TOO_LARGE', 'expected max - min to be finite');
  }
  const [first] = errors;
  if (first === undefined) return;
  throw new GovError('VALIDATION_ERROR', `body ${first.pointer}: ${first.detail}`, {
    errors: errors.slice(0, limits.fieldErrors),
    ...(errors.length > limits.fieldErrors ? { extensions: { errorsTruncated: true } } : {}),
  });
}
