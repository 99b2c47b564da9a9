/** Governs one function without a library. */
import { governedInvoke, type GovernedRun } from 'gov';
import type { Pay } from './pay.ts';

export function payWith(run: GovernedRun, pay: Pay, amount: number): Promise<string> {
  const { client, runId, actor } = run;
  const call = { runId, actor, tool: { name: 'pay' }, arguments: { amount } };
  return governedInvoke(client, call, () => pay({ amount }), run);
}
