import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  readStatement,
  statementHash,
  statementText,
  type Statement,
} from '../../../src/core/approvals/statement.ts';

const members: Omit<Statement, 'type'> = {
  origin: 'log.example/prj/audit',
  approvalId: 'apr_1',
  evaluationId: 'pev_1',
  runId: 'run-1',
  outcome: 'approved',
  approverId: 'apv_1',
  principal: 'key_agent',
  tool: { server: 'bank', name: 'pay' },
  argumentsHash: 'sha256:00',
  shownHash: 'sha256:01',
  policies: [{ version: 1, policyId: 'ask', policyHash: null }],
  policySetHash: 'sha256:02',
  expiresAt: '2026-01-02T00:00:00.000Z',
  comment: null,
  nonce: 'AAAAAAAAAAAAAAAAAAAAAA',
};
/** Typed by hand from RFC 8785: members sorted, no whitespace. */
const text =
  '{"approvalId":"apr_1","approverId":"apv_1","argumentsHash":"sha256:00","comment":null,"evaluationId":"pev_1",' +
  '"expiresAt":"2026-01-02T00:00:00.000Z","nonce":"AAAAAAAAAAAAAAAAAAAAAA","origin":"log.example/prj/audit",' +
  '"outcome":"approved","policies":[{"policyHash":null,"policyId":"ask","version":1}],"policySetHash":"sha256:02",' +
  '"principal":"key_agent","runId":"run-1","shownHash":"sha256:01","tool":{"name":"pay","server":"bank"},' +
  '"type":"gov.approval-statement/1"}';
const sha256 = (preimage: string): string => `sha256:${createHash('sha256').update(preimage).digest('hex')}`;

describe('the statement of an approval', () => {
  it('the statement is one text, whatever the order of its members, and its hash is that of sha256sum', () => {
    expect(statementText(members)).toBe(text);
    const reversed = Object.fromEntries(Object.entries(members).toReversed()) as typeof members;
    expect(statementText(reversed)).toBe(text);
    expect(statementHash(text)).toBe(sha256(text));
  });

  it('a statement that was read has the members that were written', () => {
    expect(readStatement(text)).toEqual({ ...members, type: 'gov.approval-statement/1' });
  });

  it.each([
    ['a text that is no JSON', 'approve'],
    ['an empty text', ''],
    ['a list', '[]'],
    ['another type', text.replace('statement/1', 'statement/2')],
    ['no type', '{}'],
    ['a blank that RFC 8785 does not write', text.replace(':null', ': null')],
    ['members in another order', `{"type":"gov.approval-statement/1","approvalId":"apr_1"}`],
    ['a member twice', text.replace('{"approvalId"', '{"approvalId":"apr_2","approvalId"')],
    ['a text behind its end', `${text}\n`],
  ])('%s is no statement', (_, given) => {
    expect(readStatement(given)).toBeNull();
  });

  it('a statement with the members of the second view is one text, too', () => {
    const masked = { '/arguments/card': 'hmac-sha256:00' };
    const second = statementText({ ...members, view: 2, hidden: 13, masked });
    expect(second).toContain(',"hidden":13,"masked":{"/arguments/card":"hmac-sha256:00"},"nonce":');
    expect(readStatement(second)).toEqual({
      ...members,
      view: 2,
      hidden: 13,
      masked,
      type: 'gov.approval-statement/1',
    });
  });
});
