import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { inspect } from '../../../src/cli/agents/doctor.ts';
import { install, plannedInstall } from '../../../src/cli/agents/install.ts';
import { isClosedBy, openSettings } from '../../../src/cli/agents/open-settings.ts';
import { setups } from '../../../src/cli/agents/setup/all.ts';
import { nothing } from '../../../src/cli/agents/setup/edit.ts';
import { jsonValue, withoutValue } from '../../../src/cli/agents/setup/json-text.ts';
import { agentClients, type AgentClient } from '../../../src/core/agents/clients.ts';
import { emptyDirectory } from '../support/tool.ts';

let home = '';
beforeEach(() => {
  home = emptyDirectory();
});

const write = (path: string, text: string, mode = 0o644): void => {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text, { mode });
};
const setupOf = (client: AgentClient) => {
  const setup = setups.find((each) => each.client === client);
  if (setup === undefined) throw new Error('expected a set-up');
  return setup;
};
const around = () => ({
  env: { HOME: home, PATH: join(home, 'bin') },
  cwd: join(home, 'project/sub'),
  etc: join(home, 'etc'),
});
const installManaged = (client: AgentClient, more: { lockedPath?: string } = {}) => {
  const wanted = { ...nothing, node: '/n', entry: '/gov.cjs', config: '/c.json', ...more };
  const edits = setupOf(client).edits({ ...around(), scope: 'managed' }, wanted);
  install(plannedInstall(edits, { files: {}, keyId: null }), home, null);
};
const program = (name: string, version: string): void =>
  write(`bin/${name}`, `#!/bin/sh\necho "${name} ${version}"\n`, 0o755);
const statesOf = async (client: AgentClient) => {
  const { settings, problems } = await inspect(setupOf(client), around());
  return { problems, states: Object.fromEntries(settings.map(({ id, state }) => [id, state])), settings };
};

describe('the known ways around hooks', () => {
  it('each has an id of its client, a title and what closes it', () => {
    expect(new Set(openSettings.map(({ id }) => id)).size).toBe(openSettings.length);
    for (const { id, client, title, closes } of openSettings) {
      expect(id.startsWith(`${client}.`)).toBe(true);
      expect(title).not.toBe('');
      expect(closes).not.toBe('');
    }
    expect(new Set(openSettings.map(({ client }) => client))).toEqual(new Set(agentClients));
  });

  it('the administrator’s settings of Claude Code close each that has a setting', async () => {
    program('claude', '2.1.332');
    installManaged('claude-code');
    const { states, problems } = await statesOf('claude-code');
    expect(Object.entries(states).filter(([, state]) => state === 'open')).toEqual([
      ['claude-code.path', 'open'],
    ]);
    expect(states['claude-code.starter']).toBe('no setting');
    expect(states['claude-code.plugin-flags']).toBe('closed');
    expect(states['claude-code.instructions']).toBe('no setting');
    expect(problems.filter((each) => each.startsWith('open:'))).toEqual([
      expect.stringContaining('--scope managed --lock-path'),
    ]);
    installManaged('claude-code', { lockedPath: '/usr/bin:/bin' });
    expect((await statesOf('claude-code')).states['claude-code.path']).toBe('closed');
  });

  it('each member of the administrator’s settings counts', () => {
    const wanted = { ...nothing, node: '/n', entry: '/gov.cjs', config: '/c.json', lockedPath: '/bin' };
    for (const client of ['claude-code', 'gemini'] as const) {
      const [edit] = setupOf(client).edits({ ...around(), scope: 'managed' }, wanted);
      const text = edit?.add(null, null) ?? '';
      for (const open of openSettings.filter((each) => each.client === client))
        for (const { path } of open.members) {
          const [closed, opened] = [text, withoutValue(text, path)].map((each) =>
            isClosedBy(open, Object(jsonValue(each))),
          );
          expect({ path, closed, opened }).toEqual({ path, closed: true, opened: false });
        }
    }
  });

  it('a closing setting of a client that is not here is unknown, not closed', async () => {
    installManaged('claude-code');
    const { states, problems } = await statesOf('claude-code');
    expect(states['claude-code.skill-shell']).toBe('unknown');
    expect(problems).toContainEqual(expect.stringMatching(/^unknown: claude-code\.skill-shell, because/));
  });

  it.each([
    ['.claude/settings.json', '{"env":{"CLAUDE_CODE_SHELL_PREFIX":"/x"}}', 'claude-code.shell-prefix'],
    ['project/.claude/settings.local.json', '{"disableAllHooks":true}', 'claude-code.hooks-off'],
    [
      'project/.claude/settings.json',
      '{"hooks":{"PreToolUse":[{"hooks":[{"command":"x"}]}]}}',
      'claude-code.other-hooks',
    ],
    ['project/.claude/settings.json', '{"env":{"CLAUDE_ENV_FILE":"/x"}}', 'claude-code.start-files'],
    ['project/.mcp.json', '{"mcpServers":{"x":{"command":"y"}}}', 'claude-code.mcp-servers'],
  ])('the doctor names the file %s that uses a way around hooks', async (path, text, id) => {
    program('claude', '2.1.332');
    write(path, text);
    const { settings } = await statesOf('claude-code');
    expect(settings.filter(({ usedIn }) => usedIn.length > 0)).toMatchObject([
      { id, state: 'open', usedIn: [join(home, path)] },
    ]);
  });

  it('variables and programs that Codex starts are no fault until a file has them, and no setting closes them', async () => {
    program('codex', '0.171.0');
    installManaged('codex');
    const before = await statesOf('codex');
    expect(before.states).toEqual({
      'codex.hooks-off': 'closed',
      'codex.other-hooks': 'closed',
      'codex.terminals': 'closed',
      'codex.env-file': 'no setting',
      'codex.notify': 'closed',
      'codex.mcp-servers': 'closed',
    });
    write('.codex/.env', 'OTHER=1\nexport BASH_ENV=/x\n');
    const after = await statesOf('codex');
    expect(after.states).toMatchObject({ 'codex.env-file': 'open', 'codex.notify': 'closed' });
    expect(after.problems).toContainEqual(
      expect.stringContaining(`close it with removing it from ${join(home, '.codex/.env')}`),
    );
  });
});
