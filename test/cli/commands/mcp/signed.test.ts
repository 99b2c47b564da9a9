/** An agent that answers the question about an approval itself, where a policy requires the signature of a person. */
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { SshSigner } from '../../../support/signers.ts';
import { envelope2026, startProxy, textIn } from '../../support/mcp.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane({
    extraKeys: { approver: { scopes: ['approvals:decide', 'governance:read'] } },
  });
  plane.write('p/sign.policy', 'escalate "sign" high signed\nwhen tool.name == "pay"');
  await plane.json('policy create p --publish');
});
afterAll(() => plane.end());

it('mcp proxy runs a call that needs a signature only once a person signed, whatever the agent answers', async () => {
  const approver = { env: { GOV_API_KEY: plane.keys['approver'] ?? '' } };
  const ada = new SshSigner();
  onTestFinished(() => ada.end());
  expect((await plane.gov(`approvers add Ada --ssh-key ${ada.file}`, approver)).code).toBe(0);
  const proxied = startProxy({ env: { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key } });
  onTestFinished(() => void proxied.child.kill('SIGKILL'));
  await proxied.ask(0, 'initialize', {
    protocolVersion: '2025-11-25',
    clientInfo: { name: 'agent', version: '1' },
  });
  await proxied.ask('list', 'tools/list');
  const params = { name: 'pay', arguments: { amount: 51 }, _meta: envelope2026 };
  const { result } = await proxied.ask(1, 'tools/call', params);
  const approvalId = String(result.requestState).replace('gov:', '');
  let id = 1;
  const answered = (content: object, by = 'accept') =>
    proxied.ask((id += 1), 'tools/call', {
      ...params,
      requestState: result.requestState,
      inputResponses: { approval: { action: by, content } },
    });
  for (const content of [
    {},
    { approve: true },
    { outcome: 'approved', signature: { approverId: 'apv_1', ssh: 'x' } },
  ])
    expect((await answered(content)).result).toMatchObject({ isError: true });
  // a decision by the key alone does not help either
  expect((await plane.gov(`approvals approve ${approvalId}`, approver)).stderr).toContain(
    'expected a signature',
  );
  expect((await answered({})).result).toMatchObject({ isError: true });
  expect(proxied.reached()).not.toContain('pay');
  expect((await plane.gov(`approvals approve ${approvalId} --ssh-key ${ada.file}`, approver)).code).toBe(0);
  expect(textIn(await answered({}))).toBe('paid');
});
