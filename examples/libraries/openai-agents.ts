/** Governs a tool of OpenAI Agents JS. In your program, import from '@openai/agents'. */
import { Agent, Runner, tool, type ModelProvider } from '@openai/agents-core';
import { z } from 'zod';
import { governAgentTool, type GovernedRun } from 'gov';
import type { Pay } from './pay.ts';

export async function payWith(run: GovernedRun, pay: Pay, modelProvider: ModelProvider): Promise<string> {
  const parameters = z.object({ amount: z.number() });
  const payTool = tool({ name: 'pay', description: 'Pay an amount', parameters, execute: pay });
  const agent = new Agent({ name: 'payer', tools: [governAgentTool(run, payTool)] });
  return (await new Runner({ modelProvider, tracingDisabled: true }).run(agent, 'Pay')).finalOutput ?? '';
}
