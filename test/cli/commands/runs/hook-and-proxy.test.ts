/** One call of an MCP tool that the hook of the client and the MCP proxy both decide and record. */
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startProxy, textIn } from '../../support/mcp.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';
import { governing } from '../../../service/support/governed.ts';
import { gov } from '../../support/tool.ts';

let plane: PolicyPlane;
let config: string;
beforeAll(async () => {
  plane = await startPolicyPlane();
  plane.write('p/pay.policy', 'deny "too-much"\nwhen tool.name == "pay" && arguments.amount > 100');
  await plane.json('policy create p --publish');
  const keyFile = join(plane.folder, 'agent.key');
  writeFileSync(keyFile, plane.key, { mode: 0o600 });
  plane.write('agents.json', { baseUrl: plane.baseUrl, keyFile });
  config = join(plane.folder, 'agents.json');
});
afterAll(() => plane.end());

async function hooked(run: string, moment: string, amount: number): Promise<string> {
  const input = JSON.stringify({
    session_id: run,
    hook_event_name: moment,
    tool_name: 'mcp__bank__pay',
    tool_input: { amount },
    tool_use_id: `toolu_${run}`,
    ...(moment === 'PostToolUse' ? { tool_response: 'paid' } : {}),
  });
  const { code, stdout, stderr } = await gov(['hook', 'claude-code', '--config', config], { input });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

async function proxied(run: string, amount: number) {
  const proxy = startProxy({
    env: { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key },
    flags: ['--name', 'bank', '--run', run],
  });
  onTestFinished(() => void proxy.child.kill('SIGKILL'));
  await proxy.ask(0, 'initialize', { protocolVersion: '2025-11-25' });
  await proxy.ask('list', 'tools/list');
  const answer = await proxy.call(1, 'pay', { amount }, { 'claudecode/toolUseId': `toolu_${run}` });
  await proxy.end();
  return answer;
}

interface Recorded {
  readonly eventType: string;
  readonly resource: { readonly name: string };
  readonly metadata: Readonly<Record<string, unknown>>;
}

describe('a call that the hook and the MCP proxy record', () => {
  it('runs coverage names both sources of one governed call, and the proof is authentic and compliant', async () => {
    await hooked('both', 'PreToolUse', 5);
    expect(textIn(await proxied('both', 5))).toBe('paid');
    await hooked('both', 'PostToolUse', 5);
    const { events } = await plane.json('events list --run both');
    const recorded = (events as Recorded[]).filter(({ eventType }) => eventType !== 'tool.evaluated');
    expect(
      recorded.map(({ eventType, resource, metadata }) => [eventType, resource.name, metadata['recordedBy']]),
    ).toEqual([
      ['tool.call', 'pay', 'hook'],
      ['tool.call', 'pay', 'mcp'],
      ['tool.result', 'pay', 'mcp'],
      ['tool.result', 'pay', 'hook'],
    ]);
    expect(await plane.json('runs coverage both')).toMatchObject({
      covered: true,
      confirmed: 1,
      calls: [{ callId: 'toolu_both', tool: 'pay', verdict: 'governed', sources: ['hook', 'mcp'] }],
      sources: [
        { source: 'hook', calls: 1 },
        { source: 'mcp', calls: 1 },
      ],
    });
    const layers = 'event_integrity,policy_compliance,x-coverage';
    const { proofId } = await plane.json(`proofs create --run both --layers ${layers}`);
    expect(await governing(plane).verify(proofId)).toMatchObject({
      verified: true,
      authentic: true,
      compliant: 'yes',
      layers: [{ passed: true }, { passed: true }, { name: 'x-coverage', passed: true, basis: 'recomputed' }],
    });
  });

  it('policy_compliance counts the decided event of each, and none as undecided', async () => {
    await hooked('counted', 'PreToolUse', 6);
    await proxied('counted', 6);
    const { claims, verified } = await governing(plane).layer('counted', 'policy_compliance');
    expect({ claims, verified }).toMatchObject({ verified: true, claims: { governed: 2, undecided: 0 } });
  });

  it('a call that the hook refuses has one source, and a call that the proxy alone records has its name', async () => {
    expect(await hooked('refused', 'PreToolUse', 101)).toContain('deny');
    expect(textIn(await proxied('alone', 101))).toMatch(/^gov: blocked/);
    expect((await plane.json('runs coverage refused')).calls).toMatchObject([
      { verdict: 'denied', decision: 'denied', sources: ['hook'] },
    ]);
    expect((await plane.json('runs coverage alone')).calls).toMatchObject([
      { verdict: 'denied', decision: 'denied', sources: ['mcp'] },
    ]);
  });
});
