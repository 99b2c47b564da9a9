import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { log, logs, post, tool, traceId, traces } from '../../../http/otlp/requests.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane();
});
afterAll(() => plane.end());

const span = (n: number, runId: string, id: string): Promise<unknown> =>
  post(
    plane,
    'traces',
    traces(tool(n, { 'session.id': runId, 'gen_ai.tool.call.id': id }, { traceId: traceId(n) })),
  );
const governed = (runId: string, toolCallId: string) =>
  plane.call('POST', '/events', {
    body: {
      runId,
      eventType: 'tool.call',
      actor: { name: 'agent' },
      resource: { name: 'pay', type: 'tool' },
      action: 'call',
      timestamp: '2026-01-05T09:00:00Z',
      metadata: { toolCallId, evaluationId: 'pev_01jq3v5k8hf7wb3c9x2m4n6p8r' },
    },
  });

const step = {
  eventType: 'agent.step',
  actor: { name: 'agent' },
  action: 'step',
  timestamp: '2026-01-05T09:00:00Z',
};

describe('runs coverage', () => {
  it('runs coverage exits with 0 for a run whose sources agree, and counts in one line', async () => {
    await governed('agreed', 'c1');
    await span(1, 'agreed', 'c1');
    await governed('agreed', 'c2');
    const { code, stdout } = await plane.gov('runs coverage agreed', { columns: 120 });
    expect(code).toBe(0);
    expect(stdout).toContain('covered  2 calls: 1 governed, 1 single_source; 1 confirmed by a second source');
    expect(stdout).toMatch(/single_source +pay +c2 +allowed +direct +- /);
    expect(stdout).toMatch(/governed +pay +c1 +allowed +direct, otlp +tool /);
  });

  it('runs coverage exits with 3 and names what ran ungoverned and what is missing', async () => {
    await span(2, 'alone', 'c1');
    const numbered = log({ 'event.name': 'user_prompt', 'session.id': 'alone', 'event.sequence': 2 });
    await post(plane, 'logs', logs(numbered));
    const { code, stdout } = await plane.gov('runs coverage alone', { columns: 120 });
    expect(code).toBe(3);
    expect(stdout).toContain('not covered  1 call: 1 ungoverned; 0 confirmed by a second source');
    expect(stdout).toMatch(/ungoverned +pay +c1 /);
    expect(stdout).toContain('otlp: log records 0 to 1 are missing');
  });

  it('runs coverage does not call a run covered that has no call, or one that may have run undecided', async () => {
    await plane.call('POST', '/events', { body: { ...step, runId: 'idle' } });
    const idle = await plane.gov('runs coverage idle', { columns: 120 });
    expect([idle.code, idle.stdout.split('\n')[0]]).toEqual([0, 'no calls  0 calls']);
    const record = { importer: 'otlp', signal: 'log', record: 'claude_code.tool_result', outcome: 'error' };
    await plane.call('POST', '/events', {
      body: { ...step, runId: 'maybe', eventType: 'tool.result', metadata: { toolCallId: 'c1', ...record } },
    });
    const maybe = await plane.gov('runs coverage maybe', { columns: 120 });
    expect(maybe.code).toBe(9);
    expect(maybe.stdout).toContain('not certain: a call may have run without a decision  1 call: 1 unknown');
  });

  it('runs coverage writes JSON into a pipe, and the format that was asked for', async () => {
    const piped = await plane.gov('runs coverage alone');
    expect([piped.code, JSON.parse(piped.stdout)]).toMatchObject([3, { runId: 'alone', covered: false }]);
    const rows = await plane.gov('runs coverage alone -o csv');
    expect(rows.stdout).toMatch(/^ungoverned,pay,c1,/m);
  });

  it('runs coverage exits with 5 for a run that does not exist', async () => {
    expect((await plane.gov('runs coverage nothing')).code).toBe(5);
  });
});
