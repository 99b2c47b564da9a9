/**
 * `gov quickstart`: a plane of its own with policies, an agent that pays, a person who approves, a proof, its verification
 * without network, and a changed copy that fails. What it makes in the folder for temporary files is gone at the end, also
 * after Ctrl-C and a failure. Tested by `test/cli/commands/quickstart/run.test.ts`.
 */
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { delimiter, dirname, join, relative, resolve } from 'node:path';
import { createClient, type Client } from '../../../client/create.ts';
import { makeFolder } from '../../../files/make-folder.ts';
import { limits } from '../../../contract/limits.ts';
import { parseTrust } from '../../../core/note/trust.ts';
import { shellWord } from '../../../core/shell-word.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { updateUserConfig } from '../../context/config-write.ts';
import { readRunFile } from '../../context/run-file.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { endingSignals } from '../../program/hangup.ts';
import { readPolicies } from '../../policies/file.ts';
import { payInvoices, policies, runId as demoRun, type Payment } from '../../quickstart/agent.ts';
import { startPlane, type DemoPlane } from '../../quickstart/plane.ts';
import { proofFile, proveRun, step, type QuickstartProof } from '../../quickstart/show.ts';
import { runsOf, type SourceRun } from '../../quickstart/source.ts';
import type { Out } from '../../terminal/out.ts';
import { whyUnwritable } from '../../../files/write-fault.ts';
import { safe, Safe } from '../../terminal/safe.ts';
import { plainView } from '../../terminal/view.ts';
import { wrapped } from '../../terminal/width.ts';
import type { quickstart as spec } from '../../specs/tool/quickstart.ts';

type Call = Invocation<typeof spec>;

/** The whole demonstration takes a few seconds. */
const deadlineMs = 120_000;
/** As `gov run` ends when its terminal closes. */
const hungUp = 128 + constants.signals.SIGHUP;

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out } = call;
  const runs = args.file === undefined ? [] : runsOf(args.file, flags.from ?? 'auto');
  const folder = resolve(call.io.cwd, flags.data ?? 'gov-quickstart');
  if (flags.keep && existsSync(join(folder, 'plane'))) {
    throw usage(
      `--keep: expected a folder without a plane, got ${folder}`,
      `start that plane: gov plane serve --data ${shellWord(join(folder, 'plane'))}; or give another folder: --data DIR`,
    );
  }
  makeFolders(folder);
  const ended = new QuickstartEnd(call.signal);
  const temporary = flags.keep ? null : mkdtempSync(join(tmpdir(), 'gov-quickstart-'));
  const dataDir = join(temporary ?? folder, 'plane');
  let plane: DemoPlane | undefined;
  let kept = false;
  try {
    const { planeInit } = await import('../../../../plane/data/init.ts');
    const silent = { listen: '127.0.0.1:0', metricsListen: 'off', presence: 'none' } as const;
    await planeInit({ dataDir, name: 'quickstart', ...silent });
    plane = await startPlane(dataDir, ended.signal);
    const proved = await show(call, { folder, dataDir, plane, runs, signal: ended.signal });
    if (flags.keep) {
      await keep(call, { dataDir, plane });
      kept = true;
    }
    if (!out.isJson) await next(call, { folder, dataDir, runId: proved.runId });
    return proved.verified && proved.tamperedRefused ? exit.ok : exit.checkFailed;
  } catch (cause) {
    if (ended.isHungUp) return hungUp;
    throw ended.causeOf(cause);
  } finally {
    if (!kept) await plane?.stop();
    if (temporary !== null) rmSync(temporary, { recursive: true, force: true });
    ended.release();
  }
};

/** Fires at Ctrl-C, when the terminal closes, and at the deadline. A second Ctrl-C does not cut the cleaning up short. */
class QuickstartEnd {
  readonly signal: AbortSignal;
  readonly #deadline = AbortSignal.timeout(deadlineMs);
  readonly #hangup = new AbortController();
  readonly #onHangup = (): void => this.#hangup.abort(new Error('the terminal closed'));
  readonly #again = (): void => {};

  constructor(interrupted: AbortSignal) {
    this.signal = AbortSignal.any([interrupted, this.#hangup.signal, this.#deadline]);
    if (endingSignals().includes('SIGHUP')) process.on('SIGHUP', this.#onHangup);
    process.on('SIGINT', this.#again);
    process.on('SIGTERM', this.#again);
  }

  get isHungUp(): boolean {
    return this.#hangup.signal.aborted;
  }

  causeOf(cause: unknown): unknown {
    if (!this.#deadline.aborted) return cause;
    return new CliError(exit.error, `expected to end within ${deadlineMs / 1000} s`, { cause });
  }

  release(): void {
    process.off('SIGHUP', this.#onHangup);
    process.off('SIGINT', this.#again);
    process.off('SIGTERM', this.#again);
  }
}

function makeFolders(folder: string): void {
  try {
    makeFolder(join(folder, 'policies'), 0o700);
  } catch (cause) {
    throw new CliError(exit.error, `cannot make ${folder}: ${whyUnwritable(cause)}`, {
      code: 'WRITE_FAILED',
      hint: 'give a folder that you can write: gov quickstart --data DIR',
      cause,
    });
  }
}

interface Scene {
  readonly folder: string;
  readonly dataDir: string;
  readonly plane: DemoPlane;
  readonly runs: readonly SourceRun[];
  readonly signal: AbortSignal;
}

async function show(call: Call, scene: Scene): Promise<QuickstartProof> {
  const { out } = call;
  const { plane, dataDir, folder, runs, signal } = scene;
  await step(out, 'A data plane', `serves at ${plane.baseUrl} after ${plane.startedInMs.toFixed(0)} ms`);
  const clientOf = (role: string): Client =>
    createClient({
      baseUrl: plane.baseUrl,
      apiKey: readFileSync(join(dataDir, `${role}.key`), 'utf8').trim(),
      signal,
    });
  const client = clientOf('local');
  const person = clientOf('approver');
  try {
    copyFileSync(join(dataDir, 'trust'), join(folder, 'trust'));
    const payments = runs.length === 0 ? await govern(call, { ...scene, client, person }) : [];
    await record(client, runs);
    const trust = parseTrust(readFileSync(join(dataDir, 'trust'), 'utf8'));
    const runId = runs[0]?.runId ?? demoRun;
    const proved = await proveRun({ client, out, runId, trust, folder });
    if (out.isJson) {
      const told = { ...proved, payments, folder };
      await out.one(told, plainView(Object.keys(told)));
    }
    return proved;
  } finally {
    client.close();
    person.close();
  }
}

/** Publishes the policies, and lets the agent pay under them. */
async function govern(
  { out, io }: Call,
  { folder, client, person, signal }: Scene & { readonly client: Client; readonly person: Client },
): Promise<Payment[]> {
  for (const [name, text] of Object.entries(policies)) writeFileSync(join(folder, 'policies', name), text);
  const files = await readPolicies([join(folder, 'policies')], { io, signal });
  for (const { policyId, name, condition, action, severity } of files) {
    const body = { policyId, name, condition, action, ...(severity === null ? {} : { severity }) };
    await client.createPolicy({ body });
    await client.publishPolicy({ params: { policyId }, body: {} });
  }
  await step(out, 'Policies', 'decide before the agent pays');
  if (!out.isJson) await out.lines(files.map(({ action, name }) => safe`  ${action.padEnd(8)}  ${name}`));
  await step(out, 'An agent pays', 'three invoices');
  const payments = await payInvoices(client, person, signal);
  if (!out.isJson) await out.lines(payments.flatMap((payment) => paymentLines(payment, out)));
  return payments;
}

/** `allow  184.5 to Nordlicht Papier GmbH: paid`, and why. */
function paymentLines({ to, amount, paid, reason, approvalId }: Payment, { styles, settings }: Out): Safe[] {
  const { green, red, yellow, dim } = styles;
  if (!paid)
    return [
      safe`  ${red('✗ denied')}    ${amount} to ${to}: nothing ran`,
      ...wrapped(reason, settings.tty ? settings.columns - 14 : Infinity).map((line) =>
        dim(safe`              ${line}`),
      ),
    ];
  if (approvalId === null) return [safe`  ${green('✓ allowed')}   ${amount} to ${to}: paid`];
  return [
    safe`  ${yellow('✓ approved')}  ${amount} to ${to}: approved by a key file in place of a person, then paid`,
    dim(safe`              ${approvalId}`),
  ];
}

async function record(client: Client, runs: readonly SourceRun[]): Promise<void> {
  const events = runs.flatMap((source) => source.events);
  for (let from = 0; from < events.length; from += limits.batchEvents) {
    const { body } = await client.createEvents({
      body: { events: events.slice(from, from + limits.batchEvents) },
    });
    const at = body.results.findIndex(({ status }) => status === 'rejected');
    const reason = body.results[at]?.reason;
    if (at !== -1) throw new CliError(exit.partial, `event ${from + at + 1} was rejected: ${reason ?? ''}`);
  }
}

/** Makes the context, and chooses it only if none is chosen. */
async function keep(
  { io, out }: Call,
  { dataDir, plane }: { dataDir: string; plane: DemoPlane },
): Promise<void> {
  let current = 'quickstart';
  await updateUserConfig(io.env, (config) => {
    current = config.currentContext ?? 'quickstart';
    const contexts = { ...config.contexts, quickstart: { kind: 'plane' as const, dataDir } };
    return { currentContext: current, contexts };
  });
  plane.release();
  const how = current === 'quickstart' ? 'it is the current context' : `the current context stays ${current}`;
  await out.note(safe`made the context quickstart; ${how}`);
}

async function next(
  call: Call,
  { folder, dataDir, runId }: { folder: string; dataDir: string; runId: string },
): Promise<void> {
  const { flags, out, io } = call;
  const shown = shellPath(folder, io.cwd);
  const verify = `gov proofs verify ${shown}/${proofFile} --trust ${shown}/trust`;
  const lines = flags.keep
    ? [
        verify,
        `gov runs show ${shellWord(runId)} -C quickstart`,
        'gov events list --decision deny -C quickstart',
      ]
    : [verify, 'gov plane init --data ./my-plane', 'gov plane serve --data ./my-plane'];
  const tool = toolName(io);
  const typed = lines.map((line) => safe`  ${Safe.clean(line.replace(/^gov/, () => tool))}`);
  await out.lines([safe``, out.styles.bold('Next'), ...typed]);
  const state = flags.keep
    ? `the plane keeps running; stop it: kill ${readRunFile(dataDir).pid}`
    : 'no process is left running';
  await out.note(safe`${state}; the files are in ${shown}`);
}

/** A path near the working directory is shorter without it; a word for the shell. */
function shellPath(path: string, cwd: string): string {
  const near = relative(cwd, path);
  return shellWord(near === '' ? '.' : near.startsWith('..') ? path : near);
}

/** Returns how to call this tool: its name if it is on PATH, else its path. */
function toolName({ env, cwd }: Call['io']): string {
  const onPath = (env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'gov')));
  const launcher = resolve(dirname(process.argv[1] ?? ''), '../bin/gov');
  if (onPath || !existsSync(launcher)) return 'gov';
  const near = relative(cwd, launcher);
  return near.startsWith('..') ? launcher : `./${near}`;
}
