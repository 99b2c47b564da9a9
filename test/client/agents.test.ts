/** The examples of agent libraries: the library itself calls the governed tool; only its model is a fake. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AIMessage } from '@langchain/core/messages';
import { Usage, type ModelProvider, type ModelResponse } from '@openai/agents-core';
import { MockLanguageModelV4 } from 'ai/test';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { payTool } from '../../examples/libraries/langchain.ts';
import { payWith as payByAgents } from '../../examples/libraries/openai-agents.ts';
import { payWith as payPlainly } from '../../examples/libraries/plain.ts';
import { payWith as payByAi } from '../../examples/libraries/vercel-ai.ts';
import {
  createClient,
  GovNetworkError,
  governAiTools,
  type Client,
  type GovernedRun,
} from '../../src/client/index.ts';
import { blocks, page } from '../docs/pages.ts';
import { projectRoot } from '../paths.ts';
import { startPlane, type TestPlane } from '../support/serving.ts';

let plane: TestPlane;
let client: Client;
let approver: Client;
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { approver: { scopes: ['approvals:decide', 'governance:read'] } } });
  const connect = (apiKey: string): Client =>
    createClient({ baseUrl: plane.baseUrl, apiKey, env: {}, retries: 0 });
  client = connect(plane.key);
  approver = connect(plane.keys['approver'] ?? '');
  for (const [policyId, above, action] of [
    ['no-fortune', 1000, 'deny'],
    ['ask-much', 100, 'escalate'],
  ] as const) {
    const condition = { '>': [{ var: ['context.arguments.amount', 0] }, above] };
    await client.createPolicy({ body: { policyId, name: policyId, condition, action } });
    await client.publishPolicy({ params: { policyId }, body: {} });
  }
});
afterAll(async () => {
  client.close();
  approver.close();
  await plane.end();
});

let calls = 0;
const callId = () => `call-${(calls += 1)}`;

/** A model of the Vercel AI SDK that asks for one payment and then repeats the result. */
const aiModel = (amount: number) =>
  new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const last = prompt.at(-1);
      const usage = {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      };
      const common = { usage, warnings: [] };
      if (last?.role === 'tool') {
        const text = JSON.stringify(last.content);
        return {
          ...common,
          content: [{ type: 'text', text }],
          finishReason: { unified: 'stop', raw: 'stop' },
        };
      }
      const input = JSON.stringify({ amount });
      return {
        ...common,
        content: [{ type: 'tool-call', toolCallId: callId(), toolName: 'pay', input }],
        finishReason: { unified: 'tool-calls', raw: 'tool' },
      };
    },
  });

/** The same for OpenAI Agents JS. */
const agentModels = (amount: number): ModelProvider => ({
  getModel: () => ({
    getResponse: async ({ input }): Promise<ModelResponse> => {
      const last = typeof input === 'string' ? undefined : input.at(-1);
      if (last?.type === 'function_call_result') {
        const content = [{ type: 'output_text' as const, text: JSON.stringify(last.output) }];
        const message = { type: 'message', role: 'assistant', status: 'completed', content } as const;
        return { usage: new Usage(), output: [message] };
      }
      const call = { type: 'function_call', name: 'pay', status: 'completed', callId: callId() } as const;
      return { usage: new Usage(), output: [{ ...call, arguments: JSON.stringify({ amount }) }] };
    },
    async *getStreamedResponse() {
      yield* [];
      throw new Error('expected no stream');
    },
  }),
});

type Payer = (
  run: GovernedRun,
  pay: (input: { amount: number }) => Promise<string>,
  amount: number,
) => Promise<string>;
const payByLangChain: Payer = async (run, pay, amount) => {
  const call = { name: 'pay', args: { amount }, id: callId(), type: 'tool_call' } as const;
  const [toolCall = call] = new AIMessage({ content: '', tool_calls: [call] }).tool_calls ?? [];
  const message = await payTool(run, pay).invoke({ ...toolCall, type: 'tool_call' });
  return String(message.content);
};

const payers: readonly (readonly [string, Payer])[] = [
  ['plain code', payPlainly],
  ['the Vercel AI SDK', (run, pay, amount) => payByAi(run, pay, aiModel(amount))],
  ['OpenAI Agents JS', (run, pay, amount) => payByAgents(run, pay, agentModels(amount))],
  ['LangChain JS', payByLangChain],
];

describe.each(payers)('a governed tool in %s', (name, payWith) => {
  let runs = 0;
  /** Pays in a run of its own, and says what the agent then saw, what was paid, and what the run has. */
  const payer = () => {
    const run: GovernedRun = { client, runId: `${name.replaceAll(' ', '-')}-${(runs += 1)}`, actor: 'payer' };
    const paid: number[] = [];
    const pay = async ({ amount }: { amount: number }) => `receipt ${paid.push(amount)}`;
    const attempt = (amount: number, more: Partial<GovernedRun> = {}) =>
      payWith({ ...run, ...more }, pay, amount).catch(String);
    const types = async () =>
      (await client.listEvents({ query: { runId: run.runId } })).body.events.map(
        ({ eventType }) => eventType,
      );
    const pending = async () =>
      (await client.listApprovals({ query: { runId: run.runId, status: 'pending' } })).body.data;
    return { paid, attempt, types, pending };
  };

  it(`an allowed tool of ${name} runs, and the run has the call and its result`, async () => {
    const { paid, attempt, types } = payer();
    expect(await attempt(5)).toContain('receipt 1');
    expect(paid).toEqual([5]);
    expect(await types()).toEqual(['tool.evaluated', 'tool.call', 'tool.result']);
  });

  it(`a denied tool of ${name} does not run, and the agent sees why`, async () => {
    const { paid, attempt, types } = payer();
    expect(await attempt(1001)).toMatch(/pay: policy no-fortune: deny v1: .*amount/);
    expect(paid).toEqual([]);
    expect(await types()).toEqual(['tool.evaluated', 'tool.denied']);
  });

  it(`an escalated tool of ${name} runs once after a person approved it`, async () => {
    const { paid, attempt, pending } = payer();
    expect(await attempt(101)).toContain('approval pending');
    const [{ approvalId } = { approvalId: '' }] = await pending();
    await approver.decideApproval({ params: { approvalId }, body: { outcome: 'approved' } });
    expect(await attempt(101)).toContain('receipt 1');
    expect(await attempt(101)).toContain('approval pending');
    expect(paid).toEqual([101]);
  });

  it(`an escalated tool of ${name} can wait for the person`, async () => {
    const { paid, attempt, pending } = payer();
    const running = attempt(102, { approvalTimeoutMs: 20_000 });
    for (;;) {
      const [open] = await pending();
      if (open === undefined) continue;
      const { approvalId } = open;
      await approver.decideApproval({ params: { approvalId }, body: { outcome: 'approved' } });
      break;
    }
    expect(await running).toContain('receipt 1');
    expect(paid).toEqual([102]);
  });
});

describe('governAiTools', () => {
  it('governAiTools leaves a tool without execute as it is, and ends a tool that yields with its last value', async () => {
    const run: GovernedRun = { client, runId: 'yields', actor: 'payer', server: 'bank' };
    const given = {
      elsewhere: {},
      steps: {
        async *execute() {
          yield 'half';
          yield 'done';
        },
      },
    };
    const { elsewhere, steps } = governAiTools(run, given);
    expect(elsewhere).toBe(given.elsewhere);
    expect(await (steps.execute as (input: unknown, options: unknown) => unknown)(7, {})).toBe('done');
    const { body } = await client.listPolicyEvaluations({ query: { runId: 'yields' } });
    expect(body.data[0]?.checkpoint).toMatchObject({
      context: { tool: { name: 'steps', server: 'bank' }, arguments: { input: 7 } },
    });
  });
});

it('a governed tool runs without the service only if readOnlyTools names it and fail mode is open', async () => {
  const nowhere = createClient({ baseUrl: 'http://127.0.0.1:9/api/v1', apiKey: 'k', env: {}, retries: 0 });
  const run: GovernedRun = { client: nowhere, runId: 'away', actor: 'payer', failMode: 'open' };
  const ran: string[] = [];
  const given = { look: { execute: () => `looked ${ran.push('look')}` } };
  const looking = (more: Partial<GovernedRun>) =>
    (governAiTools({ ...run, ...more }, given).look.execute as (...given: unknown[]) => unknown)({}, {});
  expect(await looking({ readOnlyTools: ['look'] })).toBe('looked 1');
  await expect(looking({ readOnlyTools: ['other'] })).rejects.toBeInstanceOf(GovNetworkError);
  await expect(looking({ readOnlyTools: ['look'], failMode: 'closed' })).rejects.toBeInstanceOf(
    GovNetworkError,
  );
  expect(ran).toEqual(['look']);
});

it('each snippet of docs/how-to/govern-a-program.md is part of an example', () => {
  const folder = join(projectRoot, 'examples/libraries');
  const lines = new Set(
    readdirSync(folder).flatMap((name) =>
      readFileSync(join(folder, name), 'utf8')
        .split('\n')
        .map((line) => line.trim()),
    ),
  );
  const [setUp, ...snippets] = blocks(page('docs/how-to/govern-a-program.md'), 'ts');
  expect([setUp === undefined, snippets.length]).toEqual([false, 4]);
  const unknown = snippets
    .flatMap((snippet) => snippet.split('\n'))
    .filter((line) => !lines.has(line.trim()));
  expect(unknown.filter((line) => line !== '')).toEqual([]);
});
