/**
 * The canonical action of a call, `gov.action/1`: a pure function of client, tool, arguments and the caller's facts. The hook runs it
 * to learn which paths to resolve; the plane runs it again and trusts its own result alone.
 *
 *   actionHash = SHA-256("gov.action/1" "\n" JCS(action))
 *
 * Proven by `test/core/action/canonical.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { sha256Text } from '../hash.ts';
import { canonicalText, type Json } from '../json/canonical.ts';
import { isObject } from '../json/object.ts';
import {
  actionEngine,
  type Action,
  type ActionCommand,
  type ActionFacts,
  type ActionKind,
  type PathUse,
  type ToolUse,
} from './shape.ts';
import { clientTool, isKnownClient, type ClientTool } from './client-tools.ts';
import { hostOf } from './host.ts';
import { endpointOf, endpointsOf, hostsOf } from './host-uses.ts';
import { fileLines, patchText } from './large-content.ts';
import { moneyOf } from './money.ts';
import { environmentFile } from './own-files.ts';
import { pathsOf, pathUses } from './path-uses.ts';
import { joined } from './places.ts';
import { readLine } from './shell-line.ts';

/** Returns `sha256:…`. */
export const actionHash = (action: Action): string => sha256Text(`${actionEngine}\n${canonicalText(action)}`);

/** Returns what a call does. An attacker controls all of it. Cost: linear in the arguments, at most about 1 ms for 32 KiB. */
export function actionOf(use: ToolUse): Action {
  const { tool, server, client, facts } = use;
  const base = (kind: ActionKind): Action => ({ ...nothing, kind, plane: endpointOf(facts.plane ?? '') });
  if (server !== null) return mcpAction(use, server);
  const known = clientTool(client, tool);
  const kind = known?.kind ?? (isKnownClient(client) ? 'unknown' : 'call');
  if (known === undefined) {
    const money = kind === 'call' ? moneyOf({ ...use.arguments }) : null;
    return { ...base(kind), ...hidden, code: null, ...(money === null ? {} : { money }) };
  }
  switch (kind) {
    case 'shell':
    case 'exec':
      return shellAction(use, known.command ?? 'command', base(kind));
    case 'terminal':
    case 'code':
      return { ...base(kind), ...hidden, code: [kind === 'code' ? `inline ${tool}` : 'terminal input'] };
    default:
      return bounded({ ...base(kind), paths: toolPaths(use, known), ...toolHosts(use, known) });
  }
}

/** Paths of a call whose links a hook resolves before it asks, and whether the call runs git. */
export interface NamedPaths {
  readonly paths: readonly string[];
  readonly usesGit: boolean;
}

/**
 * Returns the paths of a call, with the folders that `..` leaves. It computes nothing else, because a hook waits for it.
 */
export function namedPaths(use: ToolUse): NamedPaths {
  const named: ToolUse = { ...use, facts: { ...use.facts, namesLinks: true } };
  const known = clientTool(use.client, use.tool);
  if (use.server !== null) return pathsOnly([], false);
  if (known?.kind !== 'shell') return pathsOnly(known === undefined ? [] : toolPaths(named, known), false);
  const { commands, line, here } = shellReading(named, known.command ?? 'command');
  const paths = (commands ?? []).flatMap((command) => commandPaths(command, line, here));
  return pathsOnly(paths, commands?.some(({ program }) => program === 'git') === true);
}

function pathsOnly(uses: readonly PathUse[], usesGit: boolean): NamedPaths {
  const paths = new Set(uses.flatMap(({ path }) => (path === null ? [] : [path])));
  return { paths: [...paths], usesGit };
}

const nothing: Omit<Action, 'kind' | 'plane'> = {
  engine: actionEngine,
  commands: [],
  paths: [],
  hosts: [],
  endpoints: [],
  code: [],
  mcp: null,
};
/** Only what runs knows it. */
const hidden = { commands: null, paths: null, hosts: null, endpoints: null } as const;

/** An action with more paths or hosts than are listed says none of them. */
function bounded(action: Action): Action {
  const isLarge =
    (action.paths?.length ?? 0) > limits.actionPaths ||
    (action.hosts?.length ?? 0) > limits.actionHosts ||
    (action.endpoints?.length ?? 0) > limits.actionHosts;
  return isLarge ? { ...action, ...hidden, code: ['unreadable'] } : action;
}

/** The commands of a call of a shell; null for a line that cannot be read. `here`: the facts in the folder of the call. */
function shellReading({ arguments: given, facts }: ToolUse, member: string) {
  const line = commandLine(given[member]);
  const { workdir } = given;
  const cwd = typeof workdir === 'string' ? folderOf(facts.cwd ?? null, workdir) : facts.cwd;
  const here: ActionFacts = {
    ...facts,
    cwd: workdir !== undefined && typeof workdir !== 'string' ? null : (cwd ?? null),
  };
  const reading = line === null ? null : readLine(line, here);
  const { commands = null, code = [], readsEnvironment = false } = reading ?? {};
  const madeLinks = (commands ?? []).flatMap(linksOf);
  return { commands, code, readsEnvironment, line: line ?? '', here: { ...here, madeLinks } };
}

function shellAction(use: ToolUse, member: string, base: Action): Action {
  const { commands, code, readsEnvironment, line, here } = shellReading(use, member);
  if (commands === null) return { ...base, ...hidden, code: ['unreadable'] };
  const paths = commands.flatMap((command) => commandPaths(command, line, here));
  if (readsEnvironment) paths.push(...pathUses(environmentFile, 'read', { cwd: null, facts: here }));
  return bounded({
    ...base,
    commands,
    paths: distinct(paths),
    hosts: [...new Set(commands.flatMap((command) => hostsOf(command, here)))],
    endpoints: [...new Set(commands.flatMap(endpointsOf))],
    code,
  });
}

function commandPaths(command: ActionCommand, line: string, facts: ActionFacts): PathUse[] {
  const paths = pathsOf(command, command.program === 'ln' ? { ...facts, madeLinks: [] } : facts);
  const { program, args, cwd } = command;
  const runsPatch = /^apply_?patch$/.test(program) || args.some((arg) => arg?.startsWith('--codex-run-as-'));
  if (!runsPatch) return paths;
  const patch = patchDocument.test(line) ? line : args.length === 1 ? (args[0] ?? null) : null;
  return [...paths, ...patchPaths(patch, { cwd, facts })];
}

/** The symbolic links that a command makes, as far as its words say. */
function linksOf({ program, flags, operands, cwd }: ActionCommand): { link: string; target: string }[] {
  if (program !== 'ln' || cwd === null || !flags.some((flag) => flag === '-s' || flag === '--symbolic'))
    return [];
  const words = operands.filter((word) => word !== null);
  const last = words.length > 1 ? (words.at(-1) ?? '.') : '.';
  return words.slice(0, Math.max(1, words.length - 1)).flatMap((word) => {
    const name = word.split('/').findLast((part) => part !== '') ?? '';
    const links = [joined(cwd, last), ...(/^\.{0,2}$/.test(name) ? [] : [joined(cwd, `${last}/${name}`)])];
    return links.map((link) => ({ link, target: joined(joined(link, '..'), word) }));
  });
}

/** A line that gives `apply_patch` a document and does nothing else: Codex 0.171 applies it without a shell. */
const patchDocument = /^\s*(?:cd [^\n;&|<>]+&& *)?apply_?patch *<<-? *(['"])(\w+)\1 *\n[^]*\n\2\s*$/;

/** Texts as one line; a list of words as a line, and `["bash", "-lc", LINE]` as the line. */
export function commandLine(value: Json | undefined): string | null {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return null;
  const words = value.filter((word) => typeof word === 'string');
  if (words.length !== value.length || words.length === 0) return null;
  const [program = '', option = '', line = ''] = words;
  if (words.length === 3 && /(?:^|\/)(?:ba|z|da|k)?sh$/.test(program) && /^-[a-z]*c$/.test(option))
    return line;
  return words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
}

const folderOf = (cwd: string | null, folder: string): string | null =>
  folder.startsWith('/') || cwd !== null ? joined(cwd ?? '/', folder) : null;

function distinct(uses: readonly PathUse[]): PathUse[] {
  return [
    ...new Map(uses.map((use) => [`${use.access} ${use.path === null ? '' : `=${use.path}`}`, use])).values(),
  ];
}

function toolPaths(
  { arguments: given, facts }: ToolUse,
  { kind, patch, paths, access = 'any' }: ClientTool,
): PathUse[] {
  const place = { cwd: facts.cwd ?? null, facts };
  if (patch !== undefined)
    return patchPaths(
      patch.map((name) => given[name]).find((each) => each !== undefined),
      place,
    );
  if (paths === undefined) return [];
  const value = paths.map((name) => given[name]).find((each) => each !== undefined && each !== null);
  if (value === undefined) {
    // a search without a folder looks in the current one
    return kind === 'search' || kind === 'read'
      ? pathUses('.', access, place)
      : pathUses(null, access, place);
  }
  const texts = Array.isArray(value) ? value : [value];
  return distinct(texts.flatMap((text) => pathUses(typeof text === 'string' ? text : null, access, place)));
}

/** The files that a patch names, in the form of Codex or as a unified diff. */
function patchPaths(patch: Json | undefined, place: Parameters<typeof pathUses>[2]): PathUse[] {
  const text = patchText(patch);
  if (text === null) return pathUses(null, 'write', place);
  const found: PathUse[] = [];
  for (const line of fileLines(text)) {
    const [, verb = '', path = ''] =
      /\*\*\* (Add File|Update File|Delete File|Move to):(.*)$/s.exec(line) ?? [];
    const [, changed = ''] = /\+\+\+ (?:b\/)?([^\t]+)/.exec(line) ?? [];
    const named = (path || changed).trim();
    // OpenCode ends the path at a colon
    for (const each of new Set([named, named.split(':', 1)[0] ?? '']))
      if (each !== '' && each !== '/dev/null')
        found.push(...pathUses(each, verb === 'Delete File' ? 'delete' : 'write', place));
  }
  return found.length === 0 ? pathUses(null, 'write', place) : distinct(found);
}

function toolHosts(
  { arguments: given }: ToolUse,
  { url, host }: ClientTool,
): Partial<Pick<Action, 'hosts' | 'endpoints'>> {
  if (host !== undefined) return hostAndPort(given[host], given['port']);
  if (url === undefined) return {};
  const text = given[url];
  if (typeof text !== 'string') return { hosts: [null] };
  if (/^\S+$/.test(text)) return { hosts: [hostOf(text)] };
  // a reader of URLs takes tabs and ends of lines out of them
  const [whole = ''] = text
    .trimStart()
    .replace(/[\t\n\r]/g, '')
    .split(' ', 1);
  const urls = [
    ...(/^https?:/i.test(whole) ? [whole] : []),
    ...(text.match(/https?:[/\\]+[^\s"'<>)]+/gi) ?? []),
  ];
  return { hosts: urls.length === 0 ? [null] : [...new Set(urls.map(hostOf))] };
}

function hostAndPort(host: Json | undefined, port: Json | undefined): Pick<Action, 'hosts' | 'endpoints'> {
  if (typeof host !== 'string') return { hosts: [null], endpoints: [null] };
  const name = hostOf(host);
  const isPort = typeof port === 'number' || typeof port === 'string';
  return { hosts: [name], endpoints: [name === null || !isPort ? null : endpointOf(`${host}:${port}`)] };
}

/** Members of arguments whose texts are paths. */
const pathNames =
  /^(?:.*path|paths|file|files|file_?names?|dir|directory|folder|cwd|root|source|destination|src|dst|uri)$/i;

/** Stands for the folder of an MCP server, which nobody here knows. */
const serverFolder = '/mcp-server/';

/** A path as it is spelled: the folder, the home and the links of the server are its own. */
function serverPaths(text: string): PathUse[] {
  if (text.startsWith('/')) return pathUses(text, 'any', { cwd: null, facts: {} });
  return pathUses(serverFolder + text, 'any', { cwd: null, facts: {} }).map((use) =>
    use.path === null ? use : { ...use, path: text },
  );
}

/** The paths and hosts in the arguments of an MCP tool. */
function mcpTexts(given: ToolUse['arguments']) {
  const paths: PathUse[] = [];
  const hosts = new Set<string | null>();
  for (const { name, text } of textsOf(given, '')) {
    if (/^(?:https?|wss?|ftp|ssh|git):\/\//i.test(text)) hosts.add(hostOf(text));
    else if (text.length <= limits.actionPathChars && !/[\n\r]/.test(text)) {
      const isPath =
        /^(?:[/~]|\.{1,2}(?:\/|$)|file:\/\/)/i.test(text) || (pathNames.test(name) && text !== '');
      if (isPath) paths.push(...serverPaths(text.replace(/^file:\/\//i, '')));
    }
  }
  return { paths, hosts: [...hosts] };
}

/** It reads no facts of the caller, so that a hook and a proxy of the same call give the same action. */
function mcpAction({ tool, arguments: given, moneyMap = null }: ToolUse, server: string): Action {
  const { paths, hosts } = mcpTexts(given);
  const [verb = ''] = tool.split(/[_.\-\s]|(?<=[a-z])(?=[A-Z])/, 1);
  const money = moneyOf({ ...given }, moneyMap);
  return bounded({
    ...nothing,
    kind: 'mcp',
    plane: null,
    paths: distinct(paths),
    hosts,
    mcp: { server, tool, verb: verb.toLowerCase() },
    ...(money === null ? {} : { money }),
  });
}

function* textsOf(value: Json, name: string): Generator<{ readonly name: string; readonly text: string }> {
  if (typeof value === 'string') yield { name, text: value };
  else if (Array.isArray(value)) for (const each of value) yield* textsOf(each, name);
  else if (isObject(value)) for (const [inner, each] of Object.entries(value)) yield* textsOf(each, inner);
}
