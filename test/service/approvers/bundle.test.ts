/** A proof's bundle shows who signed, and its verifier needs nobody's word for it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { parseTrust } from '../../../src/core/note/trust.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import type { TaskContext } from '../../../src/service/call/work.ts';
import { encloseApprovals } from '../../../src/service/proofs/bundle-approvals.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { SshSigner } from '../../support/signers.ts';
import { governing } from '../support/governed.ts';

let plane: TestPlane;
let gov: ReturnType<typeof governing>;
const ssh = new SshSigner();
let approverId: string;
// oxlint-disable-next-line typescript/no-explicit-any -- a bundle as it was answered
let bundle: any;

beforeAll(async () => {
  plane = await startPlane({ extraKeys: { person: { scopes: ['governance:read', 'approvals:decide'] } } });
  gov = governing(plane);
  const version = { condition: {}, action: 'escalate', requireSignedApproval: true };
  await gov.must('POST', '/governance/policies', { policyId: 'ask', name: 'Ask', ...version });
  await gov.must('POST', '/governance/policies/ask/publish', {});
  const body = { name: 'Grace', ssh: { publicKey: ssh.publicKey } };
  ({ approverId } = await gov.must('POST', '/approvers', body, plane.keys['person']));
  bundle = await proved('signed-run');
});
afterAll(async () => {
  await plane.end();
  ssh.end();
});

/** A signed approval, the call that ran by it, and the bundle of its proof. */
async function proved(runId: string) {
  const { approvalId } = await gov.tool(runId, 'pay');
  const body = { outcome: 'approved', approverId };
  const { statement } = await gov.must(
    'POST',
    `/approvals/${approvalId}/statement`,
    body,
    plane.keys['person'],
  );
  const signature = { approverId, ssh: ssh.sign(statement) };
  await gov.must(
    'POST',
    `/approvals/${approvalId}/decision`,
    { outcome: 'approved', signature },
    plane.keys['person'],
  );
  const { evaluationId } = await gov.tool(runId, 'pay');
  await gov.ran(runId, { evaluationId });
  const layers = ['event_integrity', 'policy_compliance'];
  const { proofId } = await gov.must('POST', '/proofs', { runId, composed: { layers } });
  return gov.must('GET', `/proofs/${proofId}/bundle?events=records`);
}
const verify = (changed: unknown) =>
  verifyBundle(
    Buffer.from(JSON.stringify(changed)),
    parseTrust(readFileSync(join(plane.dataDir, 'trust'), 'utf8')),
  );
const signatures = (changed: unknown) =>
  verify(changed).checks.find(({ id }) => id === 'approval_signatures');

describe('signed approvals in a bundle', () => {
  it('the verifier checks each signature offline and names who signed', () => {
    const verdict = verify(bundle);
    expect([verdict.verified, verdict.compliant, verdict.approvals]).toEqual([
      true,
      'yes',
      { used: 1, once: true, signed: 1 },
    ]);
    expect(signatures(bundle)).toMatchObject({
      result: 'passed',
      detail: expect.stringMatching(/^1 by Grace \(ssh, SHA256:/),
    });
  });

  it('a bundle without the leaves says that the log alone vouches for the signature', () => {
    const { approvals: _, ...without } = bundle;
    expect(verify(without).verified).toBe(true);
    expect(signatures(without)).toMatchObject({
      result: 'not_checked',
      detail: expect.stringContaining('by the word of the log'),
    });
  });

  it.each([0, 1, 2])('the verifier rejects a bundle that lacks leaf number %s of a signed approval', (at) => {
    const changed = {
      ...bundle,
      approvals: bundle.approvals.filter((_: unknown, each: number) => each !== at),
    };
    expect(bundle.approvals).toHaveLength(3);
    expect([verify(changed).verified, signatures(changed)?.code]).toEqual([false, 'SIGNATURE_INVALID']);
  });

  it('the verifier rejects a leaf, a disclosure or a signature that was changed or withheld', () => {
    for (const at of [0, 1, 2]) {
      const leaf = bundle.approvals[at];
      for (const change of [
        {
          record: leaf.record.replace(
            /"at":"\d|"evaluatedAt":"\d/,
            (text: string) => `${text.slice(0, -1)}9`,
          ),
        },
        { index: leaf.index + 1 },
        { inclusion: leaf.inclusion.slice(1) },
        ...(leaf.disclosures === undefined ? [] : [{ disclosures: [`${leaf.disclosures[0]}A`] }]),
      ]) {
        const approvals = bundle.approvals.with(at, { ...leaf, ...change });
        expect([verify({ ...bundle, approvals }).verified, JSON.stringify(change).slice(0, 40)]).toEqual([
          false,
          expect.any(String),
        ]);
      }
    }
    const signed = bundle.approvals.findIndex(({ record }: { record: string }) =>
      record.includes('gov.approval/1'),
    );
    const { disclosures: _, ...withheld } = bundle.approvals[signed];
    expect(signatures({ ...bundle, approvals: bundle.approvals.with(signed, withheld) })).toMatchObject({
      result: 'failed',
      detail: expect.stringContaining('erased or withheld'),
    });
  });
});

describe('the leaves of signed approvals in a bundle', () => {
  /** A run with signed approvals by one approver: a leaf each, and that of the approver. */
  function contextOf(approvals: number): TaskContext {
    const leaf = (index: number, record: object) => ({
      index,
      record: JSON.stringify(record),
      disclosures: null,
    });
    const approver = leaf(0, { approverId: 'apv_1' });
    const signed = Array.from({ length: approvals }, (_, at) =>
      leaf(at + 1, { signed: { approverId: 'apv_1' } }),
    );
    return {
      breathe: () => Promise.resolve(),
      reader: {
        leafOf: () => Promise.resolve(null),
        leavesOf: (_project: string, { type }: { type: string }, { after = -1, limit = 0 }) => {
          const all = type === 'gov.approver/1' ? [approver] : signed;
          return Promise.resolve(all.filter(({ index }) => index > after).slice(0, limit));
        },
        tiles: (_project: string, _tree: string, plan: readonly { width: number }[]) =>
          Promise.resolve(plan.map(({ width }) => new Uint8Array(width * 32))),
      },
    } as unknown as TaskContext;
  }

  it(`a bundle with ${limits.bundleApprovals} of them is made, and one more is refused with what to do`, async () => {
    const made = (leaves: number) =>
      encloseApprovals(contextOf(leaves - 1), { projectId: 'prj_1', runId: 'r', treeSize: leaves });
    expect(await made(limits.bundleApprovals)).toHaveLength(limits.bundleApprovals);
    await expect(made(limits.bundleApprovals + 1)).rejects.toThrow(
      `expected at most ${limits.bundleApprovals} leaves of signed approvals in a bundle, got ${limits.bundleApprovals + 1}; ask for events=none`,
    );
  });
});
