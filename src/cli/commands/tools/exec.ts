/**
 * `gov tools exec --tool NAME --run R -- COMMAND…`: runs a command as a governed tool call, directly and without a shell.
 * If this process crashes meanwhile, the recorded call has no outcome. Tested by `test/cli/commands/tools/exec.test.ts` against a real plane.
 */
import { isatty } from 'node:tty';
import {
  GovOutcomeUnrecorded,
  governedInvoke,
  GovToolRefused,
  type GovernedCall,
} from '../../../client/governed.ts';
import { GovApiError } from '../../../client/errors.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { Relay, type ProgramEnd } from '../../program/relay.ts';
import { isObject } from '../../../core/json/object.ts';
import { shellWord } from '../../../core/shell-word.ts';
import { safe } from '../../terminal/safe.ts';
import type { toolsExec as spec } from '../../specs/decide/tools.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, out, session, settings } = invocation;
  const call = callOf(invocation);
  const client = await session.client();
  const relay = new Relay(isatty(0));
  try {
    await governedInvoke(
      client,
      call,
      async (decision) => {
        if (decision?.decision === 'warn') await out.warn(safe`${decision.reason}`);
        if (decision !== null && decision.approvalId !== null) {
          await out.note(safe`${decision.reason}; ${decision.approvalId} lets this call run once, now`);
        }
        const { code, cause } = await relay.run(invocation.args.command, invocation.io);
        // throws, so that the outcome records it
        if (code !== 0) throw new CommandFailed(cause?.message ?? `exit code ${code}`);
      },
      {
        approvalTimeoutMs: flags.waitApproval ?? 0,
        signal: relay.signal,
        ...(settings.idempotencyKey === undefined ? {} : { invocationId: settings.idempotencyKey }),
      },
    );
    return exit.ok;
  } catch (failure) {
    if (relay.ended !== null) return codeAfter(failure, relay.ended, invocation);
    if (relay.signal.aborted) return relay.signalCode;
    if (failure instanceof GovToolRefused) throw refusal(failure);
    throw unusable(failure) ?? failure;
  } finally {
    relay.release();
  }
};

function callOf({ args, flags }: Invocation<typeof spec>): GovernedCall {
  const [command = '', ...more] = args.command;
  const { callContext: context } = flags;
  if (context !== undefined && !isObject(context)) throw usage('--call-context: expected a JSON object');
  return {
    tool: { name: flags.tool, ...(flags.server === undefined ? {} : { server: flags.server }) },
    arguments: { command, args: more },
    runId: flags.run,
    actor: flags.actor ?? 'gov tools exec',
    ...(context === undefined ? {} : { context }),
    ...(flags.policy.length === 0 ? {} : { policyIds: [...flags.policy] }),
    ...(flags.approval === undefined ? {} : { approvalId: flags.approval }),
  };
}

function refusal({ message, approval, approvalStatus, decision }: GovToolRefused): CliError {
  const { approvalId } = decision;
  const isOpen = approvalId !== null && approvalStatus === 'pending';
  return new CliError(exit.checkFailed, `nothing ran: ${message.replace(/; approve it with: .*$/, '')}`, {
    code: 'TOOL_REFUSED',
    ...(isOpen ? { hint: waitingHint(approval?.expiresAt) } : {}),
    next: isOpen ? [`gov approvals approve ${shellWord(approvalId)}`] : [],
  });
}

const waitingHint = (until?: string): string =>
  `a person may decide${until === undefined ? '' : ` until ${until}`}; after an approval, run the same command again, once. --wait-approval 10m waits for the decision`;

/** The refusal of the approval that `--approval` names; null for another failure. */
function unusable(failure: unknown): CliError | null {
  const found = failure instanceof GovApiError ? failure.errors : [];
  const detail = found.find(({ code }) => code === 'NOT_USABLE')?.detail;
  if (detail === undefined) return null;
  const said = detail.replace('evaluate without approvalId', 'run it without --approval');
  return new CliError(exit.checkFailed, `nothing ran: ${said}`, { code: 'TOOL_REFUSED' });
}

/** The command ran: returns its exit code, but 1 if a success could not be recorded. */
async function codeAfter(
  failure: unknown,
  ended: ProgramEnd,
  { out }: Invocation<typeof spec>,
): Promise<number> {
  if (failure instanceof GovOutcomeUnrecorded) {
    const { cause } = failure;
    await out.warn(safe`${failure.message}: ${cause instanceof Error ? cause.message : String(cause)}`);
    return ended.code === 0 ? exit.error : ended.code;
  }
  if (ended.cause !== undefined) await out.fail(ended.cause, out.isJson);
  return ended.code;
}

/** The command failed. The outcome of the call records this. */
class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}
