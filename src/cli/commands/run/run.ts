/**
 * `gov run -- PROGRAM…`: runs any program as a recorded run. Start and end are events; the program sends its telemetry to
 * the same service. If this process is killed, the run has no end, and on Linux the program ends too. Tested by `test/cli/commands/run/program.test.ts`.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { isatty } from 'node:tty';
import type { Client } from '../../../client/create.ts';
import type { EventInput } from '../../../contract/events.ts';
import { limits } from '../../../contract/limits.ts';
import { defaultLayers } from '../../../contract/proofs.ts';
import { digestOf } from '../../../core/json/digest.ts';
import { shellWord } from '../../../core/shell-word.ts';
import { pinOfHooks } from '../../agents/pin.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { exit, failureOf, usage } from '../../program/exit.ts';
import { Relay, type ProgramEnd } from '../../program/relay.ts';
import { safe } from '../../terminal/safe.ts';
import type { Engine, Sandbox, SandboxOptions } from '../../sandbox/run.ts';
import { environmentOf, runTokenOf } from '../../start/environment.ts';
import { gitFacts } from '../../start/git.ts';
import { lostTelemetry } from '../../start/telemetry-variables.ts';
import type { run as spec } from '../../specs/record/run.ts';

type Call = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, session, io } = call;
  const [program = ''] = args.command;
  requireProgram(program, io.env['PATH']);
  const runId = flags.run ?? newRunId(io.now());
  const actor = { name: flags.actor ?? basename(program), role: 'agent' };
  const engine = await engineOf(call);
  const relay = new Relay(isatty(0));
  try {
    const client = await session.client({ keepsReceipts: true, pin: pinOfHooks(io.env) });
    const recorder = new Recorder(client, { runId, actor, now: io.now });
    const token = await tokenOf(call, runId);
    const isRecorded = await started(call, { recorder, relay });
    if (relay.signal.aborted) return relay.signalCode;
    const startedMs = io.now();
    const env = environmentOf(call, { runId, token });
    for (const { variable, effect } of lostTelemetry(env, session.baseUrl().value))
      await call.out.warn(safe`${variable} is set: ${effect}`);
    const sandbox =
      engine === null
        ? null
        : await opened(call, { engine, client, runId, actor, env }).catch(async (cause: unknown) => {
            const ended = { code: exit.notStarted, cause: failureOf(cause) };
            await endedWith(call, { recorder, ended, durationMs: io.now() - startedMs });
            throw cause;
          });
    if (relay.signal.aborted) {
      await sandbox?.end();
      return relay.signalCode;
    }
    const ended =
      sandbox === null
        ? await relay.run(args.command, { cwd: io.cwd, env })
        : await relay.run(sandbox.words(args.command), {
            cwd: io.cwd,
            env: sandbox.env,
            report: sandbox.report,
          });
    const isReported = sandbox === null || (await reported(call, sandbox));
    if (ended.cause !== undefined) await call.out.fail(ended.cause, call.out.isJson);
    const isEnded = await endedWith(call, { recorder, ended, durationMs: io.now() - startedMs });
    if (!isRecorded || !isReported || !isEnded)
      return ended.code === 0 && flags.fail !== 'open' ? exit.error : ended.code;
    if (flags.prove !== 'no') await prove(call, client, runId);
    return ended.code;
  } finally {
    relay.release();
  }
};

/** Null without --sandbox. Errors: exit 126 without an engine, exit 2 for flags that do not go together. */
async function engineOf(call: Call): Promise<Engine | null> {
  const { sandbox = false, write = [], port = [], fail } = call.flags;
  if (!sandbox && write.length + port.length > 0)
    throw usage('expected --write and --port only with --sandbox');
  if (sandbox && fail === 'open')
    throw usage('expected --sandbox without --fail open: a sandbox without decisions has no lists');
  if (!sandbox) return null;
  const { requireEngine } = await import('../../sandbox/run.ts');
  return requireEngine(call);
}

/** Loaded only for a sandbox: other runs start without it. */
async function opened(call: Call, options: Omit<SandboxOptions, 'writable' | 'ports'>): Promise<Sandbox> {
  const { openSandbox } = await import('../../sandbox/run.ts');
  return openSandbox(call, { ...options, ...sandboxWords(call) });
}

const sandboxWords = ({ flags: { write = [], port = [] } }: Call) => ({
  writable: write,
  ports: port.map((text) => {
    const number = Number(text);
    if (Number.isInteger(number) && number > 0 && number < 65_536) return number;
    throw usage(`--port: expected a port from 1 to 65535, got ${JSON.stringify(text.slice(0, 16))}`);
  }),
});

async function reported({ out }: Call, sandbox: Sandbox): Promise<boolean> {
  try {
    await sandbox.end();
    return true;
  } catch (failure) {
    await out.warn(safe`what ran in the sandbox could not be recorded: ${failureOf(failure).message}`);
    return false;
  }
}

/** Returns the program's token; null, with a warning, where it gets none. It never gets the key of gov. */
async function tokenOf(call: Call, runId: string): Promise<string | null> {
  try {
    const token = await runTokenOf(call, runId);
    if (token === null && call.session.apiKey() !== null)
      await call.out.warn(
        safe`the program gets no token: only an API key can make one; give one in GOV_API_KEY`,
      );
    return token;
  } catch (cause) {
    if (call.flags.fail !== 'open') throw cause;
    await call.out.warn(safe`the program gets no token: ${failureOf(cause).message}`);
    return null;
  }
}

const verbsOfRuns = new Set(['list', 'show', 'browse', 'coverage']);

/** `gov run list` is meant for the noun `runs`, and a log keeps permanently what it starts. */
function requireProgram(program: string, path = ''): void {
  if (!verbsOfRuns.has(program) || path.split(delimiter).some((folder) => existsSync(join(folder, program))))
    return;
  throw usage(
    `expected a program to start, and ${program} is not on PATH`,
    `did you mean gov runs ${shellWord(program)}?`,
  );
}

/** Names a run by its time, so that lists of runs sort by it. */
function newRunId(nowMs: number): string {
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return `run-${time}-${randomBytes(4).toString('hex')}`;
}

/** Writes the events of the program itself. */
class Recorder {
  readonly #client: Client;
  readonly #run: { readonly runId: string; readonly actor: EventInput['actor']; readonly now: () => number };

  constructor(client: Client, of: { runId: string; actor: EventInput['actor']; now: () => number }) {
    this.#client = client;
    this.#run = of;
  }

  async record(
    eventType: string,
    { action, metadata, signal }: { action: string; metadata: Record<string, unknown>; signal?: AbortSignal },
  ): Promise<void> {
    const { runId, actor, now } = this.#run;
    const timestamp = new Date(now()).toISOString();
    const body: EventInput = { runId, eventType, actor, action, timestamp, metadata };
    await this.#client.createEvent({ body, signal });
  }
}

/** Records the start. Throws if it fails, unless --fail open; then returns false. */
async function started(
  { args, flags, io, out }: Call,
  { recorder, relay }: { recorder: Recorder; relay: Relay },
): Promise<boolean> {
  const [program = '', ...rest] = args.command;
  const git = await gitFacts(io.cwd);
  const metadata = {
    program: basename(program).slice(0, limits.actionChars),
    // arguments often hold secrets: the hash is enough to compare runs
    arguments: digestOf(rest),
    ...(git === null ? {} : { git }),
  };
  try {
    await recorder.record('run.started', { action: 'start', metadata, signal: relay.signal });
    return true;
  } catch (cause) {
    if (relay.signal.aborted) return false;
    if (flags.fail !== 'open') throw cause;
    await out.warn(safe`the run is not recorded: ${failureOf(cause).message}`);
    return false;
  }
}

type RecordedEnd = Omit<ProgramEnd, 'cause'> & { readonly cause?: { readonly message: string } };

async function endedWith(
  { out }: Call,
  { recorder, ended, durationMs }: { recorder: Recorder; ended: RecordedEnd; durationMs: number },
): Promise<boolean> {
  const { code, signal, cause } = ended;
  const metadata = {
    exitCode: code,
    durationMs,
    outcome: code === 0 ? 'ok' : 'error',
    ...(signal === undefined ? {} : { signal }),
    ...(cause === undefined ? {} : { error: cause.message }),
  };
  try {
    await recorder.record('run.ended', { action: 'end', metadata });
    return true;
  } catch (failure) {
    await out.warn(safe`the end of the run could not be recorded: ${failureOf(failure).message}`);
    return false;
  }
}

/** Proves the run and says so in one line. A proof that fails does not change the exit code. */
async function prove({ out }: Call, client: Client, runId: string): Promise<void> {
  try {
    const layers = [...defaultLayers, 'x-coverage'];
    const answer = await client.createProof({ body: { runId, composed: { layers } } });
    if (answer.status === 202)
      return await out.note(safe`run ${runId} is proved in job ${answer.body.jobId}`);
    const failed = answer.body.layers.filter(({ verified }) => !verified).map(({ name }) => name);
    const found = failed.length === 0 ? '' : `; not satisfied: ${failed.join(', ')}`;
    await out.note(safe`run ${runId}: proof ${answer.body.proofId}${found}`);
    if (failed.includes('x-coverage')) await out.note(safe`see why: gov runs coverage ${shellWord(runId)}`);
  } catch (failure) {
    await out.warn(safe`run ${runId} could not be proved: ${failureOf(failure).message}`);
  }
}
