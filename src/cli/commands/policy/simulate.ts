/**
 * `gov policy simulate [ID] --checkpoint FILE`: shows decisions and deciding clauses without recording.
 * Tested by `test/cli/commands/policy/create.test.ts`.
 */
import type { Client } from '../../../client/create.ts';
import { policyActions } from '../../../contract/policy-words.ts';
import { counts } from '../../../core/policies/evaluate/decision.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { exit } from '../../program/exit.ts';
import { failsOn } from '../../program/fail-on.ts';
import { readCheckpoint, wireCheckpoint } from '../../policies/input.ts';
import { summaryFacts, combinedLine, decidingClauses, explanationLines } from '../../policies/decisions.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import type { policySimulate as spec } from '../../specs/decide/policy.ts';

const columns = textColumns(['policyId', 'version', 'decision', 'severity', 'outcome', 'clause']);

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, out, session } = invocation;
  const client = await session.client();
  const body = await simulated(invocation, client);
  out.verdict = failsOn(flags.failOn, body.summary.combined, policyActions) ? exit.checkFailed : exit.ok;
  const clauses = out.isJson ? new Map<string, string>() : await decidingClauses(client, body.decisions);
  // with many policies, the line above the table counts those that allow, and the table lists the others
  const told =
    out.isHuman && out.format === 'table' && body.decisions.length > 20
      ? body.decisions.filter(({ outcome }) => counts(outcome))
      : body.decisions;
  await printReport(out, {
    whole: body,
    columns,
    rows: told.map((each) => ({ ...each, clause: clauses.get(each.policyId) ?? '' })),
    head: [combinedLine(body.summary, out.styles)],
    result: { facts: summaryFacts(body.summary), rowKind: 'decision' },
    foot: flags.explain ? told.flatMap((each) => explanationLines(each, out)) : [],
  });
  return out.verdict;
};

async function simulated({ args, flags, out, io, signal }: Invocation<typeof spec>, client: Client) {
  const checkpoint = wireCheckpoint(await readCheckpoint(flags.checkpoint, { io, signal }));
  const policyIds = [...flags.policy];
  // the table names the deciding clause, which only the trace contains
  const body = { checkpoint, policyIds, explain: flags.explain || !out.isJson };
  const { policyId } = args;
  const answer =
    policyId === undefined
      ? await client.simulatePolicies({ body })
      : await client.simulatePolicy({ params: { policyId }, body });
  return answer.body;
}
