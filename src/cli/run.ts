/** One call of the tool: parse, resolve, run, report. `test/cli/main.test.ts` runs it as a child process. */
import type { ClientNote } from '../client/create.ts';
import type { OperationId } from '../contract/table.ts';
import type { Invocation } from './program/command.ts';
import { loaders } from './commands/loaders.ts';
import { CliError, exit } from './program/exit.ts';
import { OutputClosed, Writer } from './terminal/io.ts';
import type { Io } from './terminal/io.ts';
import { Out } from './terminal/out.ts';
import { parse } from './program/parse.ts';
import type { ParsedCommand } from './program/parse.ts';
import { safe, stylesFor } from './terminal/safe.ts';
import { Session } from './context/session.ts';
import { plainSettings, resolveSettings, wantsJsonErrors } from './context/settings.ts';

/** Why the work was ended from outside. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly exit: number;

  constructor(signal: 'SIGINT' | 'SIGTERM') {
    super(`ended by ${signal}`);
    this.exit = signal === 'SIGINT' ? exit.interrupted : exit.terminated;
  }
}

/** SIGINT and SIGTERM fire the signal once; a second one meets the system's own handling. */
function onSignals(stop: AbortController): () => void {
  const names = ['SIGINT', 'SIGTERM'] as const;
  const handlers = names.map((name) => [name, () => stop.abort(new Interrupted(name))] as const);
  for (const [name, handler] of handlers) process.once(name, handler);
  return () => {
    for (const [name, handler] of handlers) process.off(name, handler);
  };
}

/** Resolves to the exit code once all output has left. Total: failures are reported and become codes. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const streams = { stdout: new Writer(io.stdout), stderr: new Writer(io.stderr, 'ignore errors') };
  const stop = new AbortController();
  let out = new Out(streams, plainSettings(io), io.now);
  let asJson = wantsJsonErrors(argv, io.env);
  let release = (): void => {};
  try {
    const parsed = parse(argv, io.now());
    if (parsed.kind === 'text') {
      const { color, columns } = resolveSettings({ color: parsed.globals['color'], output: 'table' }, io);
      await out.line(parsed.write({ styles: stylesFor(color), columns }));
    } else {
      out = new Out(streams, resolveSettings(parsed.globals, io, parsed.spec.formats), io.now);
      asJson = out.isJson;
      if (parsed.spec.ownsSignals !== true) release = onSignals(stop);
      out.verdict = await execute(parsed, { out, io, signal: stop.signal });
    }
    await out.flush();
    return stop.signal.reason instanceof Interrupted ? stop.signal.reason.exit : out.verdict;
  } catch (thrown) {
    if (stop.signal.reason instanceof Interrupted) return stop.signal.reason.exit;
    if (thrown instanceof OutputClosed) return out.verdict;
    return (await out.fail(thrown, asJson)).exit;
  } finally {
    release();
  }
}

interface Surroundings {
  readonly out: Out;
  readonly io: Io;
  readonly signal: AbortSignal;
}

async function execute(parsed: ParsedCommand, { out, io, signal }: Surroundings): Promise<number> {
  const { settings } = out;
  const session = new Session({
    settings,
    io,
    signal,
    role: parsed.spec.name.startsWith('approvals ') ? 'approver' : 'operator',
    observe: (note) => void observe(note, out),
    warn: (text) => void out.warn(safe`${text}`),
  });
  // args and flags were read by this spec, which is also what types the command
  const invocation = { ...parsed, settings, session, out, io, signal } as unknown as Invocation<never>;
  try {
    if (parsed.spec.changes !== undefined && session.unnamedProduction() !== null) {
      const { guardProduction, isChange } = await import('./program/guard.ts');
      if (isChange(parsed.spec, parsed.flags)) await guardProduction(session, { out, io, signal });
    }
    return (await start(parsed, invocation)) ?? exit.ok;
  } finally {
    session.close();
  }
}

async function start({ spec }: ParsedCommand, invocation: Invocation<never>): Promise<number | void> {
  const load = loaders[spec.name];
  if (load !== undefined) return (await load()).run(invocation);
  if (spec.operation === undefined) throw new CliError(exit.error, `nothing runs ${spec.name}`);
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
  }
}
const nothing = Promise.resolve();
