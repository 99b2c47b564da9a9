/**
 * Whether the calls of each client on this machine are governed: what `gov agents doctor` reports.
 * Tested by `test/cli/agents/doctor.test.ts`.
 */
import { existsSync } from 'node:fs';
import { createClient } from '../../client/create.ts';
import { clientTitles, type AgentClient } from '../../core/agents/clients.ts';
import { limits } from '../../contract/limits.ts';
import type { Variables } from '../context/config.ts';
import { CliError } from '../program/exit.ts';
import { reach } from './connection-file.ts';
import { textAt } from './install.ts';
import { isClosedBy, openSettings, type OpenSetting } from './open-settings.ts';
import { usesOf } from './setting-uses.ts';
import { codexHooks, findProgram, isTooOld, isProgram, type Program } from './program.ts';
import {
  nothing,
  pathsIn,
  scopes,
  type Edit,
  type FileEffect,
  type Scope,
  type Setup,
} from './setup/edit.ts';

export interface ClientReport {
  readonly client: AgentClient;
  readonly title: string;
  /** Path of the program; null: not found. */
  readonly found: string | null;
  readonly version: string | null;
  /** Where hooks are; null: nowhere. */
  readonly installed: Scope | null;
  /** Null: the client knows no trust in hooks, or nobody could ask it. */
  readonly trusted: boolean | null;
  readonly failsClosed: boolean;
  readonly reachable: boolean;
  /** The version that this set-up was run against; null: not tested. */
  readonly tested: string | null;
  readonly problems: readonly string[];
  /** The known ways around the hooks, each with what closes it. */
  readonly settings: readonly SettingReport[];
}

/** `unknown`: the client is not here, or did not say its version; what a file says then proves nothing. */
interface SettingReport extends Pick<OpenSetting, 'id' | 'title' | 'closes' | 'measured'> {
  readonly state: 'open' | 'closed' | 'unknown' | 'no setting';
  /** Files that make use of it. */
  readonly usedIn: readonly string[];
}

interface Around {
  readonly env: Variables;
  readonly cwd: string;
  readonly etc: string;
  /** Time limit of each program and of the question to the plane. */
  readonly timeoutMs?: number;
}

interface Installed {
  readonly scope: Scope;
  readonly look: FileEffect;
}

/** Where the hooks of a set-up are, those of an administrator first. */
export function installedAt(setup: Setup, { env, etc }: Pick<Around, 'env' | 'etc'>): Installed | null {
  for (const scope of scopes.toReversed()) {
    const looks = setup.edits({ env, etc, scope }, nothing).map(lookAt);
    const lines = looks.flatMap((look) => look.lines);
    if (lines.length === 0) continue;
    const settings = Object.assign({}, ...looks.map((look) => look.settings ?? {}));
    return { scope, look: { lines, holes: looks.flatMap((look) => look.holes), settings } };
  }
  return null;
}

/** A file that cannot be read has no hook that anybody knows of. */
function lookAt(edit: Edit): FileEffect {
  try {
    return edit.look(textAt(edit.path));
  } catch (cause) {
    return { lines: [], holes: [faultOf(cause)] };
  }
}

function faultOf(cause: unknown): string {
  if (cause instanceof CliError) return cause.message;
  throw cause;
}

/** Files without a hook of gov because they cannot be read: the client may read them, or ignore them as a whole. */
const oddFiles = (setup: Setup, { env, etc }: Around): string[] =>
  scopes.flatMap((scope) =>
    setup.edits({ env, etc, scope }, nothing).flatMap((edit) => {
      try {
        edit.look(textAt(edit.path));
        return [];
      } catch (cause) {
        return [faultOf(cause)];
      }
    }),
  );

/** Runs the program once or twice, and asks the plane once. */
export async function inspect(setup: Setup, around: Around): Promise<ClientReport> {
  const { client, tested } = setup;
  const program = await findProgram(setup, around.env, around.timeoutMs);
  const installed = installedAt(setup, around);
  const holes: string[] = [];
  const faults: string[] = [];
  holes.push(...oddFiles(setup, around));
  const settings = settingsOf(client, { program, installed, around });
  if (installed === null) holes.push('no hooks: gov agents install');
  else
    holes.push(
      ...installed.look.holes,
      ...(installed.look.lines.length > 1 ? ['two hooks of gov: gov agents install'] : []),
    );
  if (isTooOld(program, setup))
    holes.push(`expected ${clientTitles[client]} ${setup.oldest} or newer, got ${program?.version}`);
  if (installed !== null) holes.push(...settings.flatMap(problemOf));
  const line = installed?.look.lines[0];
  const missing = line === undefined ? [] : missingIn(line);
  faults.push(...missing);
  const trusted = await trustOf(client, { program, isInstalled: installed !== null, around });
  if (trusted === false) holes.push('Codex does not trust the hooks, and skips them: gov agents install');
  if (line !== undefined) holes.push(...unpinned(line));
  const reachable = line === undefined ? null : await planeFault(line, around);
  if (reachable !== null) faults.push(reachable);
  return {
    client,
    title: clientTitles[client],
    found: program?.path ?? null,
    version: program?.version ?? null,
    installed: installed?.scope ?? null,
    trusted,
    failsClosed: holes.length === 0,
    reachable: line !== undefined && reachable === null,
    tested,
    problems: [...holes, ...faults],
    settings,
  };
}

/** What is open and could be closed, and what nobody knows; null for the others. */
function problemOf({ id, title, state, closes, usedIn }: SettingReport): string[] {
  if (state === 'unknown')
    return [`unknown: ${id}, because the client is not on PATH or did not say its version`];
  if (state !== 'open') return [];
  const used = usedIn.length === 0 ? '' : ` (${usedIn.join(', ')} uses it)`;
  return [`open: ${title}${used}; close it with ${closes}`];
}

function settingsOf(
  client: AgentClient,
  { program, installed, around }: { program: Program | null; installed: Installed | null; around: Around },
): SettingReport[] {
  const isKnown = program?.version !== undefined && program.version !== null;
  return openSettings
    .filter((open) => open.client === client)
    .map((open) => {
      const { id, title, closes, measured } = open;
      const usedIn = usesOf(open, around);
      const isClosed = installed?.scope === open.scope && isClosedBy(open, installed.look.settings ?? {});
      if (open.scope === null) {
        const own = usedIn.length > 0 && open.removable;
        return {
          id,
          title,
          measured,
          usedIn,
          state: own ? ('open' as const) : ('no setting' as const),
          closes: own ? `removing it from ${usedIn.join(', ')}` : closes,
        };
      }
      const state = isClosed ? (isKnown ? 'closed' : 'unknown') : 'open';
      return { id, title, closes, measured, usedIn, state };
    });
}

/** A hook that cannot start blocks each call. */
function missingIn(line: string): string[] {
  const [node = '', ...others] = pathsIn(line);
  const missing = [...(isProgram(node) ? [] : [node]), ...others.filter((path) => !existsSync(path))];
  return missing.map((path) => `${path} is missing, so every call is blocked: gov agents install`);
}

/** A connection without TLS and without a pin sends its key to the program that answers there. */
function unpinned(line: string): string[] {
  const [, , config = ''] = pathsIn(line);
  try {
    const { baseUrl, pin } = reach(config);
    if (pin !== null || new URL(baseUrl).protocol === 'https:') return [];
    return [
      `open: another program at ${baseUrl} gets the key of the hooks; close it with gov agents install`,
    ];
  } catch {
    return []; // what is wrong with the file is a fault of its own
  }
}

/** Why the plane gives no decision with the key of the hook; null if it does. */
async function planeFault(
  line: string,
  { timeoutMs = limits.hookSeconds * 1000 }: Around,
): Promise<string | null> {
  const [, , config = ''] = pathsIn(line);
  try {
    const { baseUrl, key, ca, pin } = reach(config);
    const pinned = pin === null ? {} : { pin };
    const client = createClient({ baseUrl, apiKey: key, ca, env: {}, retries: 0, timeoutMs, ...pinned });
    try {
      await client.evaluateTool({
        body: { tool: { name: 'gov agents doctor' }, arguments: {}, dryRun: true },
      });
      return null;
    } finally {
      client.close();
    }
  } catch (cause) {
    return `no decisions, so every call is blocked: ${cause instanceof Error ? cause.message : String(cause)}`;
  }
}

async function trustOf(
  client: AgentClient,
  { program, isInstalled, around }: { program: Program | null; isInstalled: boolean; around: Around },
): Promise<boolean | null> {
  if (client !== 'codex' || program === null || !isInstalled) return null;
  const hooks = await codexHooks(program.path, around);
  return hooks === null ? null : hooks.length > 0 && hooks.every(({ runs }) => runs);
}
