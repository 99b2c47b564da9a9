/**
 * `gov tools evaluate [FILE]`: decides a tool call and records the decision.
 * Tested by `test/cli/commands/tools/exec.test.ts`.
 */
import { policyActions } from '../../../contract/policy-words.ts';
import type { ToolCall, ToolDecision } from '../../../contract/tools.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { exit, usage } from '../../program/exit.ts';
import { failsOn } from '../../program/fail-on.ts';
import { objectOf, readInput } from '../../terminal/input.ts';
import { isObject } from '../../../core/json/object.ts';
import { shellWord } from '../../../core/shell-word.ts';
import { painted } from '../../policies/decisions.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { toolsEvaluate as spec } from '../../specs/decide/tools.ts';

const columns = textColumns(['policyId', 'version', 'decision']);

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, out, session, settings } = invocation;
  const call = await callOf(invocation);
  const client = await session.client();
  const { body } = await client.evaluateTool({ body: call, idempotencyKey: settings.idempotencyKey });
  const isDry = call.dryRun === true;
  out.verdict = failsOn(flags.failOn, body.decision, policyActions) ? exit.checkFailed : exit.ok;
  await printReport(out, {
    whole: body,
    columns,
    rows: body.matchedPolicies,
    head: [safe`${painted(body.decision, out.styles)}  ${body.reason}`],
    foot: [
      out.styles.dim(
        safe`${isDry ? 'not recorded: a dry run' : body.evaluationId}, arguments ${body.argumentsHash}`,
      ),
    ],
    // the id of a dry run leads nowhere
    result: {
      facts: factsOf(isDry ? { ...body, evaluationId: 'not recorded' } : body),
      rowKind: 'policy',
    },
  });
  if (body.approvalId !== null)
    await out.note(safe`a person must decide: gov approvals approve ${shellWord(body.approvalId)}`);
  return out.verdict;
};

const factsOf = ({ decision, reason, evaluationId, approvalId, argumentsHash }: ToolDecision) => ({
  decision,
  reason,
  evaluationId,
  approvalId,
  argumentsHash,
});

async function callOf({ args, flags, io, signal }: Invocation<typeof spec>): Promise<ToolCall> {
  const given = args.file === undefined ? {} : objectOf(await readInput(args.file, { io, signal }));
  const { tool: givenTool = {} } = given;
  const tool = {
    ...(isObject(givenTool) ? givenTool : {}),
    ...(flags.tool === undefined ? {} : { name: flags.tool }),
    ...(flags.server === undefined ? {} : { server: flags.server }),
  };
  if (!('name' in tool)) throw usage('expected --tool, or a file with tool.name');
  const named = {
    arguments: flags.arguments,
    runId: flags.run,
    actor: flags.actor,
    context: flags.callContext,
  };
  const call = {
    arguments: {},
    ...given,
    tool,
    ...Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined)),
    ...(flags.policy.length === 0 ? {} : { policyIds: [...flags.policy] }),
    ...(flags.dryRun ? { dryRun: true } : {}),
  };
  // the service checks the members against its schema
  return call as unknown as ToolCall;
}
