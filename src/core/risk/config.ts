/**
 * The configuration of the risk router of a project (contract F7, F8, O3). The client's settings, completed with defaults,
 * are the *effective* configuration, which is hashed and decides. Clients name the signals, so the registry has no
 * prototype. `configHash = SHA-256("gov.riskconfig/v1\n" || JCS({ algorithm, config }))`.
 * Proven by `test/core/risk/config.test.ts`.
 */
import type { FieldCode } from '../../contract/field-codes.ts';
import { limits } from '../../contract/limits.ts';
import { GovError, type FieldError } from '../../contract/problems.ts';
import type { RiskAction, RiskMode } from '../../contract/risk-words.ts';
import { sha256Text } from '../hash.ts';
import { canonicalText } from '../json/parse.ts';
import { pointerToken } from '../json/pointer.ts';

/** Version of the rules in `score.ts` and `router.ts`; a change that scores equal inputs differently needs a new one. */
export const riskAlgorithm = 'gov.risk/1';

/** Rule of a known signal: `min` … `max` becomes 0 … 1, or 1 … 0; `weight` is the cap of its factor. */
export interface SignalRule {
  readonly weight: number;
  readonly direction: 'higher_is_riskier' | 'lower_is_riskier';
  readonly min: number;
  readonly max: number;
}

/** Settings of a project: the body of `PUT /risk/config` without read-only members. Thresholds and weights are 0 to 1. */
export interface RiskSettings {
  readonly mode: RiskMode;
  readonly thresholds: Readonly<Record<RiskAction, number>>;
  readonly defaultAction: RiskAction;
  readonly signals?: Readonly<Record<string, Pick<SignalRule, 'weight'> & Partial<SignalRule>>>;
}

/** Settings with all members. */
export interface RiskConfig extends RiskSettings {
  readonly signals: Readonly<Record<string, SignalRule>>;
}

/** A configuration ready to decide; its JCS text and hash are computed once. */
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

/** The configuration of a project without settings. */
export const defaultRiskConfig: RiskSettings = Object.freeze({
  mode: 'adaptive',
  thresholds: Object.freeze({ allow: 0, flag: 0.3, escalate: 0.6, block: 0.9 }),
  defaultAction: 'escalate',
});

/**
 * Returns the effective configuration of checked settings: each signal has a direction and a range, and built-in signals
 * apply if the settings name none. The read-only `bands` is not part of it.
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

/** Prepares a configuration to decide with. Cost: about 5 µs; reuse it as long as the configuration is in force. */
export function riskRouter(settings: RiskSettings): RiskRouter {
  const config = effectiveConfig(settings);
  const text = canonicalText(config);
  return { config, text, configHash: riskConfigHash(text) };
}

/** Returns the hash of a configuration from its JCS text. */
export const riskConfigHash = (text: string): string =>
  sha256Text(`gov.riskconfig/v1\n{"algorithm":"${riskAlgorithm}","config":${text}}`);

/** Configuration in force before the first `gov.config/1` leaf of a log. A change breaks all earlier proofs. */
export const defaultConfigHash = riskRouter(defaultRiskConfig).configHash;

/**
 * Checks what the contract schema cannot express: length of signal names, and ranges that are empty or have no finite
 * width. Throws VALIDATION_ERROR with pointers. The client controls the input.
 */
export function checkRiskConfig({ signals = {} }: RiskSettings): void {
  const errors: FieldError[] = [];
  for (const [name, { min = 0, max = 1 }] of Object.entries(signals)) {
    const shown = pointerToken(name.slice(0, limits.signalChars));
    const fault = (code: FieldCode, detail: string): void => {
      errors.push({ pointer: `/signals/${shown}`, in: 'body', code, detail });
    };
    if (name === '') fault('TOO_SHORT', 'expected a name of at least 1 character, got an empty one');
    if (name.length > limits.signalChars) {
      fault('TOO_LONG', `expected a name of at most ${limits.signalChars} characters, got ${name.length}`);
    }
    if (!(max > min)) fault('TOO_SMALL', `expected max greater than min, got min ${min} and max ${max}`);
    else if (!Number.isFinite(max - min))
      fault('TOO_LARGE', `expected a finite max - min, got min ${min} and max ${max}`);
  }
  const [first] = errors;
  if (first === undefined) return;
  throw new GovError('VALIDATION_ERROR', `body ${first.pointer}: ${first.detail}`, {
    errors: errors.slice(0, limits.fieldErrors),
    ...(errors.length > limits.fieldErrors ? { extensions: { errorsTruncated: true } } : {}),
  });
}
