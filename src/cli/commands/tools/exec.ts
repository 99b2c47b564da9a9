/**
 * `gov tools exec --tool NAME --run R -- COMMAND…`: runs a command as a governed tool call, directly and without a shell.
 * If this process crashes meanwhile, the recorded call has no outcome. It never opens standard input: that would make
 * the stream non-blocking for the command too. Tested by `test/cli/commands/tools/exec.test.ts` against a real plane.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import {
  GovOutcomeUnrecorded,
  governedInvoke,
  GovToolRefused,
  type GovernedCall,
} from '../../../client/governed.ts';
import { GovApiError } from '../../../client/errors.ts';
import type { Invocation, Run } from '../../program/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { isObject } from '../../../core/json/object.ts';
import { safe } from '../../terminal/safe.ts';
import type { toolsExec as spec } from './spec.ts';

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
        return relay.run(invocation);
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

function refusal({ message, approval, decision }: GovToolRefused): CliError {
  const approvalId = approval?.approvalId ?? decision.approvalId;
  const isOpen = approval?.status === 'pending';
  return new CliError(exit.checkFailed, `nothing ran: ${message.replace(/; approve it with: .*$/, '')}`, {
    code: 'TOOL_REFUSED',
    ...(isOpen ? { hint: waitingHint(approval.expiresAt) } : {}),
    next: isOpen ? [`gov approvals approve ${approvalId}`] : [],
  });
}

const waitingHint = (until: string): string =>
  `a person may decide until ${until}; after an approval, run the same command again, once. --wait-approval 10m waits for the decision`;

/** The refusal of the approval that `--approval` names; null for another failure. */
function unusable(failure: unknown): CliError | null {
  const found = failure instanceof GovApiError ? failure.errors : [];
  const detail = found.find(({ code }) => code === 'NOT_USABLE')?.detail;
  if (detail === undefined) return null;
  const said = detail.replace('evaluate without approvalId', 'run it without --approval');
  return new CliError(exit.checkFailed, `nothing ran: ${said}`, { code: 'TOOL_REFUSED' });
}

/** The command ran: returns its exit code, but 1 if a success could not be recorded. */
async function codeAfter(failure: unknown, ended: Ended, { out }: Invocation<typeof spec>): Promise<number> {
  if (failure instanceof GovOutcomeUnrecorded) {
    const { cause } = failure;
    await out.warn(safe`${failure.message}: ${cause instanceof Error ? cause.message : String(cause)}`);
    return ended.code === 0 ? exit.error : ended.code;
  }
  if (ended.cause !== undefined) await out.fail(ended.cause, out.isJson);
  return ended.code;
}

interface Ended {
  readonly code: number;
  /** Why the command could not start. */
  readonly cause?: CliError;
}

/** The command failed. The outcome of the call records this. */
class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}

const names = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;
type Name = (typeof names)[number];

/** Signals end the waiting for a decision; once the command runs, it gets them. */
class Relay {
  /** How the command ended; null before that. */
  ended: Ended | null = null;
  readonly #stop = new AbortController();
  readonly #isTerminal: boolean;
  readonly #handlers: readonly (readonly [Name, () => void])[];
  #child: ReturnType<typeof spawn> | undefined;
  #first: Name | undefined;

  constructor(isTerminal: boolean) {
    this.#isTerminal = isTerminal;
    this.#handlers = names.map((name) => [name, () => this.#on(name)] as const);
    for (const [name, handler] of this.#handlers) process.on(name, handler);
  }

  /** Fires if a signal comes before the command runs. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get signalCode(): number {
    return 128 + constants.signals[this.#first ?? 'SIGINT'];
  }

  #on(name: Name): void {
    this.#first ??= name;
    if (this.#child === undefined) return this.#stop.abort(new Error(`ended by ${name}`));
    // a terminal sends these to all its foreground processes, including the command
    if (!this.#isTerminal || name === 'SIGTERM') this.#child.kill(name);
  }

  /** Runs the command to its end. Throws if it failed, so that the outcome records it. */
  async run({ args, io }: Invocation<typeof spec>): Promise<void> {
    const [command = '', ...more] = args.command;
    this.ended = await new Promise<Ended>((resolve) => {
      const child = spawn(command, more, { stdio: 'inherit', shell: false, cwd: io.cwd, env: { ...io.env } });
      this.#child = child;
      child.once('error', (cause) => resolve(unstarted(command, cause)));
      child.once('exit', (code, signal) =>
        resolve({ code: signal === null ? (code ?? 1) : 128 + constants.signals[signal] }),
      );
    });
    const { code, cause } = this.ended;
    if (code !== 0) throw new CommandFailed(cause?.message ?? `exit code ${code}`);
  }

  release(): void {
    for (const [name, handler] of this.#handlers) process.off(name, handler);
  }
}

/** Exit codes of shells: 127 not found, 126 could not start. */
function unstarted(command: string, cause: Error): Ended {
  const code = 'code' in cause ? String(cause.code) : '';
  const why = code === 'ENOENT' ? 'the command does not exist' : code || cause.message;
  const message = `cannot start ${command}: ${why}`;
  return { code: code === 'ENOENT' ? 127 : 126, cause: new CliError(exit.error, message, { code, cause }) };
}
