/** Governs the tools of the Vercel AI SDK. */
import { generateText, isStepCount, tool, type LanguageModel } from 'ai';
import { z } from 'zod';
import { governAiTools, type GovernedRun } from 'gov';
import type { Pay } from './pay.ts';

export async function payWith(run: GovernedRun, pay: Pay, model: LanguageModel): Promise<string> {
  const tools = { pay: tool({ inputSchema: z.object({ amount: z.number() }), execute: pay }) };
  const governed = governAiTools(run, tools);
  return (await generateText({ model, tools: governed, stopWhen: isStepCount(5), prompt: 'Pay' })).text;
}
