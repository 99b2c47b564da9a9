/** The effective configuration, its hash, and what is refused of it. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { GovError } from '../../../src/contract/problems.ts';
import {
  checkRiskConfig,
  defaultRiskConfig,
  effectiveConfig,
  riskRouter,
  type RiskSettings,
} from '../../../src/core/risk/config.ts';
import { settings } from './facts.ts';

describe('the risk configuration', () => {
  it('a project without a risk configuration uses exactly this default', () => {
    expect(riskRouter(defaultRiskConfig).text).toBe(
      '{"defaultAction":"escalate","mode":"adaptive","signals":{' +
        [
          ['anomaly', 0.6],
          ['drift', 0.4],
          ['hallucination', 0.4],
          ['pii', 0.6],
          ['prompt_injection', 0.9],
          ['toxicity', 0.5],
        ]
          .map(
            ([name, weight]) =>
              `"${name}":{"direction":"higher_is_riskier","max":1,"min":0,"weight":${weight}}`,
          )
          .join(',') +
        '},"thresholds":{"allow":0,"block":0.9,"escalate":0.6,"flag":0.3}}',
    );
  });

  it('a risk configuration is hashed as one labelled text that sha256sum reproduces', () => {
    const { text, configHash } = riskRouter(settings());
    const preimage = `gov.riskconfig/v1\n{"algorithm":"gov.risk/1","config":${text}}`;
    expect(configHash).toBe(`sha256:${createHash('sha256').update(preimage).digest('hex')}`);
  });

  it('a risk configuration has one hash for all spellings, and another for other content', () => {
    const hash = (changes: Partial<RiskSettings>) => riskRouter(settings(changes)).configHash;
    const spelled = { weight: 0.5, direction: 'higher_is_riskier', min: 0, max: 1 } as const;
    expect(hash({ signals: { a: { weight: 0.5 }, b: spelled } })).toBe(
      hash({ signals: { b: { weight: 0.5 }, a: spelled } }),
    );
    const other: Partial<RiskSettings>[] = [
      {},
      { mode: 'strict' },
      { defaultAction: 'allow' },
      { thresholds: { allow: 0, flag: 0.3, escalate: 0.6, block: 0.91 } },
      { signals: {} },
      { signals: { a: { weight: 0.5 } } },
      { signals: { a: { weight: 0.5, direction: 'lower_is_riskier' } } },
      { signals: { a: { weight: 0.5, max: 2 } } },
    ];
    expect(new Set(other.map(hash)).size).toBe(other.length);
  });

  it('a risk configuration omits read-only members and keeps any signal name as data', () => {
    const signals = JSON.parse(
      '{"__proto__":{"weight":0.5},"constructor":{"weight":1}}',
    ) as RiskSettings['signals'];
    const given = { ...settings({ signals: signals! }), bands: [{ from: 0, action: 'allow' }] };
    const config = effectiveConfig(given);
    expect(Object.keys(config).sort()).toEqual(['defaultAction', 'mode', 'signals', 'thresholds']);
    expect(Object.keys(config.signals).sort()).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(config.signals)).toBeNull();
    expect(riskRouter(given).text).toContain('"__proto__":{"direction"');
  });
});

describe('refused risk configurations', () => {
  const refusal = (signals: NonNullable<RiskSettings['signals']>): GovError => {
    try {
      checkRiskConfig(settings({ signals }));
    } catch (error) {
      if (error instanceof GovError) return error;
    }
    throw new Error('expected a refusal');
  };

  it.each([
    ['an empty range', { a: { weight: 1, min: 1, max: 1 } }, '/signals/a', 'TOO_SMALL'],
    ['a range beginning above the default end', { a: { weight: 1, min: 5 } }, '/signals/a', 'TOO_SMALL'],
    ['a range too wide', { a: { weight: 1, min: -1e308, max: 1e308 } }, '/signals/a', 'TOO_LARGE'],
    ['no name', { '': { weight: 1 } }, '/signals/', 'TOO_SHORT'],
    ['a name of slashes', { '~/': { weight: 1, max: 0 } }, '/signals/~0~1', 'TOO_SMALL'],
    [
      'a long name',
      { ['a'.repeat(limits.signalChars + 1)]: { weight: 1 } },
      `/signals/${'a'.repeat(limits.signalChars)}`,
      'TOO_LONG',
    ],
  ])('a risk configuration with %s is refused', (_, signals, pointer, code) => {
    const { code: problem, errors } = refusal(signals);
    expect(problem).toBe('VALIDATION_ERROR');
    expect(errors).toMatchObject([{ pointer, in: 'body', code }]);
  });

  it('the errors of a risk configuration are listed up to a limit', () => {
    const many = Object.fromEntries(
      Array.from({ length: limits.fieldErrors + 1 }, (_, at) => [`s${at}`, { weight: 1, max: 0 }]),
    );
    const { errors, extensions } = refusal(many);
    expect(errors).toHaveLength(limits.fieldErrors);
    expect(extensions['errorsTruncated']).toBe(true);
  });

  it('a risk configuration within all limits is accepted', () => {
    const name = 'a'.repeat(limits.signalChars);
    expect(() =>
      checkRiskConfig(settings({ signals: { [name]: { weight: 0, min: -5, max: 5 } } })),
    ).not.toThrow();
    expect(() => checkRiskConfig(defaultRiskConfig)).not.toThrow();
  });
});
