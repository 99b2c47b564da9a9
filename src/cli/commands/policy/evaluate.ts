/**
 * `gov policy evaluate --run R --checkpoint FILE`: decides and records.
 * Tested by `test/cli/commands/policy/create.test.ts`.
 */
import { policyActions } from '../../../contract/policy-words.ts';
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { exit } from '../../program/exit.ts';
import { failsOn } from '../../program/fail-on.ts';
import { readCheckpoint, wireCheckpoint } from '../../policies/input.ts';
import { summaryFacts, combinedLine } from '../../policies/decisions.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { policyEvaluate as spec } from '../../specs/decide/policy.ts';

const columns = textColumns(['policyId', 'version', 'decision', 'severity', 'outcome', 'reasoning']);

export const run: Run<typeof spec> = async ({ flags, out, io, session, settings, signal }) => {
  const checkpoint = wireCheckpoint(await readCheckpoint(flags.checkpoint, { io, signal }));
  const client = await session.client();
  const { body } = await client.evaluatePolicy({
    body: { runId: flags.run, policies: [...flags.policy], checkpoint },
    idempotencyKey: settings.idempotencyKey,
  });
  out.verdict = failsOn(flags.failOn, body.combined, policyActions) ? exit.checkFailed : exit.ok;
  await printReport(out, {
    whole: body,
    columns,
    rows: body.decisions,
    head: [combinedLine(body.summary, out.styles)],
    result: {
      facts: { ...summaryFacts(body.summary), evaluationId: body.evaluationId, approvalId: body.approvalId },
      rowKind: 'decision',
    },
  });
  await out.detail(safe`recorded as ${body.evaluationId}`);
  if (body.approvalId !== null)
    await out.note(safe`a person must decide: gov approvals approve ${shellWord(body.approvalId)}`);
  return out.verdict;
};
