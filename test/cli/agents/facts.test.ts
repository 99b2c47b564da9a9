import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callFacts } from '../../../src/cli/agents/facts.ts';
import { limits } from '../../../src/contract/limits.ts';
import { readHookInput } from '../../../src/core/agents/hook-input.ts';
import type { AgentClient } from '../../../src/core/agents/clients.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gov-facts-')));
const app = join(folder, 'app');
beforeAll(() => {
  for (const each of ['app/.git', 'app/src', 'elsewhere/deep'])
    mkdirSync(join(folder, each), { recursive: true });
  writeFileSync(join(app, '.git/config'), '[remote "origin"]\n\turl = git@github.com:a/b\n');
  symlinkSync(join(folder, 'elsewhere/deep'), join(app, 'l'));
});
afterAll(() => rmSync(folder, { recursive: true }));

let sessions = 0;
/** The facts of a command, as the hook sends them. Each call is of a session of its own. */
function factsOf(command: string, more: object = {}, client: AgentClient = 'claude-code') {
  const event = {
    session_id: `s${(sessions += 1)}`,
    hook_event_name: client === 'cursor' ? 'preToolUse' : 'PreToolUse',
    cwd: join(app, 'src'),
    tool_name: client === 'cursor' ? 'Shell' : 'Bash',
    tool_input: { command },
    tool_use_id: 'toolu_1',
    ...more,
  };
  const input = readHookInput(client, Buffer.from(JSON.stringify(event)));
  if ('fault' in input || input.tool === null) throw new Error('expected a call');
  const place = { baseUrl: 'http://127.0.0.1:7460/api/v1', sessions: join(folder, 'sessions') };
  return callFacts(input, input.tool, place);
}

describe('the facts of a hook', () => {
  it('has the folders, the plane and the client', () => {
    expect(factsOf('ls')).toEqual({
      client: { name: 'claude-code' },
      facts: {
        cwd: join(app, 'src'),
        home: homedir(),
        workspace: app,
        plane: '127.0.0.1:7460',
        real: {},
        sandbox: null,
      },
    });
  });

  it('resolves the links of the paths that a call names, also of files that do not exist', () => {
    const real = join(folder, 'elsewhere/deep');
    expect(factsOf('cat ../l/new/x; rm ../l/*.o').facts.real).toEqual({
      [join(app, 'l/new/x')]: join(real, 'new/x'),
      [join(app, 'l/*.o')]: join(real, '*.o'),
    });
    expect(factsOf('rm -rf / /usr/../').facts.real).toEqual({});
    expect(factsOf('cat ../l/../x').facts.real).toEqual({ [join(app, 'l')]: real });
  });

  it('has the remotes of a call that uses git', () => {
    expect(factsOf('git push').facts.remotes).toEqual({ origin: 'github.com' });
    expect(factsOf('ls').facts).not.toHaveProperty('remotes');
  });

  it('the workspace of Cursor is the one that it names, with its version', () => {
    const { client, facts } = factsOf(
      'ls',
      { workspace_roots: [join(folder, 'elsewhere')], cursor_version: '1.2' },
      'cursor',
    );
    expect(client).toEqual({ name: 'cursor', version: '1.2' });
    expect(facts.workspace).toBe(join(folder, 'elsewhere'));
  });

  it('the workspace of a session stays, whatever becomes a git root later', () => {
    const sub = join(folder, 'elsewhere/deep');
    const inSession = (cwd: string) => factsOf('ls', { session_id: 'one', cwd }).facts.workspace;
    expect(inSession(sub)).toBe(sub);
    mkdirSync(join(folder, 'elsewhere/.git'));
    expect(inSession(sub)).toBe(sub);
    expect(inSession(app)).toBe(sub);
    expect(factsOf('ls', { session_id: 'two', cwd: sub }).facts.workspace).toBe(join(folder, 'elsewhere'));
  });

  it('a session without a call for a long time begins anew', () => {
    const inSession = (cwd: string) => factsOf('ls', { session_id: 'old', cwd }).facts.workspace;
    const aged = (days: number) => {
      for (const name of readdirSync(join(folder, 'sessions'))) {
        const at = Date.now() / 1000 - days * 86_400;
        utimesSync(join(folder, 'sessions', name), at, at);
      }
      factsOf('ls'); // the first call of a session looks for old ones
    };
    expect(inSession(app)).toBe(app);
    aged(limits.agentSessionDays - 0.1);
    expect(inSession(folder)).toBe(app);
    aged(limits.agentSessionDays + 0.1);
    expect(inSession(folder)).toBe(folder);
  });

  it('a call without a folder has no workspace', () => {
    expect(factsOf('ls', { cwd: undefined }).facts).toMatchObject({ cwd: null, workspace: null });
    expect(factsOf('ls', { cwd: '/' }).facts).toMatchObject({ cwd: '/', workspace: null });
  });

  it('refuses a call with more links than its facts may have', () => {
    const many = (count: number) =>
      factsOf(`cat ${Array.from({ length: count }, (_, at) => `../l/${at}`).join(' ')}`).facts.real ?? {};
    expect(Object.keys(many(limits.factLinks))).toHaveLength(limits.factLinks);
    expect(() => many(limits.factLinks + 1)).toThrow('expected at most 200 links');
  });
});
