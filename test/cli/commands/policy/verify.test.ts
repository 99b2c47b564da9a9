/** `gov policy verify`: a policy, the proof of its set, and an export of evaluations that names the set. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { draftEvaluation, type Evaluation } from '../../../../src/core/decided/evaluation.ts';
import { formatTrust } from '../../../../src/core/note/trust.ts';
import { PolicySet } from '../../../../src/core/policies/set/in-force.ts';
import { sha256Text } from '../../../../src/core/hash.ts';
import { readPolicy, versionOf } from '../../../../src/cli/policies/file.ts';
import { artifactOf, events } from '../../../core/exports/log.ts';
import { type ProofLog, trust } from '../../../core/proofs/log.ts';
import { emptyDirectory, govHere } from '../../support/tool.ts';

const folder = emptyDirectory();
const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const policyText = (id: string, tool = 'shell') => `deny "${id}" high\nwhen tool.name == "${tool}"\n`;
const ids = ['a', 'no-shell', 'other', 'rest'];
const versions = await Promise.all(
  ids.map(async (id) => {
    const path = file(`${id}.policy`, policyText(id));
    return versionOf(
      await readPolicy(path, { io: { cwd: folder } as never, signal: new AbortController().signal }),
      3,
    );
  }),
);
const set = PolicySet.of(versions);
const { policyHash } = set.get('no-shell')!.policy;
const claim = {
  policyId: 'no-shell',
  version: 3,
  policyHash,
  policySetHash: set.policySetHash,
  ...set.inForceProof('no-shell')!,
};

const evaluation = (id: string, more: Partial<Evaluation> = {}): Evaluation => ({
  id,
  runId: 'r',
  policySource: 'active',
  policyCount: 4,
  policyIds: null,
  policySetHash: set.policySetHash,
  policyIndex: null,
  combined: 'allow',
  approval: null,
  evaluatedAt: '2026-01-05T09:00:00.000Z',
  decisions: [],
  shadow: [],
  checkpoint: { context: { a: 1 } },
  readSet: null,
  ...more,
});

function exported(evaluations: readonly Evaluation[]): string {
  const log: ProofLog = events();
  for (const each of evaluations) log.append(draftEvaluation(each, log.salt));
  return artifactOf(log, { resource: 'policy_evaluations' });
}

const good = exported([
  evaluation('pev_1'),
  evaluation('pev_2', { policySetHash: sha256Text('another set'), evaluatedAt: '2026-01-05T09:01:00.000Z' }),
  evaluation('pev_3', { evaluatedAt: '2026-01-05T09:02:00.000Z' }),
]);
const trustFile = file('trust', formatTrust(trust));

async function verify({
  proof = claim as object,
  policy = policyText('no-shell'),
  evaluations = good,
  trusted = true,
} = {}) {
  const { code, stdout, stderr } = await govHere([
    'policy',
    'verify',
    file('inforce.json', JSON.stringify(proof)),
    '--policy',
    file('given.policy', policy),
    '--evaluations',
    file('evaluations.json', evaluations),
    ...(trusted ? ['--trust', trustFile] : []),
    '-o',
    'json',
  ]);
  return { code, shown: stdout === '' ? null : (JSON.parse(stdout) as Record<string, unknown>), stderr };
}

describe('gov policy verify', () => {
  it('shows at which evaluations a policy was in force, and exits with 0', async () => {
    expect(await verify()).toMatchObject({
      code: 0,
      shown: {
        verified: true,
        code: null,
        policyId: 'no-shell',
        version: 3,
        evaluations: 2,
        firstEvaluatedAt: '2026-01-05T09:00:00.000Z',
        lastEvaluatedAt: '2026-01-05T09:02:00.000Z',
        trustedOrigin: trust.origin,
      },
    });
  });

  const flipped = (text: string): string => text.replace(/[0-9a-f]$/, (digit) => (digit === '0' ? '1' : '0'));
  it.each<[string, object, string]>([
    ['another condition', { policy: policyText('no-shell', 'sql') }, 'POLICY_DIFFERS'],
    ['another id', { policy: policyText('other') }, 'POLICY_DIFFERS'],
    ['another version', { proof: { ...claim, version: 2 } }, 'POLICY_DIFFERS'],
    [
      'a policy that is not in the set',
      { proof: { ...claim, hashes: claim.hashes.map(flipped) } },
      'NOT_IN_SET',
    ],
    ['another place in the set', { proof: { ...claim, index: claim.index + 1 } }, 'NOT_IN_SET'],
    ['a cut path', { proof: { ...claim, hashes: claim.hashes.slice(1) } }, 'NOT_IN_SET'],
    ['another set', { proof: { ...claim, policySetHash: flipped(claim.policySetHash) } }, 'NOT_IN_SET'],
    [
      'evaluations of other sets alone',
      { evaluations: exported([evaluation('pev_1', { policySetHash: sha256Text('x') })]) },
      'SET_NOT_RECORDED',
    ],
    [
      'a set that only the input of an evaluation names',
      {
        evaluations: exported([
          evaluation('pev_1', {
            policySetHash: sha256Text('x'),
            checkpoint: { context: { policySetHash: set.policySetHash } },
          }),
        ]),
      },
      'SET_NOT_RECORDED',
    ],
    ['an export of another resource', { evaluations: artifactOf(events()) }, 'SET_NOT_RECORDED'],
    [
      'a changed row',
      { evaluations: good.replace('"combined":"allow"', '"combined":"deny"') },
      'ROW_MISMATCH',
    ],
  ])('does not accept %s, and exits with 3', async (_, change, code) => {
    expect(await verify(change)).toMatchObject({
      code: 3,
      shown: { verified: false, code, evaluations: null },
    });
  });

  it('says that it cannot judge without a trusted key, and exits with 2', async () => {
    expect(await verify({ trusted: false })).toMatchObject({ code: 2, shown: { code: 'NO_TRUSTED_KEY' } });
    expect(await verify({ evaluations: '{}' })).toMatchObject({
      code: 2,
      shown: { code: 'MALFORMED_EXPORT' },
    });
    expect(await verify({ proof: {} })).toMatchObject({ code: 2, shown: null });
  });
});
