/** Governs a tool of LangChain JS. Give the tool to your agent. */
import { tool, type StructuredToolInterface } from '@langchain/core/tools';
import { z } from 'zod';
import { governLangChainTool, type GovernedRun } from 'gov';
import type { Pay } from './pay.ts';

export function payTool(run: GovernedRun, pay: Pay): StructuredToolInterface {
  const schema = z.object({ amount: z.number() });
  return governLangChainTool(run, tool(pay, { name: 'pay', description: 'Pay an amount', schema }));
}
