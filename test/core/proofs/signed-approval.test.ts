/** The check `escalations_signed`: which signatures let a call run, and which do not. */
import { afterAll, describe, expect, it } from 'vitest';
import { Approvers } from '../../../src/core/approvals/signature.ts';
import { statementHash, statementText, type Statement } from '../../../src/core/approvals/statement.ts';
import { PolicyCompliance, type DecidedLeaf } from '../../../src/core/proofs/compliance.ts';
import { SshSigner } from '../../support/signers.ts';
import { approval, evaluated, search, set } from './story.ts';

const ssh = new SshSigner();
afterAll(() => ssh.end());
const log = { origin: 'log.example', runId: 'run-1' };
const key = {
  kind: 'ssh' as const,
  principal: 'key_2',
  publicKey: ssh.publicKey.split(' ', 2).join(' '),
  passkey: null,
};
const at = '2026-01-01T12:00:00.000Z';

const signed = (changes: Partial<Statement> = {}): Partial<DecidedLeaf> => {
  const statement = statementText({
    ...log,
    approvalId: 'apr_1',
    evaluationId: 'pev_1',
    outcome: 'approved',
    approverId: 'apv_1',
    principal: approval.requestedBy,
    tool: { name: 'search' },
    argumentsHash: search.argumentsHash,
    shownHash: search.argumentsHash,
    policies: [],
    policySetHash: set.policySetHash,
    expiresAt: approval.expiresAt,
    comment: null,
    nonce: 'AAAAAAAAAAAAAAAAAAAAAA',
    ...changes,
  });
  return {
    reason: null,
    signed: { approverId: 'apv_1', statementHash: statementHash(statement) },
    signature: { statement, ssh: ssh.sign(statement) },
  };
};

/** The checks that fail for an escalation in leaf 10, its approval in leaf 20, and its call in leaf 30. */
function failed(decided: Partial<DecidedLeaf>, { enrolled = 5, revoked = Infinity, required = true } = {}) {
  const approvers = new Approvers();
  const change = { approverId: 'apv_1', at, actor: null };
  approvers.add(enrolled, { ...change, event: 'enrolled', key, name: 'Ada' });
  if (revoked !== Infinity) approvers.add(revoked, { ...change, event: 'revoked', key: null, name: null });
  const compliance = new PolicyCompliance({ ...log, approvers });
  const opened = required ? { ...approval, signatureRequired: true as const } : approval;
  compliance.evaluation(evaluated({ combined: 'escalate', approval: opened }));
  const decision = {
    id: 'apr_1',
    evaluationId: 'pev_1',
    outcome: 'approved',
    approver: 'key_2',
    at,
  } as const;
  compliance.approval({ index: 20, ...decision, ...decided });
  const call = { evaluationId: 'pev_1', policyActive: true, serverMs: 0, call: search };
  compliance.governed({ index: 30, ...call });
  return compliance.finish().checks.flatMap(({ id, pass }) => (pass ? [] : [id]));
}

describe('the check escalations_signed', () => {
  it('a signature lets the call run from an enrolment before the request until the leaf before the revocation', () => {
    expect(failed(signed())).toEqual([]);
    expect(failed(signed(), { enrolled: 9, revoked: 21 })).toEqual([]);
  });

  it('a call fails whose approval nobody signed, where a policy requires it, and passes where none does', () => {
    expect(failed({})).toEqual(['escalations_signed']);
    expect(failed({}, { required: false })).toEqual([]);
  });

  it.each([
    ['is enrolled in the leaf that asked', { enrolled: 10 }],
    ['is enrolled after the request', { enrolled: 11 }],
    ['is revoked in the leaf of the decision', { revoked: 20 }],
    ['is revoked before the decision', { revoked: 19 }],
  ])('a call fails whose approver %s, also where no policy requires a signature', (_, life) => {
    expect(failed(signed(), life)).toEqual(['escalations_signed']);
    expect(failed(signed(), { ...life, required: false })).toEqual(['escalations_signed']);
  });

  it.each<[keyof Statement, Partial<Statement>]>([
    ['origin', { origin: 'other.example' }],
    ['runId', { runId: 'run-2' }],
    ['approvalId', { approvalId: 'apr_2' }],
    ['evaluationId', { evaluationId: 'pev_2' }],
    ['outcome', { outcome: 'denied' }],
    ['approverId', { approverId: 'apv_2' }],
    ['principal', { principal: 'key_3' }],
    ['tool', { tool: { name: 'pay' } }],
    ['argumentsHash', { argumentsHash: 'sha256:11' }],
    ['policySetHash', { policySetHash: 'sha256:11' }],
    ['expiresAt', { expiresAt: '2027-01-01T00:00:00.000Z' }],
    ['comment', { comment: 'another one' }],
  ])('a call fails whose signature is over a statement with another %s', (_, changes) => {
    expect(failed(signed(changes))).toEqual(['escalations_signed']);
  });

  it('a call fails whose signature was forged, erased, or moved to another statement', () => {
    const { signed: said, signature } = signed();
    const statement = signature?.statement ?? '';
    const forgedText = ssh.sign(`${statement} `);
    expect(failed({ signed: said!, signature: { statement, ssh: forgedText } })).toEqual([
      'escalations_signed',
    ]);
    expect(failed({ signed: said! })).toEqual(['escalations_signed']);
    const other = signed({ nonce: 'BBBBBBBBBBBBBBBBBBBBBA' });
    expect(failed({ signed: said!, signature: other.signature! })).toEqual(['escalations_signed']);
  });
});
