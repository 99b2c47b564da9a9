import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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

/** The facts of a command, as the hook sends them. */
function factsOf(command: string, more: object = {}, client: AgentClient = 'claude-code') {
  const event = {
    session_id: 's',
    hook_event_name: client === 'cursor' ? 'preToolUse' : 'PreToolUse',
    cwd: join(app, 'src'),
    tool_name: client === 'cursor' ? 'Shell' : 'Bash',
    tool_input: { command },
    tool_use_id: 'toolu_1',
    ...more,
  };
  const input = readHookInput(client, Buffer.from(JSON.stringify(event)));
  if ('fault' in input || input.tool === null) throw new Error('expected a call');
  return callFacts(input, input.tool, 'http://127.0.0.1:7460/api/v1');
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

  it('a call without a folder has no workspace', () => {
    expect(factsOf('ls', { cwd: undefined }).facts).toMatchObject({ cwd: null, workspace: null });
  });

  it('refuses a call with more links than its facts may have', () => {
    const many = (count: number) =>
      factsOf(`cat ${Array.from({ length: count }, (_, at) => `../l/${at}`).join(' ')}`).facts.real ?? {};
    expect(Object.keys(many(limits.factLinks))).toHaveLength(limits.factLinks);
    expect(() => many(limits.factLinks + 1)).toThrow('expected at most 200 links');
  });
});
