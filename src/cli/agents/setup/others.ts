/**
 * OpenCode, and Cursor, whose file follows its documentation, and which nobody has run against this set-up: `gov agents
 * doctor` says so. Tested by `test/cli/agents/install.test.ts`.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { limits } from '../../../contract/limits.ts';
import { homeOf, xdgFolder } from '../../context/config.ts';
import { cannotEdit, hookLine, hookTimeout, type Edit, type Setup, type HookSettings } from './edit.ts';
import { listedEdit, type HookList } from './listed.ts';
import { withoutValue, withValue } from './json-text.ts';
import { addTo, readSettings, removeFrom } from './settings-json.ts';

const cursor: Setup = {
  client: 'cursor',
  programs: ['cursor-agent', 'cursor'],
  tested: null,
  oldest: null,
  edits(place, wanted) {
    const folder = place.scope === 'user' ? join(homeOf(place.env), '.cursor') : join(place.etc, 'cursor');
    const listed: HookList = {
      client: 'cursor',
      gate: 'preToolUse',
      reports: [
        'sessionStart',
        'beforeSubmitPrompt',
        'postToolUse',
        'postToolUseFailure',
        'stop',
        'sessionEnd',
      ],
      entry: (command, gates) => ({
        command,
        timeout: limits.hookClientSeconds,
        ...(gates ? { failClosed: true } : {}),
      }),
      members: [{ path: ['version'], value: 1, keeps: true, stays: true }],
      holes: ({ failClosed }) => (failClosed === true ? [] : ['a hook without "failClosed": true']),
    };
    return [listedEdit({ path: join(folder, 'hooks.json'), comments: false }, listed, wanted)];
  },
};

/** The plugin asks for each call. An error in it, whatever the reason, stops the call. */
const plugin = (
  wanted: HookSettings,
): string => `// gov agents install wrote this file; gov agents uninstall removes it.
import { spawn } from 'node:child_process';

const line = ${JSON.stringify(hookLine('opencode', wanted, true))};
const send = (event) =>
  new Promise((resolve) => {
    const program = spawn('/bin/sh', ['-c', line], { timeout: ${hookTimeout(wanted, true) * 1000} });
    let [stdout, stderr] = ['', ''];
    program.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
    program.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
    program.stdin.on('error', () => {}).end(JSON.stringify(event));
    program.on('error', (cause) => resolve({ status: null, stdout, stderr: String(cause) }));
    program.on('close', (status) => resolve({ status, stdout, stderr }));
  });

export const Gov = async ({ directory }) => ({
  'tool.execute.before': async (input, output) => {
    const { status, stdout, stderr } = await send({
      hook_event_name: 'tool.execute.before',
      session_id: input.sessionID,
      tool_use_id: input.callID,
      tool_name: input.tool,
      tool_input: output.args,
      cwd: directory,
    });
    if (status !== 0) throw new Error(stderr || 'gov: the call did not run: the hook gave no answer');
    const answer = JSON.parse(stdout);
    if (answer.decision === 'deny') throw new Error(answer.reason);
  },
  'tool.execute.after': async (input, output) => {
    await send({
      hook_event_name: 'tool.execute.after',
      session_id: input.sessionID,
      tool_use_id: input.callID,
      tool_name: input.tool,
      tool_input: input.args ?? {},
      tool_response: output.output,
      exit_code: output.metadata?.exit,
    });
  },
});
`;

const isOwnPlugin = (text: string | null): text is string =>
  text?.startsWith('// gov agents install') === true;

/**
 * Names the plugin in `/etc/opencode/opencode.json`: OpenCode finds plugins of a user by their folder, and those of the
 * administrator in this file alone (measured: 1.18.33).
 */
function pluginEntry(path: string, plugin: string): Edit {
  const url = pathToFileURL(plugin).href;
  const file = { path, comments: true };
  const plugins = (text: string | null): readonly unknown[] => {
    const { plugin = [] } = readSettings(file, text);
    if (!Array.isArray(plugin)) throw cannotEdit(path, 'plugin to be a list');
    return plugin;
  };
  return {
    path,
    add(before) {
      const listed = plugins(before);
      if (before !== null && listed.includes(url)) return before;
      return withValue(addTo(file, before, { hooks: {}, members: [] }), ['plugin', listed.length], url);
    },
    remove(now, original) {
      const at = plugins(now).indexOf(url);
      if (at < 0) return now;
      const left = withoutValue(now, ['plugin', at]);
      // the list goes with its last plugin
      return removeFrom(file, left, {
        members: [{ path: ['plugin'], value: [] }],
        original: original ?? null,
      });
    },
    look: (now) => ({
      lines: [],
      holes: plugins(now).includes(url) ? [] : [`${path} does not name the plugin: gov agents install`],
    }),
  };
}

const opencode: Setup = {
  client: 'opencode',
  programs: ['opencode'],
  tested: '1.18.33',
  oldest: null,
  edits(place, wanted) {
    const base = place.scope === 'user' ? xdgFolder(place.env, 'XDG_CONFIG_HOME') : place.etc;
    const path = join(base, 'opencode', 'plugins', 'gov.js');
    return [
      ...(place.scope === 'user' ? [] : [pluginEntry(join(base, 'opencode', 'opencode.json'), path)]),
      {
        path,
        add: () => plugin(wanted),
        remove: (now) => (isOwnPlugin(now) ? null : now),
        look: (now) => ({
          lines: isOwnPlugin(now)
            ? [/^const line = (".*");$/m.exec(now)?.[1] ?? '""'].map((line) => String(JSON.parse(line)))
            : [],
          holes: [],
          settings: {},
        }),
      },
    ];
  },
};

export const otherSetups: readonly Setup[] = [cursor, opencode];
