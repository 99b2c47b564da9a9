/** The MCP proxy holds a call that waits for a person, where its client cannot ask one. */
import { expect, it, onTestFinished } from 'vitest';
import { startProxy } from '../../support/mcp.ts';
import { startPolicyPlane } from '../../support/policy-plane.ts';

it('mcp proxy with a key that may not read approvals holds an escalated call of 2025, lets later calls pass, and runs it after the approval', async () => {
  const plane = await startPolicyPlane({
    holdSeconds: 60,
    extraKeys: {
      agent: { scopes: ['tools:evaluate', 'events:write', 'events:read'] },
      approver: { scopes: ['approvals:decide', 'governance:read'] },
    },
  });
  plane.write(
    'p/ask.policy',
    'escalate "ask"\nwhen tool.name == "pay" && default(arguments.amount, 0) == 50',
  );
  await plane.json('policy create p --publish');
  const env = { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.keys['agent'] ?? '' };
  const proxied = startProxy({ env, flags: ['--name', 'till', '--run', 'held'] });
  onTestFinished(() => void proxied.child.kill('SIGKILL'));
  await proxied.ask(0, 'initialize', {
    protocolVersion: '2025-11-25',
    clientInfo: { name: 'agent', version: '1' },
  });
  await proxied.ask('list', 'tools/list');
  const held = proxied.call(1, 'pay', { amount: 50 });
  const pending = async () => (await plane.call('GET', '/approvals?runId=held')).body.data;
  await expect.poll(pending).toHaveLength(1);
  // a later call does not wait for it
  expect((await proxied.call(2, 'pay', { amount: 5 })).result).toMatchObject({ isError: false });
  const [{ approvalId }] = await pending();
  const body = { outcome: 'approved' };
  await plane.call('POST', `/approvals/${approvalId}/decision`, {
    body,
    key: plane.keys['approver'] ?? null,
  });
  expect((await held).result).toMatchObject({ isError: false });
  expect(await pending()).toHaveLength(1);
  await proxied.end();
  await plane.end();
});
