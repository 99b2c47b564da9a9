import { describe, expect, it } from 'vitest';
import type { ActionKind } from '../../../src/core/action/shape.ts';
import { clientTools } from '../../../src/core/action/client-tools.ts';
import { agentClients } from '../../../src/core/agents/clients.ts';
import { toolAction } from './shell-lines.ts';
import type { JsonObject } from '../../../src/core/json/canonical.ts';

/** The tools of each client by kind, as its own version shows them. */
const expected: Readonly<Record<string, Partial<Record<ActionKind, string>>>> = {
  'claude-code': {
    shell: 'Bash Monitor PowerShell',
    read: 'Read LS',
    search: 'Glob Grep',
    write: 'Write Edit MultiEdit NotebookEdit',
    fetch: 'WebFetch',
    websearch: 'WebSearch',
    agent: 'Task Agent Workflow CronCreate ScheduleWakeup',
    skill: 'Skill SlashCommand',
    session:
      'BashOutput KillShell KillBash TaskOutput TaskStop TodoWrite TaskCreate TaskUpdate TaskGet TaskList ToolSearch AskUserQuestion ExitPlanMode EnterPlanMode',
    'mcp-resource': 'ListMcpResourcesTool ReadMcpResourceTool',
    code: 'REPL',
  },
  codex: {
    shell: 'Bash shell local_shell exec_command shell_command',
    write: 'apply_patch',
    read: 'view_image',
    terminal: 'write_stdin',
    wrapper: 'exec',
    session:
      'wait update_plan collaborationwait_agent collaborationlist_agents collaborationinterrupt_agent clocksleep',
    agent: 'spawn_agent collaborationspawn_agent collaborationfollowup_task collaborationsend_message',
    websearch: 'web_search',
  },
  gemini: {
    shell: 'run_shell_command',
    read: 'read_file read_many_files list_directory',
    search: 'glob search_file_content grep_search',
    write: 'write_file replace',
    fetch: 'web_fetch',
    websearch: 'google_web_search',
    session: 'save_memory write_todos complete_task',
    agent: 'invoke_agent',
    skill: 'activate_skill',
  },
  opencode: {
    shell: 'bash',
    read: 'read list',
    search: 'glob grep',
    write: 'write edit patch apply_patch',
    fetch: 'webfetch',
    websearch: 'websearch',
    agent: 'task',
    skill: 'skill',
    session: 'todowrite todoread',
  },
  cursor: {
    shell: 'Shell',
    read: 'Read LS',
    search: 'Grep Glob',
    write: 'Write StrReplace Edit TabWrite EditNotebook Delete',
    fetch: 'WebFetch',
    websearch: 'WebSearch',
    agent: 'Task',
    session: 'TodoWrite',
  },
};

describe('the tools of clients', () => {
  it('every client has a table', () => {
    expect([...clientTools.keys()].toSorted()).toEqual([...agentClients].toSorted());
  });

  it.each(Object.keys(expected))('each tool of %s has its kind', (client) => {
    const rows = Object.entries(expected[client] ?? {}).flatMap(([kind, names]) =>
      names.split(' ').map((name) => [name, kind]),
    );
    const table = clientTools.get(client)?.tools ?? new Map();
    expect([...table].map(([name, { kind }]) => [name, kind]).toSorted()).toEqual(rows.toSorted());
  });

  it.each([
    ['claude-code', 'Edit', { file_path: 'x' }, 'write'],
    ['claude-code', 'Grep', { pattern: 'x', path: 'x' }, 'read'],
    ['gemini', 'read_many_files', { include: ['x'] }, 'read'],
    ['gemini', 'read_file', { absolute_path: 'x' }, 'read'],
    ['opencode', 'write', { filePath: 'x' }, 'write'],
    ['cursor', 'Delete', { target_file: 'x' }, 'delete'],
    ['cursor', 'EditNotebook', { target_notebook: 'x' }, 'write'],
  ])('%s: %s %j may %s its file', (client, tool, given, access) => {
    expect(toolAction(client, tool, given).paths).toEqual([
      { path: '/w/app/x', access, places: ['workspace'] },
    ]);
  });

  it('a search without a folder looks in the current one, and a write without a file may be anywhere', () => {
    expect(toolAction('claude-code', 'Grep', { pattern: 'x' }).paths).toMatchObject([{ path: '/w/app' }]);
    expect(toolAction('claude-code', 'Write', {}).paths).toEqual([
      { path: null, access: 'write', places: null },
    ]);
  });

  it('a connection that a proxy saw has its host and endpoint', () => {
    const connect = (given: JsonObject) => toolAction('kernel', 'connect', given);
    expect(connect({ host: 'GitHub.com', port: 443 })).toMatchObject({
      kind: 'connect',
      hosts: ['github.com'],
      endpoints: ['github.com:443'],
      paths: [],
      commands: [],
    });
    expect(connect({ host: '[::1]', port: 80 }).endpoints).toEqual(['127.0.0.1:80']);
    expect(connect({ host: 'a\\@b', port: 80 })).toMatchObject({ hosts: [null], endpoints: [null] });
    expect(connect({})).toMatchObject({ hosts: [null], endpoints: [null] });
  });

  it('a program that the kernel saw is read word by word, and a shell in it by its line', () => {
    const exec = (argv: string[]) => toolAction('kernel', 'exec', { argv });
    expect(exec(['/usr/bin/rm', '-rf', '/w/app/a b'])).toMatchObject({
      kind: 'exec',
      commands: [{ program: 'rm', operands: ['/w/app/a b'] }],
      paths: [{ path: '/w/app/a b', access: 'delete', places: ['workspace'] }],
    });
    expect(exec(['/bin/bash', '-c', 'git push && cat x']).commands).toMatchObject([
      { program: 'git' },
      { program: 'cat' },
    ]);
    expect(toolAction('kernel', 'exec', {})).toMatchObject({ commands: null, code: ['unreadable'] });
  });

  it('a file that a sandbox may open has the places of its path', () => {
    expect(toolAction('kernel', 'read', { path: '/home/a/.ssh' }).paths).toEqual([
      { path: '/home/a/.ssh', access: 'read', places: ['home', 'secret'] },
    ]);
  });

  it('what a terminal or an interpreter gets nobody reads', () => {
    expect(toolAction('codex', 'write_stdin', { chars: 'rm x' })).toMatchObject({
      kind: 'terminal',
      commands: null,
    });
    expect(toolAction('claude-code', 'REPL', { code: 'x' })).toMatchObject({
      commands: null,
      code: ['inline REPL'],
    });
  });
});
