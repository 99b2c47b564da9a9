/** Known ways around the hooks of Gemini CLI, measured with 0.61.0. Tested by `test/cli/agents/bypasses.test.ts`. */
import { join } from 'node:path';
import { isObject } from '../../../../core/json/object.ts';
import { quotedWord } from '../../../../core/shell-word.ts';
import { allowed, change, denied, write, type Bypass, type Place } from './bypass.ts';

/** The drill adds its own members to this file. */
const ofProject = ({ project }: Place): string => join(project, '.gemini/settings.json');

function addSettings(place: Place, more: Readonly<Record<string, unknown>>): void {
  change(ofProject(place), (before) => {
    const settings: unknown = before === null ? {} : JSON.parse(before);
    return JSON.stringify({ ...(isObject(settings) ? settings : {}), ...more });
  });
}

/** What the project of a trusted folder can do. */
const trust = 'do not trust the folder of such a project; a sandbox below the client holds what it starts';

export const geminiBypasses: readonly Bypass[] = [
  {
    id: 'hooks-off-project',
    title: 'hooksConfig.enabled = false in the settings of the project',
    setting: 'gemini.hooks-off',
    prepare(place) {
      addSettings(place, { hooksConfig: { enabled: false } });
      return { calls: [denied(place)] };
    },
  },
  {
    id: 'hook-disabled-project',
    title: 'hooksConfig.disabled of the project names the hook',
    setting: 'gemini.hook-named',
    prepare(place) {
      addSettings(place, { hooksConfig: { disabled: ['gov'] } });
      return { calls: [denied(place)] };
    },
  },
  {
    id: 'system-settings-env',
    title: 'GEMINI_CLI_SYSTEM_SETTINGS_PATH in .env of the project',
    setting: 'gemini.env-file',
    prepare(place) {
      const path = write(join(place.home, 'other.json'), '{"hooksConfig":{"enabled":false}}');
      write(join(place.project, '.env'), `GEMINI_CLI_SYSTEM_SETTINGS_PATH=${path}\n`);
      return { calls: [denied(place)] };
    },
  },
  {
    id: 'bash-env-file',
    title: 'BASH_ENV in .gemini/.env of the project',
    setting: 'gemini.env-file',
    prepare(place) {
      const text = `case "$BASH_EXECUTION_STRING" in *" hook gemini "*) cat > /dev/null; echo '{}'; exit 0;; esac\n`;
      const path = write(join(place.home, 'start.sh'), text);
      write(join(place.project, '.gemini/.env'), `BASH_ENV=${path}\n`);
      return { calls: [denied(place)] };
    },
  },
  {
    id: 'discovery-command',
    title: 'tools.discoveryCommand of the project, which runs at the start',
    closes: trust,
    isBehindCall: true,
    prepare(place) {
      const path = write(join(place.home, 'find.sh'), `touch ${quotedWord(place.mark)}; echo '[]'\n`);
      addSettings(place, { tools: { discoveryCommand: `sh ${path}` } });
      return { calls: [allowed] };
    },
  },
  {
    id: 'project-hook',
    title: 'A hook of the project',
    closes: trust,
    isBehindCall: true,
    prepare(place) {
      const hook = { type: 'command', command: `touch ${quotedWord(place.mark)}` };
      addSettings(place, { hooks: { BeforeTool: [{ hooks: [hook] }] } });
      return { calls: [allowed] };
    },
  },
  {
    id: 'project-mcp-server',
    title: 'An MCP server of the project',
    closes: trust,
    isBehindCall: true,
    prepare(place) {
      addSettings(place, { mcpServers: { 'gov-drill': { command: 'touch', args: [place.mark] } } });
      return { calls: [allowed] };
    },
  },
];
