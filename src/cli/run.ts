/** One call of the tool: parse, resolve settings, run, report. Tested by `test/cli/main.test.ts` as a child process. */
import type { ClientNote } from '../client/create.ts';
import type { OperationId } from '../contract/table.ts';
import type { Invocation } from './context/command.ts';
import { withoutAlias } from './grammar/alias.ts';
import { kebab } from './program/flags.ts';
import type { CommandSpec, FlagSpec } from './program/spec.ts';
import { load } from './commands/loaders.ts';
import { specsOf } from './specs/all.ts';
import { exit, usage } from './program/exit.ts';
import { OutputClosedError, Writer } from './terminal/io.ts';
import type { Io } from './terminal/io.ts';
import { Out } from './terminal/out.ts';
import { parse } from './grammar/parse.ts';
import type { ParsedCommand } from './grammar/parse.ts';
import { safe, stylesFor } from './terminal/safe.ts';
import { roleOf } from './context/place.ts';
import { Session } from './context/session.ts';
import { plainSettings, resolveSettings, wantsJsonErrors, withoutFiles } from './context/settings.ts';
import type { Settings } from './context/settings.ts';

/** A signal ended the work. */
class InterruptError extends Error {
  override readonly name = 'Interrupted';
  readonly exit: number;

  constructor(signal: 'SIGINT' | 'SIGTERM') {
    super(`ended by ${signal}`);
    this.exit = signal === 'SIGINT' ? exit.interrupted : exit.terminated;
  }
}

/** SIGINT and SIGTERM fire the signal once. A second one ends the process, as the system does by default. */
function onSignals(stop: AbortController): () => void {
  const names = ['SIGINT', 'SIGTERM'] as const;
  const handlers = names.map((name) => [name, () => stop.abort(new InterruptError(name))] as const);
  for (const [name, handler] of handlers) process.once(name, handler);
  return () => {
    for (const [name, handler] of handlers) process.off(name, handler);
  };
}

/** Returns the exit code after all output has left. Never throws: a failure is printed and becomes an exit code. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const streams = { stdout: new Writer(io.stdout), stderr: new Writer(io.stderr, 'ignore errors') };
  const stop = new AbortController();
  let out = new Out(streams, plainSettings(io), io.now);
  let asJson = wantsJsonErrors(argv, io.env);
  let release = (): void => {};
  let listing: string | undefined;
  try {
    const words = withoutAlias(argv, io);
    asJson = wantsJsonErrors(words, io.env);
    const parsed = parse(words, io.now(), io.cwd);
    if (parsed.kind === 'text') {
      const { color, columns } = helpSettings(parsed.globals['color'], io);
      await out.line(parsed.write({ styles: stylesFor(color), columns }));
    } else {
      const settings = settingsFor(parsed, io);
      out = new Out(streams, settings, io.now);
      asJson = out.isJson;
      out.keepsWhole = parsed.spec.changes !== undefined;
      await out.checkShape();
      listing = listingOf(parsed.spec);
      if (parsed.spec.ownsSignals !== true) release = onSignals(stop);
      out.verdict = await execute(parsed, { settings, out, io, signal: stop.signal });
    }
    await out.flush();
    return stop.signal.reason instanceof InterruptError ? stop.signal.reason.exit : out.verdict;
  } catch (thrown) {
    if (stop.signal.reason instanceof InterruptError) return stop.signal.reason.exit;
    if (thrown instanceof OutputClosedError) return out.verdict;
    return (await out.fail(thrown, asJson, listing)).exit;
  } finally {
    release();
  }
}

/** Some commands repair what is wrong with a configuration file. Flags and variables count for them too. */
function settingsFor({ spec, globals }: ParsedCommand, io: Io): Settings {
  try {
    return resolveSettings(globals, io, spec.formats);
  } catch (cause) {
    if (spec.withoutSettings !== true) throw cause;
    return resolveSettings(globals, withoutFiles(io), spec.formats);
  }
}

/** The flag --help also works with a broken configuration file: its reader may look for a way to correct the file. */
function helpSettings(color: string | boolean | undefined, io: Io): Settings {
  try {
    return resolveSettings({ color, output: 'table' }, io);
  } catch (cause) {
    if (color !== undefined) throw cause;
    return plainSettings(io);
  }
}

/** Lists of what an argument or a flag names, where the noun of the command does not say it. */
const listsOf: Readonly<Record<string, string>> = {
  runId: 'runs list',
  webhookDeliveryId: 'webhooks deliveries',
  template: 'report templates list',
};

/** Returns the command that lists what this command works on, such as `gov report schedules list` for `… get`. */
function listingOf({ name, args = [], flags = {} }: CommandSpec): string | undefined {
  const group = name.slice(0, name.lastIndexOf(' '));
  const [named = flags['run'] === undefined ? '' : 'runId'] = args.map((arg) => arg.name);
  const listing = listsOf[named] ?? `${group} list`;
  const list = specsOf(listing.split(' ', 1)[0] ?? '').find((spec) => spec.name === listing);
  if (list === undefined || list.name === name) return undefined;
  const required = Object.entries<FlagSpec>(list.flags ?? {}).filter(([, flag]) => flag.required === true);
  return ['gov', list.name, ...required.map(([flag, { value }]) => `--${kebab(flag)} ${value ?? ''}`)].join(
    ' ',
  );
}

interface Surroundings {
  readonly settings: Settings;
  readonly out: Out;
  readonly io: Io;
  readonly signal: AbortSignal;
}

async function execute(parsed: ParsedCommand, { settings, out, io, signal }: Surroundings): Promise<number> {
  const session = new Session({
    settings,
    io,
    signal,
    role: roleOf(parsed.spec.name),
    signChange: async (dataDir, change) =>
      (await import('./approvals/sign-change.ts')).signedChange(dataDir, change, io.env),
    observe: (note) => void observe(note, out),
    warn: (text) => void out.warn(safe`${text}`),
  });
  // the spec that typed the command has also read args and flags
  const invocation = { ...parsed, settings, session, out, io, signal } as unknown as Invocation<never>;
  refuseEnvironment(parsed);
  try {
    if (parsed.spec.changes !== undefined) {
      const { guardProduction, isChange, nameTarget } = await import('./context/guard.ts');
      if (isChange(parsed.spec, { ...parsed.args, ...parsed.flags })) {
        await guardProduction(session, { out, io, signal });
        if (!withoutTarget.test(parsed.spec.name)) await nameTarget(session, { out, io });
      }
    }
    return (await start(parsed, invocation)) ?? exit.ok;
  } catch (thrown) {
    if (!(thrown instanceof Error && thrown.name.startsWith('Gov'))) throw thrown;
    const { elsewhere } = await import('./context/target.ts');
    throw elsewhere(thrown, parsed.spec.name, { session, io });
  } finally {
    session.close();
  }
}

/** Nouns that work on this machine, or on the data plane of --data: no context says where, and no --env. */
const ofThisMachine =
  /^(?:plane|service|witness|log|forward|quickstart|version|doctor|alias|help|commands|completion)(?: |$)/;

/** Commands that speak to an agent, or that say themselves which plane they change, name no target before they write. */
const withoutTarget = new RegExp(`${ofThisMachine.source}|^(?:hook|mcp|agents|run)(?: |$)`);

/** A flag without an effect would leave the user in the belief of a sandbox. Errors: exit 2. */
function refuseEnvironment({ spec, globals }: ParsedCommand): void {
  if (globals['env'] === undefined || !ofThisMachine.test(spec.name)) return;
  const own = spec.flags?.['environment'] === undefined ? 'leave it out' : 'use --environment';
  throw usage(`--env: gov ${spec.name} does not choose an environment of a service`, own);
}

async function start({ spec }: ParsedCommand, invocation: Invocation<never>): Promise<number | void> {
  if (spec.operation === undefined) return (await load(spec.name)).run(invocation);
  const { runOperation } = await import('./commands/generated.ts');
  // generated specs carry the id of their row
  return runOperation(spec.operation as OperationId, invocation);
}

function observe(note: ClientNote, out: Out): Promise<void> {
  switch (note.kind) {
    case 'request':
      return out.settings.debug === 'http'
        ? out.debug(safe`> ${note.method} ${note.url} (${note.bytes} bytes)`)
        : nothing;
    case 'response': {
      const text = safe`< ${note.status} in ${Math.round(note.ms)} ms, request id ${note.requestId ?? 'none'}`;
      return out.settings.debug === 'http' ? out.debug(text) : nothing;
    }
    case 'retry':
      return out.detail(safe`attempt ${note.attempt} failed: ${note.reason}; again in ${note.delayMs} ms`);
    case 'unrecorded':
      return out.warn(safe`${note.eventType} of ${note.tool} could not be recorded: ${note.reason}`);
  }
}
const nothing = Promise.resolve();
