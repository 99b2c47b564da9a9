/** `gov mcp wrap CLIENT [CONFIG]`. Tested by `test/cli/commands/mcp/wrap.test.ts`. */
import { existsSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { GovError } from '../../../contract/problems.ts';
import { shellWord } from '../../../core/shell-word.ts';
import {
  applied,
  diffLines,
  kept,
  reversed,
  type Edit,
  type ServerList,
  type ServerEntry,
} from '../../mcp/wrap/edits.ts';
import { launcherOf, type Launcher } from '../../agents/mcp/proxied.ts';
import { homeOf } from '../../context/config.ts';
import { serversInJson } from '../../mcp/wrap/json-config.ts';
import { serversInToml } from '../../mcp/wrap/toml-config.ts';
import { spelledName } from '../../mcp/server-name.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { unreadable } from '../../program/flags.ts';
import { safe } from '../../terminal/safe.ts';
import type { mcpWrap as spec } from '../../specs/decide/mcp.ts';

type WrapCall = Invocation<typeof spec>;
type ClientName = 'claude' | 'claude-code' | 'codex' | 'cursor' | 'gemini';

export const run: Run<typeof spec> = async (invocation) => {
  const { flags } = invocation;
  const path = configOf(invocation);
  const text = readLatin1(path);
  const notes = `${path}.gov-mcp-wrap.json`;
  return flags.undo ? undo(invocation, { path, text, notes }) : wrap(invocation, { path, text, notes });
};

interface Files {
  readonly path: string;
  readonly text: string;
  /** The file that keeps what was replaced. */
  readonly notes: string;
}

async function wrap(invocation: WrapCall, { path, text, notes }: Files): Promise<number> {
  const { out } = invocation;
  const { servers, others } = serversIn(path, text);
  const { program } = invocation.flags;
  const launcher: Launcher = program === undefined ? launcherOf(invocation.io.env) : [program];
  const fresh = servers
    .filter((server) => !isWrapped(server))
    .map((server) => editOf(server, text, { invocation, launcher }));
  // edits of an earlier call stay known, where they are now
  const earlier = existsSync(notes) ? reversed(text, readFileSync(notes, 'latin1')).edits.map(flipped) : [];
  await show(invocation, { path, text, edits: fresh });
  for (const { name, why } of others)
    await out.warn(safe`${name} is not wrapped: ${why}${adviceFor(name, why)}`);
  if (!invocation.flags.dryRun && fresh.length > 0) {
    // the notes for --undo come first, so that a crash in between leaves the configuration unchanged
    replace(notes, kept([...earlier, ...fresh].toSorted((a, b) => a.from - b.from)));
    replace(path, applied(text, fresh));
  }
  return others.length > 0 ? exit.partial : exit.ok;
}

async function undo(invocation: WrapCall, { path, text, notes }: Files): Promise<number> {
  const { out, flags } = invocation;
  if (!existsSync(notes))
    throw usage(`expected ${notes}, which gov mcp wrap leaves, found none: nothing is wrapped`);
  const { edits, lost } = reversed(text, readFileSync(notes, 'latin1'));
  await show(invocation, { path, text, edits });
  for (const name of lost) await out.warn(safe`${name} was edited after it was wrapped; restore it by hand`);
  if (!flags.dryRun) {
    replace(path, applied(text, edits));
    if (lost.length === 0) rmSync(notes);
  }
  return lost.length > 0 ? exit.partial : exit.ok;
}

const flipped = ({ name, from, before, after }: Edit): Edit => ({ name, from, before: after, after: before });

function serversIn(path: string, text: string): ServerList {
  try {
    return path.endsWith('.toml') ? serversInToml(text) : serversInJson(Buffer.from(text, 'latin1'));
  } catch (cause) {
    if (!(cause instanceof GovError || cause instanceof SyntaxError)) throw cause;
    throw new CliError(exit.usage, `${path} cannot be edited safely: ${cause.message}`, {
      code: 'UNREADABLE',
      cause,
    });
  }
}

/** A client starts no program for a server at a URL, so a person has to start the proxy. */
function adviceFor(name: string, why: string): string {
  const [, url] = /^it is at (\S+)$/.exec(why) ?? [];
  if (url === undefined) return '';
  const proxy = `gov mcp proxy --name ${shellWord(spelledName(name))} --url ${shellWord(url)} --listen 127.0.0.1:7480`;
  return `. Run a proxy for it, and write the address that it prints into the configuration: ${proxy}`;
}

/** The words after `bin/gov`, or after Node and `gov.cjs`. */
const isWrapped = ({ args }: ServerEntry): boolean => {
  const [noun, verb] = args[0]?.endsWith('/gov.cjs') === true ? args.slice(1) : args;
  return noun === 'mcp' && verb === 'proxy';
};

function editOf(
  server: ServerEntry,
  text: string,
  { invocation: { globals }, launcher }: { invocation: WrapCall; launcher: Launcher },
): Edit {
  const { name, command, args, from, to } = server;
  const context = typeof globals['context'] === 'string' ? ['-C', globals['context']] : [];
  const [program, ...first] = launcher;
  const proxy = ['mcp', 'proxy', ...context, '--name', spelledName(name), '--', command, ...args];
  return { name, from, before: text.slice(from, to), after: server.rewrite(program, [...first, ...proxy]) };
}

async function show(
  { out, flags }: WrapCall,
  { path, text, edits }: { path: string; text: string; edits: readonly Edit[] },
): Promise<void> {
  const names = edits.map(({ name }) => name);
  if (out.isJson) return out.json({ config: path, dryRun: flags.dryRun, undo: flags.undo, servers: names });
  if (flags.dryRun) {
    const shown = (line: string): string => Buffer.from(line, 'latin1').toString();
    const lines = edits.flatMap((edit) => diffLines(text, edit));
    return out.lines([safe`--- ${path}`, safe`+++ ${path}`, ...lines.map((line) => safe`${shown(line)}`)]);
  }
  const done = flags.undo ? 'restored' : 'wrapped';
  return out.line(safe`${path}: ${done} ${names.length === 0 ? 'no server' : names.join(', ')}`);
}

const claude = ['.mcp.json', '~/.claude.json'];
const places: Readonly<Record<ClientName, readonly string[]>> = {
  claude,
  // as gov agents names it
  'claude-code': claude,
  codex: ['$CODEX_HOME/config.toml', '~/.codex/config.toml'],
  cursor: ['.cursor/mcp.json', '~/.cursor/mcp.json'],
  gemini: ['.gemini/settings.json', '~/.gemini/settings.json'],
};

/** The given file, or the first place of the client that exists. */
function configOf({ args, io }: WrapCall): string {
  if (!Object.hasOwn(places, args.client))
    throw usage(`expected one of ${Object.keys(places).join(', ')}, got ${JSON.stringify(args.client)}`);
  const candidates = args.config === undefined ? places[args.client as ClientName] : [args.config];
  const home = homeOf(io.env);
  const paths = candidates
    .map((place) =>
      place.replace(/^~/, home).replace('$CODEX_HOME', io.env['CODEX_HOME'] ?? join(home, '.codex')),
    )
    .map((place) => resolve(io.cwd, place));
  const found = paths.find((path) => existsSync(path));
  if (found !== undefined) return realpathSync(found);
  const looked = [...new Set(paths)].join(' or ');
  throw new CliError(exit.notFound, `found no configuration of ${args.client} at ${looked}`, {
    code: 'NOT_FOUND',
  });
}

function readLatin1(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

/** A crash leaves the old file or the new one. */
function replace(path: string, text: string): void {
  const draft = join(dirname(path), `.${basename(path)}.gov-draft`);
  const mode = existsSync(path) ? statSync(path).mode & 0o777 : 0o600;
  writeFileSync(draft, text, { encoding: 'latin1', mode, flush: true });
  renameSync(draft, path);
}
