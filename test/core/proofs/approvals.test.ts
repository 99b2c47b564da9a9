/** A log that lies about who signed an approval: each leaf is in its tree, and the verifier refuses what no key signed. */
import { afterAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { shownHash } from '../../../src/core/decided/view-hash.ts';
import { SshSigner } from '../../support/signers.ts';
import { result, verify } from './log.ts';
import {
  asked,
  askedBefore,
  byPasskey,
  bySsh,
  leavesOf,
  lies,
  secondView,
  signedBundle,
  signedByEach,
} from './signed-log.ts';

const ssh = new SshSigner();
afterAll(() => ssh.end());
const { enrolled, signed, statement } = leavesOf(bySsh(ssh));

describe('signed approvals that a log forges', () => {
  it('the verifier accepts the approval that the key signed', () => {
    const verdict = verify(signedBundle({ leaves: [enrolled(), asked(), signed()] }));
    expect([verdict.verified, verdict.compliant]).toEqual([true, 'yes']);
    expect(result(verdict, 'approval_signatures')).toMatchObject({
      result: 'passed',
      detail: expect.stringMatching(/^1 by Ada \(ssh, SHA256:\S+\)$/),
    });
  });

  it.each(lies(bySsh(ssh)))('the verifier refuses $name, and does not throw', ({ bundle, refused }) => {
    const verdict = verify(bundle);
    expect(verdict.verified).toBe(false);
    expect(result(verdict, 'approval_signatures')).toMatchObject({
      result: 'failed',
      code: 'SIGNATURE_INVALID',
      detail: expect.stringContaining(refused ?? ''),
    });
  });

  it('the verifier refuses a passkey in another spelling than the enrolled one', () => {
    const ada = byPasskey('ES256');
    const passkey = leavesOf(ada);
    const by = (publicKey: string) =>
      result(
        verify(signedBundle({ leaves: [passkey.enrolled({ publicKey }), asked(), passkey.signed()] })),
        'approval_signatures',
      );
    const { publicKey } = ada.key;
    expect(by(publicKey).result).toBe('passed');
    for (const text of [`${publicKey} `, publicKey.replace('M', '-M'), publicKey.replace(/=*$/, ''), ''])
      expect(by(text), text).toMatchObject({ code: 'SIGNATURE_INVALID' });
  });

  it('each kind of key that signs approvals verifies, and none with one byte of the signature changed', () => {
    const { cases, end } = signedByEach();
    end();
    for (const { name, bundle, refused } of cases) {
      const { result: got, detail } = result(verify(bundle), 'approval_signatures');
      expect([name, got]).toEqual([name, refused === null ? 'passed' : 'failed']);
      if (refused !== null) expect(detail, name).toContain(refused);
    }
    expect(cases.length).toBe(26);
  });

  it(`a bundle has at most ${limits.bundleApprovals} leaves of signed approvals`, () => {
    const bundle = signedBundle({ leaves: [enrolled(), asked(), signed()] });
    const of = (count: number) =>
      result(verify({ ...bundle, approvals: Array(count).fill(bundle.approvals![0]) }), 'format');
    expect(of(limits.bundleApprovals).result).toBe('passed');
    expect(of(limits.bundleApprovals + 1)).toMatchObject({
      result: 'failed',
      detail: expect.stringContaining(String(limits.bundleApprovals)),
    });
  });

  it.each([
    ['everything', []],
    ['the hash of its view', ['/checkpoint']],
    ['its input', ['/call']],
  ])('an approval whose statement binds what was shown verifies with %s of the call', (_, withheld) => {
    const leaves = [enrolled(), asked(), signed({}, statement(secondView))];
    const { result: got, detail } = result(verify(signedBundle({ leaves, withheld })), 'approval_signatures');
    expect([got, detail]).toEqual(['passed', expect.stringMatching(/^1 by Ada \(ssh, SHA256:\S+\)$/)]);
  });

  it('where values were masked and the input is withheld, the check says whose word the view is', () => {
    const masked = { '/arguments/amount': 'hmac-sha256:00' };
    const view = { redacted: true, fingerprint: 'hmac-sha256:00' };
    const shown = {
      tool: { name: 'pay', server: 'bank' },
      arguments: { amount: view },
      actor: null,
      context: {},
    };
    const text = statement({ ...secondView, masked, shownHash: shownHash(shown) });
    const leaves = [enrolled(), asked(), signed({}, text)];
    const check = (withheld: readonly string[]) =>
      result(verify(signedBundle({ leaves, withheld })), 'approval_signatures');
    expect(check(['/checkpoint'])).toMatchObject({
      result: 'passed',
      detail: expect.stringContaining(
        'what was shown is by the word of the log for leaf 3: values were masked',
      ),
    });
    expect(check([])).toMatchObject({
      result: 'passed',
      detail: expect.not.stringContaining('word of the log'),
    });
  });

  it('an approval of an older log, whose leaf lacks the hash of the view, verifies', () => {
    const older = asked();
    const disclosures = JSON.parse(older.disclosures ?? '[]') as [string, string, Record<string, unknown>][];
    const call = disclosures.find(([, pointer]) => pointer === '/call')?.[2];
    expect(call).toMatchObject({ shownHash: secondView.shownHash });
    for (const withheld of [[], ['/checkpoint']]) {
      const leaves = [enrolled(), askedBefore(), signed()];
      expect(result(verify(signedBundle({ leaves, withheld })), 'approval_signatures').result).toBe('passed');
    }
  });

  it('where the call is withheld, the check says that the log vouches for it, and never that it passed', () => {
    const withheld = ['/call', '/checkpoint'];
    const leaves = [enrolled(), asked(), signed({}, statement({ tool: { name: 'other' } }))];
    const verdict = verify(signedBundle({ leaves, withheld }));
    expect(result(verdict, 'approval_signatures')).toMatchObject({
      result: 'not_checked',
      detail: expect.stringMatching(/^1 by Ada .* word of the log for leaf 3: /),
    });
  });
});
