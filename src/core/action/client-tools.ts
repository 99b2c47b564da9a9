/**
 * The tools of each client, and what each is for. A changed table is a new engine. Proven by
 * `test/core/action/client-tools.test.ts`.
 */
import type { Access, ActionKind } from './shape.ts';

/** What a tool is for, and which of its arguments say what it does. */
export interface ClientTool {
  readonly kind: ActionKind;
  /** The member with the command line, or with its words. */
  readonly command?: string;
  /** Members with paths; the first that is present counts. */
  readonly paths?: readonly string[];
  readonly access?: Access;
  /** Members with a patch, whose lines name files. */
  readonly patch?: readonly string[];
  /** The member with a URL, or with a text that has URLs. */
  readonly url?: string;
  /** The member with a host as URLs have it; `port` has its port. */
  readonly host?: string;
}

export interface ClientTable {
  /** The version whose tools the table has. Null: from its documentation. */
  readonly seenVersion: string | null;
  readonly tools: ReadonlyMap<string, ClientTool>;
}

const named = (names: string, tool: ClientTool): [string, ClientTool][] =>
  names.split(' ').map((name) => [name, tool]);
const of = (kind: ActionKind, names: string): [string, ClientTool][] => named(names, { kind });
const shell = (command: string, names: string): [string, ClientTool][] =>
  named(names, { kind: 'shell', command });
const files = (access: Access, paths: string, names: string): [string, ClientTool][] =>
  named(names, { kind: access === 'read' ? 'read' : 'write', paths: paths.split(' '), access });
const searches = (paths: string, names: string): [string, ClientTool][] =>
  named(names, { kind: 'search', paths: paths.split(' '), access: 'read' });

const claudeCode = new Map([
  ...shell('command', 'Bash Monitor PowerShell'),
  ...of('code', 'REPL'),
  ...of(
    'session',
    'BashOutput KillShell KillBash TaskOutput TaskStop TodoWrite TaskCreate TaskUpdate TaskGet TaskList',
  ),
  ...of('session', 'ToolSearch AskUserQuestion ExitPlanMode EnterPlanMode'),
  ...files('read', 'file_path', 'Read'),
  ...files('read', 'path', 'LS'),
  ...searches('path', 'Glob Grep'),
  ...files('write', 'file_path', 'Write Edit MultiEdit'),
  ...files('write', 'notebook_path', 'NotebookEdit'),
  ...named('WebFetch', { kind: 'fetch', url: 'url' }),
  ...of('websearch', 'WebSearch'),
  ...of('agent', 'Task Agent Workflow CronCreate ScheduleWakeup'),
  ...of('skill', 'Skill SlashCommand'),
  ...of('mcp-resource', 'ListMcpResourcesTool ReadMcpResourceTool'),
]);

const codex = new Map([
  ...shell('command', 'Bash shell local_shell shell_command'),
  ...shell('cmd', 'exec_command'),
  ...named('apply_patch', { kind: 'write', patch: ['command', 'input', 'patch'] }),
  ...files('read', 'path', 'view_image'),
  ...of('terminal', 'write_stdin'),
  ...of('wrapper', 'exec'),
  ...of('session', 'wait update_plan clocksleep'),
  ...of('agent', 'spawn_agent'),
  // its hooks join the namespace of a tool and its name (0.171.0)
  ...of('session', 'collaborationwait_agent collaborationlist_agents collaborationinterrupt_agent'),
  ...of('agent', 'collaborationspawn_agent collaborationfollowup_task collaborationsend_message'),
  ...of('websearch', 'web_search'),
]);

const gemini = new Map([
  ...shell('command', 'run_shell_command'),
  ...files('read', 'file_path absolute_path path', 'read_file'),
  ...files('read', 'include paths', 'read_many_files'),
  ...files('read', 'dir_path path', 'list_directory'),
  ...searches('dir_path path', 'glob search_file_content grep_search'),
  ...files('write', 'file_path', 'write_file replace'),
  ...named('web_fetch', { kind: 'fetch', url: 'prompt' }),
  ...of('websearch', 'google_web_search'),
  ...of('session', 'save_memory write_todos complete_task'),
  ...of('skill', 'activate_skill'),
  ...of('agent', 'invoke_agent'),
]);

const opencode = new Map([
  ...shell('command', 'bash'),
  ...files('read', 'filePath', 'read'),
  ...files('read', 'path', 'list'),
  ...searches('path', 'glob grep'),
  ...files('write', 'filePath', 'write edit'),
  ...named('patch apply_patch', { kind: 'write', patch: ['patchText'] }),
  ...named('webfetch', { kind: 'fetch', url: 'url' }),
  ...of('websearch', 'websearch'),
  ...of('agent', 'task'),
  ...of('skill', 'skill'),
  ...of('session', 'todowrite todoread'),
]);

const cursor = new Map([
  ...shell('command', 'Shell'),
  ...files('read', 'path file_path target_file', 'Read'),
  ...searches('path', 'Grep'),
  ...searches('target_directory path', 'Glob'),
  ...files('read', 'target_directory path', 'LS'),
  ...files('write', 'path file_path', 'Write StrReplace Edit TabWrite'),
  ...files('write', 'target_notebook path', 'EditNotebook'),
  ...files('delete', 'path target_file', 'Delete'),
  ...named('WebFetch', { kind: 'fetch', url: 'url' }),
  ...of('websearch', 'WebSearch'),
  ...of('agent', 'Task'),
  ...of('session', 'TodoWrite'),
]);

export const clientTools: ReadonlyMap<string, ClientTable> = new Map([
  ['claude-code', { seenVersion: '2.1.332', tools: claudeCode }],
  ['codex', { seenVersion: '0.171.0', tools: codex }],
  ['gemini', { seenVersion: '0.61.0', tools: gemini }],
  ['opencode', { seenVersion: null, tools: opencode }],
  ['cursor', { seenVersion: null, tools: cursor }],
]);

/** `client.name` of what `gov run --sandbox` asks about: files that a program may reach, programs that started, and hosts. */
export const kernelClient = 'kernel';
const kernelTools = new Map([
  ...named('exec', { kind: 'exec', command: 'argv' }),
  ...named('connect', { kind: 'connect', host: 'host' }),
  ...files('read', 'path', 'read'),
  ...files('write', 'path', 'write'),
]);

/** Undefined for a tool that the client's table does not have. */
export function clientTool(client: string | null, tool: string): ClientTool | undefined {
  if (client === kernelClient) return kernelTools.get(tool);
  return client === null ? undefined : clientTools.get(client)?.tools.get(tool);
}

/** Whether a table has the tools of a client. */
export const isKnownClient = (client: string | null): client is string =>
  client !== null && (client === kernelClient || clientTools.has(client));
