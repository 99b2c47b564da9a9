/**
 * Starts a real client with the stand-in as its model, and everything else as its user has it: settings, hooks, variables.
 * The call is allowed by the client itself, so that nothing but the hook can stop it.
 * Tested by `test/cli/agents/drill.test.ts`.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../../files/make-folder.ts';
import { limits } from '../../../contract/limits.ts';
import { agentClients, type AgentClient } from '../../../core/agents/clients.ts';
import { isObject } from '../../../core/json/object.ts';
import type { Variables } from '../../context/config.ts';

export interface FinishedDrill {
  /** The session, which names the run; null if the client did not say. */
  readonly session: string | null;
  /** The end of what it wrote. */
  readonly said: string;
}

interface Line {
  readonly words: readonly string[];
  readonly env: Record<string, string>;
  /** Settings of the drill alone: a file in its folder, and its members. */
  readonly file?: readonly [path: string, settings: object];
  session(output: string): string | null;
}

const prompt = 'This is a drill of gov agents drill.';

const lines: Partial<
  Record<AgentClient, (origin: string, more: Pick<StartOptions, 'model' | 'settings'>) => Line>
> = {
  'claude-code': (origin, { settings: more }) => {
    const session = randomUUID();
    const env = {
      ANTHROPIC_BASE_URL: origin,
      ANTHROPIC_API_KEY: 'gov-drill',
      // a call of a drill that no hook saw is no alarm of coverage
      CLAUDE_CODE_ENABLE_TELEMETRY: '0',
      OTEL_LOGS_EXPORTER: 'none',
      OTEL_METRICS_EXPORTER: 'none',
    };
    // settings of this call win over variables in the settings of the user
    const settings = JSON.stringify({ ...more, env });
    const flags = ['--session-id', session, '--no-session-persistence', '--settings', settings];
    return {
      words: ['-p', prompt, ...flags, '--allowedTools', 'Bash,Monitor,Agent,Skill,ToolSearch'],
      env: { ...env, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
      session: () => session,
    };
  },
  codex: (origin, { model = 'gpt-5.5' }) => {
    const provider = `{name="gov drill",base_url="${origin}/v1",wire_api="responses",env_key="GOV_DRILL_KEY"}`;
    const settings = [
      // its tools are known; the default model of 0.169 has none that a stand-in could ask for
      ...(model === null ? [] : [`model=${model}`]),
      'model_provider=gov_drill',
      `model_providers.gov_drill=${provider}`,
      'approval_policy=never',
      'sandbox_mode=danger-full-access',
      'otel.exporter=none',
      'otel.trace_exporter=none',
    ];
    const flags = settings.flatMap((setting) => ['-c', setting]);
    return {
      words: ['exec', '--skip-git-repo-check', '--ephemeral', '--json', ...flags, prompt],
      env: { GOV_DRILL_KEY: 'gov-drill' },
      session: (output) => /"thread_id":"([^"]+)"/.exec(output)?.[1] ?? null,
    };
  },
  gemini: (origin) => {
    const session = randomUUID();
    // 0.61.0 refuses this address with every kind of sign-in but a key, and the user may have another one
    const settings = {
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    };
    return {
      words: ['-p', prompt, '--session-id', session, '--approval-mode', 'yolo', '-m', 'gemini-2.5-flash'],
      // in a folder that is not trusted it does not start, and reads no settings of the folder
      env: {
        GOOGLE_GEMINI_BASE_URL: origin,
        GEMINI_API_KEY: 'gov-drill',
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
        GEMINI_TELEMETRY_ENABLED: 'false',
      },
      file: ['.gemini/settings.json', settings],
      session: () => session,
    };
  },
  opencode: (origin) => {
    const models = { drill: { name: 'gov drill', tool_call: true } };
    const options = { baseURL: `${origin}/v1`, apiKey: 'gov-drill' };
    const name = 'gov-drill/drill';
    const settings = {
      provider: { 'gov-drill': { npm: '@ai-sdk/anthropic', name: 'gov drill', options, models } },
      model: name,
      small_model: name,
      autoupdate: false,
      share: 'disabled',
    };
    return {
      words: ['run', '--format', 'json', '--auto', '-m', name, prompt],
      env: {
        OPENCODE_CONFIG_CONTENT: JSON.stringify(settings),
        // it would fetch a package for each folder of plugins, and nothing leaves the machine
        npm_config_offline: 'true',
      },
      session: (output) => /"sessionID":"([^"]+)"/.exec(output)?.[1] ?? null,
    };
  },
};

/** The clients that a drill can start. */
export const drillable: readonly AgentClient[] = agentClients.filter((client) => lines[client] !== undefined);

/** Variables that would send a client to another model, or its real credential to this one. */
const ofOtherModels = /^(ANTHROPIC_|CLAUDE_CODE_USE_|CLAUDECODE$|GOOGLE_(API_KEY|GENAI_|GEMINI_|VERTEX_))/;

interface StartOptions {
  readonly path: string;
  /** Of the stand-in for the model. */
  readonly origin: string;
  readonly cwd: string;
  readonly env: Variables;
  /** Where the client leaves temporary folders; default: `cwd`. */
  readonly temporary?: string;
  /** Another model than that of a drill (Codex); null: its default. */
  readonly model?: string | null | undefined;
  /** Further members of --settings (Claude Code). */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
  /** Further arguments of the client. */
  readonly flags?: readonly string[] | undefined;
  /** A program that runs the client, with its arguments. */
  readonly wrapper?: readonly string[] | undefined;
}

/** Runs the client to its end, or to `limits.drillSeconds`. Never throws. */
export function start(
  client: AgentClient,
  { path, origin, cwd, env, temporary = cwd, flags = [], wrapper = [], ...more }: StartOptions,
): Promise<FinishedDrill> {
  const line = lines[client]?.(origin, more);
  if (line === undefined) throw new Error(`expected a client that can be started, got ${client}`);
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !ofOtherModels.test(name)));
  if (line.file !== undefined) addBelow(cwd, line.file);
  return new Promise((resolve) => {
    const [program = path, ...words] = [...wrapper, path, ...flags, ...line.words];
    const child = spawn(program, words, {
      cwd,
      // clients leave folders where temporary files go, so theirs are in the folder of the drill
      env: { ...own, TMPDIR: temporary, CLAUDE_CODE_TMPDIR: temporary, ...line.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: limits.drillSeconds * 1000,
      killSignal: 'SIGKILL',
    });
    let output = '';
    const take = (chunk: Buffer): string => (output = `${output}${chunk.toString()}`.slice(-65_536));
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.once('error', (cause) => resolve({ session: null, said: cause.message }));
    child.once('close', () => resolve({ session: line.session(output), said: output.trim().slice(-500) }));
  });
}

/** Members that the file has already stay. */
function addBelow(folder: string, [name, settings]: readonly [string, object]): void {
  const path = join(folder, name);
  makeFolder(dirname(path));
  const before: unknown = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  writeFileSync(path, JSON.stringify({ ...settings, ...(isObject(before) ? before : {}) }));
}
