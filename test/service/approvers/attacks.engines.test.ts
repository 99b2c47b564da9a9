/** Signed approvals, and the ways to forge one: the service refuses each, and a proof shows those that bypass the service. */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { statementText } from '../../../src/core/approvals/statement.ts';
import { shownHash } from '../../../src/core/decided/view-hash.ts';
import { argumentsHash } from '../../../src/core/decided/evaluation.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { SshSigner, userPresent, VirtualPasskey } from '../../support/signers.ts';
import { governing } from '../support/governed.ts';

const origin = 'https://gov.example';
let plane: TestPlane;
let gov: ReturnType<typeof governing>;
const realNow = Date.now;
let aheadMs = 0;
const passkey = new VirtualPasskey(origin);
const ssh = new SshSigner();
const stranger = new SshSigner();
/** Approver ids by name. */
const approvers: Record<string, string> = {};

beforeAll(async () => {
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
  const decides = ['governance:read', 'approvals:decide'] as const;
  plane = await startPlane({
    extraKeys: {
      person: { scopes: decides },
      second: { scopes: decides },
      agent: { scopes: ['tools:evaluate', 'governance:read', 'approvals:decide'] },
    },
  });
  gov = governing(plane);
  await publish('ask-pay', 'pay', true);
  await publish('ask-mail', 'mail', false);
  approvers['passkey'] = await enrolPasskey(passkey, 'person');
  approvers['ssh'] = await enrolSsh(ssh, 'second');
});
afterAll(async () => {
  vi.restoreAllMocks();
  await plane.end();
  ssh.end();
  stranger.end();
});

async function publish(policyId: string, tool: string, requireSignedApproval: boolean): Promise<void> {
  const condition = { '==': [{ var: 'tool.name' }, tool] };
  const version = { condition, action: 'escalate', requireSignedApproval };
  const made = await plane.call('POST', '/governance/policies', {
    body: { policyId, name: policyId, ...version },
  });
  if (made.status !== 201) await gov.must('POST', `/governance/policies/${policyId}/versions`, version);
  await gov.must('POST', `/governance/policies/${policyId}/publish`, {});
}
async function enrolPasskey(authenticator: VirtualPasskey, as: string): Promise<string> {
  const options = await gov.must('POST', '/approvers/challenge', { name: 'Ada', origin }, plane.keys[as]);
  const body = { name: 'Ada', passkey: authenticator.create(options.challenge) };
  return (await gov.must('POST', '/approvers', body, plane.keys[as])).approverId;
}
async function enrolSsh(signer: SshSigner, as: string): Promise<string> {
  const body = { name: 'Grace', ssh: { publicKey: signer.publicKey } };
  return (await gov.must('POST', '/approvers', body, plane.keys[as])).approverId;
}

let runs = 0;
/** A call that waits for an approval. */
async function asked(tool = 'pay', given: Record<string, unknown> = { amount: 5 }) {
  const call = {
    tool: { name: tool, server: 'bank', schemaHash: 'sha256:a' },
    arguments: given,
    runId: `signed-${(runs += 1)}`,
  };
  const { approvalId } = await gov.must('POST', '/mcp/tools/evaluate', call);
  return { call, approvalId: approvalId as string };
}
type Key = 'passkey' | 'ssh';
const owner = { passkey: 'person', ssh: 'second' } as const;
const state = (approvalId: string, key: Key, outcome = 'approved', more: Record<string, unknown> = {}) =>
  plane.call('POST', `/approvals/${approvalId}/statement`, {
    body: { outcome, approverId: approvers[key], ...more },
    key: plane.keys[owner[key]] ?? '',
  });
const decide = (approvalId: string, signature: unknown, more: Record<string, unknown> = {}, as = 'person') =>
  plane.call('POST', `/approvals/${approvalId}/decision`, {
    body: { outcome: 'approved', signature, ...more },
    key: plane.keys[as] ?? '',
  });
/** A signature by the passkey of a person. */
async function byPasskey(approvalId: string, lies = {}, outcome = 'approved') {
  const { challenge } = (await state(approvalId, 'passkey', outcome)).body.passkey;
  passkey.counter += 1;
  return { approverId: approvers['passkey'], passkey: passkey.get(challenge, lies) };
}
async function bySsh(approvalId: string, options = {}) {
  const { statement } = (await state(approvalId, 'ssh')).body;
  return { approverId: approvers['ssh'], ssh: ssh.sign(statement, options) };
}
/** The call runs after its approval, and the layer of its proof. */
async function ran({ call }: { call: Record<string, unknown> & { runId: string } }) {
  const decided = await gov.tool(call.runId, (call['tool'] as { name: string }).name, call);
  expect(decided.decision).toBe('allow');
  await gov.ran(
    call.runId,
    { evaluationId: decided.evaluationId, argumentsHash: decided.argumentsHash },
    undefined,
    (call['tool'] as { name: string }).name,
  );
  return gov.layer(call.runId, 'policy_compliance');
}
const refused = (status: number, text: string) => ({
  status,
  body: expect.objectContaining({ detail: expect.stringContaining(text) }),
});

describe('signed approvals', () => {
  it('a passkey signs exactly the escalated call, and the call runs once', async () => {
    const waiting = await asked();
    const shown = await gov.must('GET', `/approvals/${waiting.approvalId}`);
    expect(shown).toMatchObject({ signatureRequired: true, signature: null });
    const { statement, hash } = (await state(waiting.approvalId, 'passkey')).body;
    expect(JSON.parse(statement)).toMatchObject({
      type: 'gov.approval-statement/1',
      approvalId: waiting.approvalId,
      outcome: 'approved',
      principal: shown.requestedBy,
      tool: waiting.call.tool,
      argumentsHash: argumentsHash({ amount: 5 }).hash,
      shownHash: shownHash(shown),
      view: 2,
      hidden: 0,
      policies: [{ policyId: 'ask-pay', version: expect.any(Number), policyHash: expect.any(String) }],
    });
    expect(hash).toMatch(/^sha256:/);
    const decided = await decide(waiting.approvalId, await byPasskey(waiting.approvalId));
    expect(decided.body).toMatchObject({
      status: 'approved',
      signature: { approverId: approvers['passkey'], kind: 'passkey', name: 'Ada' },
    });
    const layer = await ran(waiting);
    expect([layer.verified, layer.failed]).toEqual([true, []]);
    expect(layer.claims['approvals']).toMatchObject({ listed: [{ signed: approvers['passkey'] }] });
  });

  it('an SSH key signs, too, with SHA-256 and SHA-512', async () => {
    for (const hash of ['sha256', 'sha512']) {
      const waiting = await asked();
      const signature = await bySsh(waiting.approvalId, { hash });
      expect((await decide(waiting.approvalId, signature, {}, 'second')).status).toBe(200);
      expect((await ran(waiting)).failed).toEqual([]);
    }
  });

  it('a policy without the setting takes a decision that rests on a key alone, and the approval says so', async () => {
    const waiting = await asked('mail');
    const decided = await decide(waiting.approvalId, undefined);
    expect(decided.body).toMatchObject({ status: 'approved', signature: null, signatureRequired: false });
    const layer = await ran(waiting);
    expect([layer.failed, JSON.stringify(layer.claims)]).toEqual([[], expect.not.stringContaining('signed')]);
  });

  it('a policy with the setting refuses an approval without a signature, and takes a denial without one', async () => {
    const { approvalId } = await asked();
    expect(await decide(approvalId, undefined)).toMatchObject(refused(400, 'only a signed approval'));
    expect((await decide(approvalId, undefined, { outcome: 'denied' })).body.status).toBe('denied');
  });

  it('the comment is part of what is signed', async () => {
    const { approvalId } = await asked();
    const signature = await byPasskey(approvalId);
    expect(await decide(approvalId, signature, { comment: 'not hers' })).toMatchObject(
      refused(400, 'challenge'),
    );
  });
});

describe('a forged approval is refused', () => {
  it.each([
    ['another call', {}],
    ['the same call with another argument', { arguments: { amount: 500 } }],
  ])('a signature replayed for %s', async (_, change) => {
    const [first, other] = [await asked(), await asked('pay', { amount: 5, ...change })];
    const signature = await byPasskey(first.approvalId);
    expect((await decide(first.approvalId, signature)).status).toBe(200);
    expect(await decide(other.approvalId, signature)).toMatchObject(refused(400, 'challenge'));
    expect(await decide(first.approvalId, signature)).toMatchObject(refused(409, 'pending'));
  });

  it.each([
    ['an argument', { arguments: { amount: 500 } }],
    ['the definition of the tool', { tool: { name: 'pay', server: 'bank', schemaHash: 'sha256:b' } }],
    ['the server', { tool: { name: 'pay', server: 'mallory', schemaHash: 'sha256:a' } }],
  ])('a call that changes %s after its approval was signed', async (_, change) => {
    const { call, approvalId } = await asked();
    await decide(approvalId, await byPasskey(approvalId));
    const again = await gov.must('POST', '/mcp/tools/evaluate', { ...call, ...change });
    expect(again).toMatchObject({ decision: 'escalate', allowed: false });
    expect(again.approvalId).not.toBe(approvalId);
  });

  it('a call whose policies were published again after its approval was signed', async () => {
    const { call, approvalId } = await asked();
    await decide(approvalId, await byPasskey(approvalId));
    await publish('ask-pay', 'pay', true);
    const again = await gov.must('POST', '/mcp/tools/evaluate', call);
    expect(again).toMatchObject({ decision: 'escalate', allowed: false });
    expect(again.approvalId).not.toBe(approvalId);
  });

  it('a denial that is used as an approval', async () => {
    const { approvalId } = await asked();
    const signature = await byPasskey(approvalId, {}, 'denied');
    expect(await decide(approvalId, signature)).toMatchObject(refused(400, 'challenge'));
  });

  it.each([
    ['another origin', { origin: 'https://evil.example' }, 'origin'],
    ['another relying party', { rpId: 'evil.example' }, 'relying party'],
    ['no check of the person', { flags: userPresent }, 'user verified'],
    ['the frame of another page', { client: { crossOrigin: true } }, 'frame'],
  ])('a passkey with %s', async (_, lies, text) => {
    const { approvalId } = await asked();
    expect(await decide(approvalId, await byPasskey(approvalId, lies))).toMatchObject(refused(400, text));
  });

  it('a copied passkey whose counter does not rise', async () => {
    const [first, second] = [await asked(), await asked()];
    expect((await decide(first.approvalId, await byPasskey(first.approvalId))).status).toBe(200);
    const { challenge } = (await state(second.approvalId, 'passkey')).body.passkey;
    const copied = { approverId: approvers['passkey'], passkey: passkey.get(challenge) };
    expect(await decide(second.approvalId, copied)).toMatchObject(refused(403, 'copied'));
  });

  it('an SSH signature in another namespace, by a key that nobody enrolled, or of another approver', async () => {
    const { approvalId } = await asked();
    const { statement } = (await state(approvalId, 'ssh')).body;
    const approverId = approvers['ssh'];
    const attempt = (signature: string) => decide(approvalId, { approverId, ssh: signature }, {}, 'second');
    expect(await attempt(ssh.sign(statement, { namespace: 'file' }))).toMatchObject(
      refused(400, 'namespace'),
    );
    expect(await attempt(stranger.sign(statement))).toMatchObject(refused(400, 'expected a signature by'));
    const foreign = { approverId: approvers['passkey'], ssh: ssh.sign(statement) };
    expect(await decide(approvalId, foreign, {}, 'second')).toMatchObject(refused(403, 'belongs'));
    const swapped = { approverId, passkey: (await byPasskey(approvalId)).passkey };
    expect(await decide(approvalId, swapped, {}, 'second')).toMatchObject(refused(400, 'SSH key'));
  });

  it('a statement for another log or project', async () => {
    const { approvalId } = await asked();
    const { statement } = (await state(approvalId, 'ssh')).body;
    const { type: _type, ...members } = JSON.parse(statement);
    const other = statementText({ ...members, origin: 'other.example/prj/audit' });
    const signature = { approverId: approvers['ssh'], ssh: ssh.sign(other) };
    expect(await decide(approvalId, signature, {}, 'second')).toMatchObject(refused(400, 'invalid'));
  });

  it('a signature of the key that asked, and an enrolment by it', async () => {
    const agent = new SshSigner();
    const approverId = await enrolSsh(agent, 'agent');
    const call = { tool: { name: 'pay' }, arguments: {}, runId: 'run-of-agent' };
    const { approvalId } = await gov.must('POST', '/mcp/tools/evaluate', call, plane.keys['agent']);
    const body = { outcome: 'approved', approverId };
    const stated = await plane.call('POST', `/approvals/${approvalId}/statement`, {
      body,
      key: plane.keys['agent'] ?? '',
    });
    const signature = { approverId, ssh: agent.sign(stated.body.statement ?? '{}') };
    expect(await decide(approvalId, signature, {}, 'agent')).toMatchObject(
      refused(403, 'another key than the one that asked'),
    );
    agent.end();
  });

  it('an answer of the agent to an elicitation, which is no signature', async () => {
    const { call, approvalId } = await asked();
    const answer = {
      ...call,
      context: { inputResponses: { approve: { action: 'accept', content: { ok: true } } } },
    };
    expect(await gov.must('POST', '/mcp/tools/evaluate', answer)).toMatchObject({ allowed: false });
    expect((await decide(approvalId, { action: 'accept' })).status).toBe(400);
  });

  it('an approver that was enrolled after the approval was asked for', async () => {
    const { approvalId } = await asked();
    const late = new SshSigner();
    const principal = (await gov.must('GET', `/approvers/${approvers['ssh']}`)).principal;
    const body = { name: 'Late', principal, ssh: { publicKey: late.publicKey } };
    const { approverId } = await gov.must('POST', '/approvers', body);
    const ask = { body: { outcome: 'approved', approverId }, key: plane.keys['second'] ?? '' };
    expect(await plane.call('POST', `/approvals/${approvalId}/statement`, ask)).toMatchObject(
      refused(403, 'enrolled later'),
    );
    const signature = { approverId, ssh: late.sign('{}') };
    expect(await decide(approvalId, signature, {}, 'second')).toMatchObject(refused(403, 'enrolled later'));
    late.end();
  });

  it('an approver that was revoked before the decision; a revocation after it changes nothing', async () => {
    const own = new SshSigner();
    const principal = (await gov.must('GET', `/approvers/${approvers['ssh']}`)).principal;
    const { approverId } = await gov.must('POST', '/approvers', {
      name: 'Own',
      principal,
      ssh: { publicKey: own.publicKey },
    });
    const [before, after] = [await asked(), await asked()];
    const signed = async (approvalId: string) => {
      const body = { outcome: 'approved', approverId };
      const { statement } = await gov.must(
        'POST',
        `/approvals/${approvalId}/statement`,
        body,
        plane.keys['second'],
      );
      return { approverId, ssh: own.sign(statement) };
    };
    const late = await signed(after.approvalId);
    expect((await decide(before.approvalId, await signed(before.approvalId), {}, 'second')).status).toBe(200);
    expect((await plane.call('DELETE', `/approvers/${approverId}`)).body).toMatchObject({
      status: 'revoked',
    });
    expect(await decide(after.approvalId, late, {}, 'second')).toMatchObject(refused(403, 'revoked'));
    expect((await ran(before)).failed).toEqual([]);
    own.end();
  });

  it('a decision after the clock moved beyond the expiry', async () => {
    const { approvalId } = await asked();
    const signature = await byPasskey(approvalId);
    aheadMs += limits.approvalHours * 3_600_000;
    expect(await decide(approvalId, signature)).toMatchObject(refused(409, 'expired'));
    expect((await state(approvalId, 'passkey')).status).toBe(409);
  });

  it('a key in the form of nothing', async () => {
    const { approvalId } = await asked();
    const { publicKey } = generateKeyPairSync('ed25519');
    const spki = publicKey.export({ format: 'der', type: 'spki' }).toString('base64url');
    for (const ssh of ['', spki, '-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----'])
      expect((await decide(approvalId, { approverId: approvers['ssh'], ssh }, {}, 'second')).status).toBe(
        400,
      );
  });
});
