import { createHash, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  SignedPlaneConfig,
  type ConfiguredPolicy,
  type PlaneConfigDocument,
} from '../../../src/contract/plane-config.ts';
import { limits } from '../../../src/contract/limits.ts';
import {
  PlaneConfigError,
  planeConfigHash,
  configKeyName,
  hashOfText,
  openPlaneConfig,
  signPlaneConfig,
  type PlaneConfigTrust,
} from '../../../src/core/planes/config.ts';
import { canonicalize, type Json } from '../../../src/core/json/parse.ts';
import {
  ed25519Cosigner,
  ed25519Signer,
  parseVerifierKey,
  signNote,
  splitNote,
} from '../../../src/core/note/signed.ts';
import { canonicalCondition } from '../../../src/core/policies/language/canonical.ts';
import { parseCondition } from '../../../src/core/policies/language/parse.ts';
import { policyHash, policySetHash } from '../../../src/core/policies/language/hash.ts';
import { defaultRiskConfig, effectiveConfig } from '../../../src/core/risk/config.ts';
import { loadCheck } from '../../../src/service/call/schema.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const signer = ed25519Signer(configKeyName('gov.example'), privateKey);
const projectId = 'prj_01jzzzzzzzzzzzzzzzzzzzzzzz';
const trust: PlaneConfigTrust = {
  keys: [parseVerifierKey(signer.verifierKey)],
  projectId,
  environment: 'production',
};
const check = await loadCheck(SignedPlaneConfig, { in: 'body' });
const fits = (value: unknown): string | null => check(value)?.errors[0]?.detail ?? null;

function policy(
  policyId: string,
  condition: Json,
  members: Partial<ConfiguredPolicy> = {},
): ConfiguredPolicy {
  const canonical = canonicalCondition(parseCondition(condition));
  const fixed = { policyId, version: 3, action: 'deny', severity: 'high', ...members } as const;
  return {
    name: 'No shell',
    description: null,
    ...fixed,
    condition: canonical,
    policyHash: policyHash({ ...fixed, condition: canonical }),
  };
}

const policies = [
  policy('no-shell', { 'tool.name': 'shell' }),
  policy('no-sums', { amount: { '>': 1.5e3 } }),
];
const bundle: PlaneConfigDocument = {
  schemaVersion: 'gov.bundle/1',
  bundleVersion: 17,
  projectId,
  environment: 'production',
  issuedAt: '2026-11-20T10:00:00.000Z',
  engine: 'gov.cond/1',
  policies,
  policySetHash: policySetHash(policies),
  riskConfig: { algorithm: 'gov.risk/1', config: effectiveConfig(defaultRiskConfig) as never },
  settings: { redactionKeys: ['/metadata/patient'] },
};

const textOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const open = (value: unknown, by: PlaneConfigTrust = trust) => openPlaneConfig(textOf(value), by, fits);
/** Signed by the right key, whatever it holds. */
const signed = (members: object): unknown => signPlaneConfig({ ...bundle, ...members }, signer).signed;
function reasonOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof PlaneConfigError) return error.reason;
    throw error;
  }
  return 'taken';
}

describe('a signed plane configuration', () => {
  it('a signed plane configuration opens unchanged, whatever the order of its members', () => {
    const { signed: whole, hash } = signPlaneConfig(bundle, signer);
    const opened = open({
      signature: whole.signature,
      bundle: Object.fromEntries(Object.entries(bundle).toReversed()),
    });
    expect(opened.bundle).toEqual(bundle);
    expect(opened).toMatchObject({ hash, signedBy: 'gov.example/config', findings: 0 });
  });

  it('the hash and signature of a plane configuration can be checked by hand', () => {
    const { signed: whole, hash } = signPlaneConfig(bundle, signer);
    const preimage = `gov.bundle/v1\n${canonicalize(bundle as unknown as Json)}`;
    expect(hash).toBe(`sha256:${createHash('sha256').update(preimage).digest('hex')}`);
    expect(splitNote(whole.signature).text).toBe(`gov.bundle/v1\n${projectId}\n17\n${hash}\n`);
    expect(hashOfText(textOf(whole))).toBe(planeConfigHash(bundle));
  });

  it('a plane configuration gives the same text each time it is signed', () => {
    expect(signPlaneConfig(bundle, signer)).toEqual(signPlaneConfig(structuredClone(bundle), signer));
  });

  it('a plane configuration with faulty conditions is accepted and its faults are counted', () => {
    const never = policy('never', {
      and: [{ '===': [{ var: 'context.a' }, 1] }, { '===': [{ var: 'context.a' }, 2] }],
    });
    const faulty = { policies: [never], policySetHash: policySetHash([never]) };
    expect(open(signed(faulty)).findings).toBeGreaterThan(0);
  });

  it('a plane configuration may have no policies, risk configuration or redaction', () => {
    const empty = {
      policies: [],
      policySetHash: policySetHash([]),
      riskConfig: null,
      settings: { redactionKeys: [] },
    };
    expect(open(signed(empty)).bundle).toMatchObject(empty);
  });
});

/** Every member at any depth, with its pointer, replaced by something else; and left out; and one added. */
function* mutations(value: Json, at = ''): Generator<readonly [string, (root: Json) => Json]> {
  const set = (change: (holder: Record<string, Json>, name: string) => void) => (root: Json) => {
    const copy = structuredClone(root);
    const names = at.slice(1).split('/');
    let holder = copy as Record<string, Json>;
    for (const name of names.slice(0, -1)) holder = holder[name] as Record<string, Json>;
    change(holder, names.at(-1) ?? '');
    return copy;
  };
  if (at !== '') {
    const other = typeof value === 'number' ? value + 1 : typeof value === 'string' ? `${value}x` : 'x';
    yield [`${at} replaced`, set((holder, name) => (holder[name] = other))];
    yield [`${at} null`, set((holder, name) => (holder[name] = value === null ? 'null' : null))];
    yield [
      `${at} left out`,
      set((holder, name) => (Array.isArray(holder) ? holder.splice(Number(name), 1) : delete holder[name])),
    ];
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, each] of Object.entries(value)) yield* mutations(each, `${at}/${name}`);
}

describe('an altered plane configuration', () => {
  const { signed: whole } = signPlaneConfig(bundle, signer);
  const all = [...mutations(whole.bundle as unknown as Json)];

  it(`an altered plane configuration is refused for each of ${all.length} changes of its members`, () => {
    for (const [what, change] of all) {
      const altered = { bundle: change(whole.bundle as unknown as Json), signature: whole.signature };
      expect(`${what}: ${reasonOf(() => open(altered))}`).toBe(`${what}: untrusted`);
    }
  });

  it('a plane configuration with an added member, inside or outside the bundle, is refused', () => {
    expect(reasonOf(() => open({ ...whole, bundle: { ...bundle, more: 1 } }))).toBe('untrusted');
    expect(reasonOf(() => open({ ...whole, more: 1 }))).toBe('malformed');
  });

  it('a plane configuration with a changed bit in its signature is refused', () => {
    const lines = whole.signature.split('\n');
    const line = lines.at(-2) ?? '';
    const [dash, name, base64 = ''] = line.split(' ');
    const bytes = Buffer.from(base64, 'base64');
    for (let bit = 0; bit < bytes.length * 8; bit += 7) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      const note = whole.signature.replace(line, [dash, name, flipped.toString('base64')].join(' '));
      expect(reasonOf(() => open({ bundle, signature: note }))).toBe('untrusted');
    }
  });
});

describe('a plane configuration with other signatures', () => {
  it('a plane configuration without a signature of the trusted key and name is refused', () => {
    const other = ed25519Signer('gov.example/config', generateKeyPairSync('ed25519').privateKey);
    const renamed = ed25519Signer('gov.example/prj/audit', privateKey);
    const text = splitNote(signPlaneConfig(bundle, signer).signed.signature).text;
    const notes = [
      signNote(text, [other]),
      signNote(text, [renamed]),
      signNote(text, [ed25519Cosigner('gov.example/config', privateKey)], { timestampSeconds: 1 }),
      signNote(`gov.example/audit\n17\n${'A'.repeat(43)}=\n`, [signer]),
      signNote(text.replace('17', '18'), [signer]),
      text,
      '',
    ];
    for (const signature of notes) expect(reasonOf(() => open({ bundle, signature }))).toBe('untrusted');
  });

  it('a plane configuration is accepted when one of several trusted keys signed it', () => {
    const next = ed25519Signer('gov.example/config2', generateKeyPairSync('ed25519').privateKey);
    const keys = [parseVerifierKey(next.verifierKey), ...trust.keys];
    expect(open(signed({}), { ...trust, keys }).signedBy).toBe('gov.example/config');
  });
});

describe('a signed plane configuration that does not fit', () => {
  const altered = { ...policies[0]!, action: 'allow' } as ConfiguredPolicy;
  const spelled = { ...policies[0]!, condition: { 'tool.name': 'shell' } };
  const broken = { ...policies[0]!, condition: { nope: [1] } };
  const risk = bundle.riskConfig!;
  it.each([
    ['of another project', 'other_project', { projectId: 'prj_01jzzzzzzzzzzzzzzzzzzzzzz0' }],
    ['of the other environment', 'other_project', { environment: 'sandbox' }],
    ['of another schema', 'unsupported', { schemaVersion: 'gov.bundle/2' }],
    ['with a member more', 'unsupported', { quotas: {} }],
    ['with a version that is none', 'unsupported', { bundleVersion: 0 }],
    ['with conditions of another engine', 'unsupported', { engine: 'gov.cond/2' }],
    ['with risk rules of another kind', 'unsupported', { riskConfig: { ...risk, algorithm: 'gov.risk/2' } }],
    ['with a policy that is not what its hash says', 'policy_invalid', { policies: [altered, policies[1]] }],
    ['with a condition that is not canonical', 'policy_invalid', { policies: [spelled, policies[1]] }],
    ['with a condition that does not compile', 'policy_invalid', { policies: [broken, policies[1]] }],
    ['with policies in another order', 'policy_invalid', { policies: policies.toReversed() }],
    ['with a policy twice', 'policy_invalid', { policies: [policies[0], policies[0]] }],
    ['with the hash of another set', 'policy_invalid', { policies: [policies[0]] }],
    [
      'with a range of signals that is empty',
      'risk_config_invalid',
      {
        riskConfig: {
          ...risk,
          config: {
            ...risk.config,
            signals: { pii: { weight: 1, direction: 'higher_is_riskier', min: 1, max: 1 } },
          },
        },
      },
    ],
    [
      'with a signal that leaves out what it means',
      'risk_config_invalid',
      { riskConfig: { ...risk, config: { ...risk.config, signals: { pii: { weight: 1 } } } } },
    ],
    [
      'with a pointer that redacts what may not be',
      'unsupported',
      { settings: { redactionKeys: ['/eventType'] } },
    ],
  ])('a signed plane configuration %s is refused', (_what, reason, members) => {
    expect(reasonOf(() => open(signed(members)))).toBe(reason);
  });
});

describe('bytes that are not a plane configuration', () => {
  it.each([
    ['', 'malformed'],
    ['null', 'malformed'],
    ['[]', 'malformed'],
    ['{"bundle":{},"signature":1}', 'malformed'],
    ['{"bundle":[],"signature":""}', 'malformed'],
    ['{"bundle":{},"bundle":{},"signature":""}', 'malformed'],
    ['{"bundle":{},"signature":"', 'malformed'],
    [`{"bundle":${'['.repeat(200)}${']'.repeat(200)},"signature":""}`, 'over_limit'],
  ])('the bytes %j are refused as a plane configuration', (text, reason) => {
    expect(reasonOf(() => openPlaneConfig(Buffer.from(text), trust, fits))).toBe(reason);
    expect(hashOfText(Buffer.from(text))).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  it('the bytes of a plane configuration have a size limit', () => {
    const whole = textOf(signed({}));
    const padded = (bytes: number): Buffer => Buffer.concat([whole, Buffer.alloc(bytes - whole.length, ' ')]);
    const limit = limits.planeConfigBytes;
    expect(reasonOf(() => openPlaneConfig(padded(limit), trust, fits))).toBe('taken');
    expect(reasonOf(() => openPlaneConfig(padded(limit + 1), trust, fits))).toBe('over_limit');
  });

  it('a plane configuration has a limited number of values and a limited depth', () => {
    const reason = (content: string): string =>
      reasonOf(() => openPlaneConfig(Buffer.from(`{"bundle":{"x":${content}},"signature":""}`), trust, fits));
    // beside the list: two objects, the list itself, the signature
    const values = (count: number): string => `[${'1,'.repeat(count - 5)}1]`;
    expect(reason(values(limits.planeConfigValues))).toBe('untrusted');
    expect(reason(values(limits.planeConfigValues + 1))).toBe('over_limit');
    const nested = (levels: number): string => '['.repeat(levels - 2) + ']'.repeat(levels - 2);
    expect(reason(nested(limits.planeConfigDepth))).toBe('untrusted');
    expect(reason(nested(limits.planeConfigDepth + 1))).toBe('over_limit');
  });
});
