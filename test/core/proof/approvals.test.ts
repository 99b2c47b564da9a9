/** A log that lies about who signed an approval: each leaf is in its tree, and the verifier refuses what no key signed. */
import { afterAll, describe, expect, it } from 'vitest';
import { statementHash, statementText, type Statement } from '../../../src/core/approval/statement.ts';
import { draftApproval, type ApprovalRecord } from '../../../src/core/decided/approval.ts';
import { draftApprover } from '../../../src/core/decided/approver.ts';
import { draftEvaluation, type OpenedApproval } from '../../../src/core/decided/evaluation.ts';
import { draftLeaf, type OtherDraft } from '../../../src/core/event/record.ts';
import { disclosureText, type Disclosure } from '../../../src/core/event/disclosure.ts';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { leafHash, nodeHash } from '../../../src/core/merkle/tree.ts';
import { hashText } from '../../../src/core/hash.ts';
import { checkApprovals } from '../../../src/core/proof/approvals.ts';
import type { BundleApproval, BundleFrame } from '../../../src/core/proof/bundle.ts';
import type { Statement as LayerStatement } from '../../../src/core/proof/statement.ts';
import { CheckList } from '../../../src/core/proof/verdict.ts';
import { SshSigner } from '../../support/signers.ts';

const ssh = new SshSigner();
afterAll(() => ssh.end());

const origin = 'log.example';
const runId = 'run-1';
const at = '2026-01-01T12:00:00.000Z';
const opened: OpenedApproval = {
  id: 'apr_1',
  requestedBy: 'key_agent',
  expiresAt: '2026-01-02T00:00:00.000Z',
  signatureRequired: true,
};
const policySetHash = `sha256:${'a'.repeat(64)}`;
const salt = () => 'AAAAAAAAAAAAAAAAAAAAAA';
const key = { kind: 'ssh' as const, principal: 'key_ada', publicKey: ssh.publicKey.split(' ', 2).join(' ') };

const enrolled = (approverId = 'apv_1') =>
  draftApprover(
    { approverId, event: 'enrolled', at, key: { ...key, passkey: null }, name: 'Ada', actor: 'key_ada' },
    salt,
  );
const revoked = () =>
  draftApprover({ approverId: 'apv_1', event: 'revoked', at, key: null, name: null, actor: 'key_ada' }, salt);
const asked = (id = 'pev_1', run = runId, approval = opened) =>
  draftEvaluation(
    {
      id,
      runId: run,
      policySource: 'tool',
      policyCount: 1,
      policyIds: null,
      policySetHash,
      policyIndex: 0,
      combined: 'escalate',
      approval,
      evaluatedAt: at,
      decisions: [],
      shadow: [],
      checkpoint: null,
      readSet: null,
    },
    salt,
  );

/** What Ada signs of this call. */
const statement = (changes: Partial<Statement> = {}): string =>
  statementText({
    origin,
    approvalId: 'apr_1',
    evaluationId: 'pev_1',
    runId,
    outcome: 'approved',
    approverId: 'apv_1',
    principal: 'key_agent',
    tool: { name: 'pay' },
    argumentsHash: policySetHash,
    shownHash: policySetHash,
    policies: [],
    policySetHash,
    expiresAt: opened.expiresAt,
    comment: null,
    nonce: 'AAAAAAAAAAAAAAAAAAAAAA',
    ...changes,
  });
function signed(changes: Partial<ApprovalRecord> = {}, text = statement()): OtherDraft {
  const record = { id: 'apr_1', runId, evaluationId: 'pev_1', outcome: 'approved' as const, at };
  const said = { approverId: 'apv_1', statementHash: statementHash(text) };
  const leaf = { ...record, approver: 'key_ada', signed: said, ...changes };
  return draftApproval({ ...leaf, reason: null, signature: { statement: text, ssh: ssh.sign(text) } }, salt);
}

const path = (hashes: readonly Buffer[], index: number): Buffer[] => {
  if (hashes.length === 1) return [];
  const half = 2 ** Math.ceil(Math.log2(hashes.length) - 1);
  const [left, right] = [hashes.slice(0, half), hashes.slice(half)];
  return index < half ? [...path(left, index), rootOf(right)] : [...path(right, index - half), rootOf(left)];
};
const rootOf = (hashes: readonly Buffer[]): Buffer => {
  if (hashes.length === 1) return hashes[0]!;
  const half = 2 ** Math.ceil(Math.log2(hashes.length) - 1);
  return nodeHash(rootOf(hashes.slice(0, half)), rootOf(hashes.slice(half)));
};

interface Lies {
  /** The order in which the bundle has the leaves. */
  readonly order?: readonly number[];
  /** What the layer lists. */
  readonly listed?: JsonObject;
}

/** The check of a bundle whose log has exactly these leaves. */
function check(leaves: readonly OtherDraft[], { order, listed }: Lies = {}) {
  const hashes = leaves.map(({ record }) => Buffer.from(leafHash(record)));
  const approvals = leaves.map(({ record, disclosures }, index): BundleApproval => {
    const all = JSON.parse(disclosures ?? '[]') as Disclosure[];
    const inclusion = path(hashes, index).map(hashText);
    return { index, record, inclusion, disclosures: all.map(disclosureText) };
  });
  const root = rootOf(hashes);
  const item = { id: 'apr_1', approved: 2, signed: 'apv_1', ...listed };
  const layer = {
    checks: [{ id: 'escalations_signed', pass: true }],
    claims: { approvals: { n: 1, listed: [item] } },
  } as unknown as LayerStatement;
  const evidence = { origin, runId, treeSize: leaves.length, treeRoot: hashText(root) };
  const checks = new CheckList();
  checkApprovals(
    {
      approvals: order === undefined ? approvals : order.map((each) => approvals[each]!),
    } as unknown as BundleFrame,
    {
      statements: new Map([['policy_compliance', layer]]),
      evidence: evidence as never,
      root,
    },
    checks,
  );
  return checks.list().find(({ id }) => id === 'approval_signatures');
}
const refused = (text: string) => ({
  result: 'failed',
  code: 'SIGNATURE_INVALID',
  detail: expect.stringContaining(text),
});
/** A leaf of a log that writes what it likes. */
const forged = (type: 'gov.approver/1' | 'gov.approval/1', members: JsonObject, committed: JsonObject = {}) =>
  draftLeaf(type, members, { committed: Object.entries(committed), salt });

describe('signed approvals that a log forges', () => {
  it('the verifier accepts the approval that the key signed', () => {
    expect(check([enrolled(), asked(), signed()])).toMatchObject({
      result: 'passed',
      detail: expect.stringMatching(/^1 by Ada \(ssh, SHA256:/),
    });
  });

  it('the verifier refuses a signed denial as the approval that the layer lists', () => {
    const denied = signed({ outcome: 'denied' }, statement({ outcome: 'denied' }));
    expect(check([enrolled(), asked(), denied])).toMatchObject(refused('apr_1'));
  });

  it('the verifier refuses a signature that was captured in another run', () => {
    const text = statement({ runId: 'run-of-yesterday' });
    expect(check([enrolled(), asked(), signed({}, text)])).toMatchObject(refused('another runId'));
  });

  it('the verifier refuses an approval that another evaluation opened again under the same id', () => {
    const leaves = [enrolled(), asked('pev_1'), asked('pev_2'), signed()];
    expect(check(leaves, { listed: { approved: 3 } })).toMatchObject(refused('leaf 3'));
  });

  it('the verifier refuses a revocation that the bundle has after the decision that it precedes', () => {
    const leaves = [enrolled(), asked(), revoked(), signed()];
    const listed = { approved: 3 };
    expect(check(leaves, { listed })).toMatchObject(refused('revoked by leaf 2'));
    expect(check(leaves, { listed, order: [0, 1, 3, 2] })).toMatchObject(refused('order of the log'));
  });

  it('the verifier refuses an enrolment after the request, and a decision before it', () => {
    const leaves = [asked(), enrolled(), signed()];
    expect(check(leaves)).toMatchObject(refused('enrolled before leaf 0'));
    expect(check([enrolled(), signed(), asked()], { order: [0, 2, 1] })).toMatchObject(refused('order'));
  });

  it('the verifier refuses a layer that lists another approver or another leaf than the signed one', () => {
    const leaves = [enrolled(), asked(), signed()];
    expect(check(leaves, { listed: { signed: 'apv_2' } })).toMatchObject(refused('apv_2'));
    expect(check(leaves, { listed: { approved: 7 } })).toMatchObject(refused('leaf 7'));
  });

  it.each<[string, OtherDraft[]]>([
    [
      'a key without a public key',
      [
        forged('gov.approver/1', { approverId: 'apv_1', event: 'enrolled', at, key: { kind: 'ssh' } }),
        asked(),
        signed(),
      ],
    ],
    [
      'a key that is a text',
      [
        forged('gov.approver/1', { approverId: 'apv_1', event: 'enrolled', at, key: 'ssh' }),
        asked(),
        signed(),
      ],
    ],
    [
      'a passkey without its origin',
      [
        forged('gov.approver/1', {
          approverId: 'apv_1',
          event: 'enrolled',
          at,
          key: { kind: 'passkey', publicKey: 'AA==', passkey: {} },
        }),
        asked(),
        signed(),
      ],
    ],
    [
      'an approver id that is an object',
      [enrolled(), asked(), forged('gov.approval/1', { id: 'apr_1', signed: { approverId: { a: 1 } } })],
    ],
    ...[
      null,
      1,
      'text',
      {},
      { statement: 1 },
      { statement: statement(), ssh: 1 },
      { statement: statement(), passkey: {} },
    ].map((signature): [string, OtherDraft[]] => [
      `the signature ${JSON.stringify(signature).slice(0, 40)}`,
      [
        enrolled(),
        asked(),
        forged(
          'gov.approval/1',
          {
            id: 'apr_1',
            runId,
            evaluationId: 'pev_1',
            outcome: 'approved',
            approver: 'key_ada',
            at,
            signed: { approverId: 'apv_1', statementHash: statementHash(statement()) },
          },
          { '/signature': signature as never },
        ),
      ],
    ]),
  ])('the verifier refuses %s, and does not throw', (_, leaves) => {
    expect(check(leaves)).toMatchObject(refused('expected'));
  });
});
