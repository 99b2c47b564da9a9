import { afterAll, describe, expect, it } from 'vitest';
import {
  approvalFault,
  type ApprovalFacts,
  Approvers,
  factsOfCall,
  signatureFault,
} from '../../../src/core/approvals/signature.ts';
import { statementHash, statementText, type Statement } from '../../../src/core/approvals/statement.ts';
import { shownOf } from '../../../src/core/decided/view.ts';
import { shownHash } from '../../../src/core/decided/view-hash.ts';
import type { EnrolledKey } from '../../../src/core/decided/approver.ts';
import { SshSigner } from '../../support/signers.ts';
import { byPasskey, bySsh } from '../proofs/signed-log.ts';

const ssh = new SshSigner();
afterAll(() => ssh.end());
const ada = bySsh(ssh);
const hash = `sha256:${'a'.repeat(64)}`;

const change = (event: 'enrolled' | 'revoked', key: EnrolledKey | null = ada.key) => ({
  approverId: 'apv_1',
  event,
  at: '2026-01-01T00:00:00.000Z',
  key: event === 'enrolled' ? key : null,
  name: 'Ada',
  actor: null,
});
const members: Omit<Statement, 'type'> = {
  origin: 'log.example',
  approvalId: 'apr_1',
  evaluationId: 'pev_1',
  runId: 'run-1',
  outcome: 'approved',
  approverId: 'apv_1',
  principal: 'key_agent',
  tool: { name: 'pay', server: 'bank' },
  argumentsHash: hash,
  shownHash: hash,
  policies: [],
  policySetHash: hash,
  expiresAt: '2026-01-02T00:00:00.000Z',
  comment: null,
  nonce: 'AAAAAAAAAAAAAAAAAAAAAA',
};
const facts: ApprovalFacts = {
  origin: 'log.example',
  evaluationId: 'pev_1',
  runId: 'run-1',
  openedIndex: 10,
  opened: { id: 'apr_1', requestedBy: 'key_agent', expiresAt: '2026-01-02T00:00:00.000Z' },
  policySetHash: hash,
  call: factsOfCall({ tool: { name: 'pay', server: 'bank' }, argumentsHash: hash }),
  seen: null,
};
const signed = (changes: Partial<Statement> = {}) => {
  const statement = statementText({ ...members, ...changes });
  return {
    id: 'apr_1',
    evaluationId: 'pev_1',
    outcome: 'approved' as const,
    approver: 'key_ada',
    at: '2026-01-01T12:00:00.000Z',
    reason: null,
    index: 20,
    signed: { approverId: 'apv_1', statementHash: statementHash(statement) },
    signature: { statement, ...ada.sign(statement) },
  };
};
const enrolled = (enrol = 5, revoke = Infinity) => {
  const approvers = new Approvers();
  approvers.add(enrol, change('enrolled'));
  if (revoke !== Infinity) approvers.add(revoke, change('revoked'));
  return approvers.get('apv_1');
};

describe('the approvers of a log', () => {
  it('an approver is enrolled once and revoked once, whatever later leaves say', () => {
    const approvers = new Approvers();
    expect(approvers.get('apv_1')).toBeUndefined();
    approvers.add(3, change('revoked'));
    expect(approvers.get('apv_1')).toBeUndefined();
    approvers.add(4, change('enrolled'));
    approvers.add(5, change('enrolled', byPasskey('EdDSA').key));
    approvers.add(6, change('revoked'));
    approvers.add(7, change('revoked'));
    expect(approvers.get('apv_1')).toMatchObject({ kind: 'ssh', enrolledIndex: 4, revokedIndex: 6 });
  });

  it('an enrolment without a key enrols nobody', () => {
    const approvers = new Approvers();
    approvers.add(4, change('enrolled', null));
    expect(approvers.get('apv_1')).toBeUndefined();
  });
});

describe('the signature of an approval', () => {
  const statement = statementText(members);

  it.each([
    ['an SSH key', ada],
    ['a passkey', byPasskey('ES256')],
  ])('%s signs the statement, and not another one', (_, { key, sign }) => {
    expect(signatureFault({ statement, ...sign(statement) }, key)).toBeNull();
    expect(signatureFault({ statement: `${statement} `, ...sign(statement) }, key)).toMatch(/^expected /);
  });

  it('a signature of the other kind of key, or of none, is refused', () => {
    const passkey = byPasskey('ES256');
    expect(signatureFault({ statement, ...passkey.sign(statement) }, ada.key)).toContain('SSH key');
    expect(signatureFault({ statement, ...ada.sign(statement) }, passkey.key)).toContain('passkey');
    expect(signatureFault({ statement }, ada.key)).toContain('SSH key');
    const without = { ...passkey.key, passkey: null };
    expect(signatureFault({ statement, ...passkey.sign(statement) }, without)).toContain('passkey');
  });
});

describe('a signed decision', () => {
  it('a decision holds from an enrolment before its request until the leaf before the revocation', () => {
    expect(approvalFault(signed(), enrolled(), facts)).toBeNull();
    expect(approvalFault(signed(), enrolled(9, 21), facts)).toBeNull();
    expect(approvalFault(signed(), enrolled(10), facts)).toContain('enrolled before leaf 10');
    expect(approvalFault(signed(), enrolled(5, 20), facts)).toContain('revoked by leaf 20');
  });

  it('a decision without its signature, its statement or its approver is refused', () => {
    const { signed: said, signature, ...rest } = signed();
    expect(approvalFault(rest, enrolled(), facts)).toContain('expected a signature');
    expect(approvalFault({ ...rest, signed: said }, enrolled(), facts)).toContain('erased or withheld');
    expect(approvalFault(signed(), undefined, facts)).toContain('unknown');
    const moved = { ...said, statementHash: statementHash('{}') };
    expect(approvalFault({ ...rest, signed: moved, signature }, enrolled(), facts)).toContain(
      'hash in the leaf',
    );
  });

  it.each<[string, Partial<Statement>]>([
    ['origin', { origin: 'other.example' }],
    ['runId', { runId: 'run-2' }],
    ['approvalId', { approvalId: 'apr_2' }],
    ['evaluationId', { evaluationId: 'pev_2' }],
    ['outcome', { outcome: 'denied' }],
    ['approverId', { approverId: 'apv_2' }],
    ['principal', { principal: 'key_3' }],
    ['policySetHash', { policySetHash: 'sha256:11' }],
    ['expiresAt', { expiresAt: '2027-01-01T00:00:00.000Z' }],
    ['comment', { comment: 'another one' }],
    ['tool', { tool: { name: 'mail', server: 'bank' } }],
    ['tool', { tool: { name: 'pay', server: 'mallory' } }],
    ['tool', { tool: null }],
    ['argumentsHash', { argumentsHash: null }],
  ])('a statement with another %s is about another decision', (name, changes) => {
    expect(approvalFault(signed(changes), enrolled(), facts)).toBe(
      `expected the statement of this decision, got another ${name}`,
    );
  });

  it('where only the name of the tool is known, its server is not compared; where the call was erased, neither is', () => {
    const other = signed({ tool: { name: 'pay', server: 'mallory' } });
    const named = { ...facts, call: { tool: 'pay', argumentsHash: hash } };
    expect(approvalFault(other, enrolled(), named)).toBeNull();
    expect(approvalFault(signed({ tool: null }), enrolled(), { ...facts, call: null })).toBeNull();
  });

  describe('that binds the second view', () => {
    const input = { tool: { name: 'pay', server: 'bank' }, arguments: { note: 'bob\u3164', card: 'x' } };
    const seen = { input, isCall: true };
    const shown = shownHash(shownOf(input, seen));
    const second = { view: 2, hidden: 1, shownHash: shown } as const;

    it('holds where the recorded call, or the hash of its view, is the one that was shown', () => {
      for (const known of [seen, { hash: shown }, null])
        expect(approvalFault(signed(second), enrolled(), { ...facts, seen: known })).toBeNull();
    });

    it('is refused where the approver was shown another call', () => {
      const other = { ...second, shownHash: hash };
      for (const known of [seen, { hash: shown }])
        expect(approvalFault(signed(other), enrolled(), { ...facts, seen: known })).toContain(
          'another shownHash',
        );
    });

    it('holds with masked values only in their places', () => {
      const masked = { '/arguments/card': 'hmac-sha256:00' };
      const replaced = { redacted: true, fingerprint: 'hmac-sha256:00' };
      const view = { ...input, arguments: { ...input.arguments, card: replaced } };
      const said = { ...second, masked, shownHash: shownHash(shownOf(view, seen)) };
      const judge = (changes: Partial<Statement>, known: ApprovalFacts['seen'] = seen) =>
        approvalFault(signed({ ...said, ...changes }), enrolled(), { ...facts, seen: known });
      expect(judge({})).toBeNull();
      expect(judge({}, { hash: shown })).toBeNull();
      expect(judge({ masked: {} })).toContain('another shownHash');
      expect(judge({ masked: { ...masked, '/arguments/note': 'hmac-sha256:00' } })).toContain(
        'another shownHash',
      );
      expect(judge({ masked: { '/arguments/none': 'hmac-sha256:00' } })).toContain('another masked');
    });

    it.each([
      ['view', { view: 3 }],
      ['view', { view: '2' }],
      ['view', { view: null }],
      ['hidden', { hidden: -1 }],
      ['hidden', { hidden: null }],
      ['masked', { masked: [] }],
      ['masked', { masked: { '/arguments/card': 1 } }],
    ])('is refused with another form of %s: %j', (name, changes) => {
      const told = signed({ ...second, ...changes } as Partial<Statement>);
      expect(approvalFault(told, enrolled(), facts)).toContain(`another ${name}`);
    });

    it('a statement without a view is not compared with what was recorded, as before', () => {
      expect(approvalFault(signed(), enrolled(), { ...facts, seen })).toBeNull();
    });
  });

  it('a comment that was erased is not compared', () => {
    const { reason: _, ...erased } = signed({ comment: 'anything' });
    expect(approvalFault(erased, enrolled(), facts)).toBeNull();
  });
});
