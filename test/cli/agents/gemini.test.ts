import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { gemini } from '../../../src/cli/agents/setup/gemini.ts';
import { nothing, type SetupTarget } from '../../../src/cli/agents/setup/edit.ts';
import { emptyDirectory } from '../support/tool.ts';

const wanted = {
  node: '/node',
  entry: '/gov.cjs',
  config: '/agents.json',
  hold: 0,
  telemetry: null,
  lockedPath: null,
  wrapped: [],
  sandbox: null,
};

let folder = '';
beforeEach(() => {
  folder = emptyDirectory();
});
const editOf = (place: Partial<SetupTarget>) => {
  const [edit] = gemini.edits({ env: { HOME: folder }, etc: folder, scope: 'user', ...place }, wanted);
  if (edit === undefined) throw new Error('expected an edit');
  return edit;
};
const added = (place: Partial<SetupTarget>, before: string | null = null): string =>
  editOf(place).add(before, before);
interface Written {
  hooks: { BeforeTool: { hooks: { command: string; timeout: number }[] }[] };
  hooksConfig?: { enabled?: boolean; disabled?: string[] };
}
const holes = (place: Partial<SetupTarget>, change: (settings: Written) => void = () => {}): string => {
  const settings = JSON.parse(added(place)) as Written;
  change(settings);
  return editOf(place).look(JSON.stringify(settings)).holes.join('\n');
};

describe('the hooks of Gemini CLI', () => {
  it('a hook that hangs stops the call for as long as Node.js has a timer, and one that only records does not', () => {
    const { BeforeTool, AfterTool } = JSON.parse(added({})).hooks;
    expect(BeforeTool[0].hooks[0].timeout).toBe(2_147_483_647);
    expect(AfterTool[0].hooks[0].timeout).toBe(15_000);
    const short = holes({}, ({ hooks }) => (hooks.BeforeTool[0]!.hooks[0]!.timeout = 1));
    expect(short).toContain('a hook that exceeds its time lets the call run');
    expect(holes({})).not.toContain('exceeds its time');
  });

  it('the hook sees the arguments as hooks before it have changed them', () => {
    expect(JSON.parse(added({})).hooks.BeforeTool[0].sequential).toBe(true);
  });

  it('the administrator switches hooks on, which a project then cannot switch off', () => {
    const place = { scope: 'managed' } as const;
    const text = added(place, '{"hooksConfig":{"notifications":false}}');
    expect(JSON.parse(text).hooksConfig).toEqual({ notifications: false, enabled: true });
    expect(JSON.parse(editOf(place).remove(text) ?? '')).toEqual({ hooksConfig: { notifications: false } });
    expect(editOf(place).remove(added(place))).toBeNull();
    expect(JSON.parse(added({})).hooksConfig).toBeUndefined();
    expect(() => added(place, '{"hooksConfig":[]}')).toThrow(
      /an object in hooksConfig; the file was not changed/,
    );
  });

  it('the doctor names settings that switch the hook off', () => {
    expect(holes({}, (settings) => (settings.hooksConfig = { enabled: false }))).toContain(
      'hooksConfig.enabled is false',
    );
    const named = holes({}, (settings) => {
      settings.hooksConfig = { disabled: [settings.hooks.BeforeTool[0]!.hooks[0]!.command] };
    });
    expect(named).toContain('hooksConfig.disabled names the hook of gov');
    expect(holes({}, (settings) => (settings.hooksConfig = { disabled: ['gov'] }))).toContain(
      'disabled names',
    );
    expect(holes({}, (settings) => (settings.hooksConfig = { disabled: ['other'] }))).not.toContain('names');
  });

  it('the doctor names a file that Gemini CLI skips, and a variable that names another file', () => {
    const place = { scope: 'managed' } as const;
    mkdirSync(join(folder, 'gemini-cli'));
    chmodSync(join(folder, 'gemini-cli'), 0o775);
    expect(holes(place)).toContain(`because others than root can write ${join(folder, 'gemini-cli')}`);
    const env = { HOME: folder, GEMINI_CLI_SYSTEM_SETTINGS_PATH: '/other.json' };
    expect(holes({ ...place, env })).toContain('GEMINI_CLI_SYSTEM_SETTINGS_PATH names /other.json');
    expect(holes({ env })).not.toContain('/other.json');
  });

  it('GEMINI_CLI_HOME is where Gemini CLI has its settings', () => {
    const env = { HOME: '/home/a', GEMINI_CLI_HOME: '/data' };
    expect(gemini.edits({ env, etc: '/etc', scope: 'user' }, nothing)[0]?.path).toBe(
      '/data/.gemini/settings.json',
    );
  });
});
