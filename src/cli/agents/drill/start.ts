/**
 * Starts a real client with the stand-in as its model, and everything else as its user has it: settings, hooks, variables.
 * The call is allowed by the client itself, so that nothing but the hook can stop it.
 * Tested by `test/cli/agents/drill.test.ts`.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../../files/make-folder.ts';
import { limits } from '../../../contract/limits.ts';
import { agentClients, type AgentClient } from '../../../core/agents/clients.ts';
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
  /** Settings of the drill alone: a file in its folder, and its text. */
  readonly file?: readonly [path: string, text: string];
  session(output: string): string | null;
}

const prompt = 'This is a drill of gov agents drill.';

const lines: Partial<Record<AgentClient, (origin: string) => Line>> = {
  'claude-code': (origin) => {
    const session = randomUUID();
    const env = { ANTHROPIC_BASE_URL: origin, ANTHROPIC_API_KEY: 'gov-drill' };
    // settings of this call win over variables in the settings of the user
    const settings = JSON.stringify({ env });
    const flags = ['--session-id', session, '--no-session-persistence', '--settings', settings];
    return {
      words: ['-p', prompt, ...flags, '--allowedTools', 'Bash'],
      env: { ...env, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
      session: () => session,
    };
  },
  codex: (origin) => {
    const provider = `{name="gov drill",base_url="${origin}/v1",wire_api="responses",env_key="GOV_DRILL_KEY"}`;
    const settings = [
      // its tools are known; the default model of 0.169 has none that a stand-in could ask for
      'model=gpt-5.5',
      'model_provider=gov_drill',
      `model_providers.gov_drill=${provider}`,
      'approval_policy=never',
      'sandbox_mode=danger-full-access',
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
      },
      file: ['.gemini/settings.json', JSON.stringify(settings)],
      session: () => session,
    };
  },
};

/** The clients that a drill can start. */
export const drillable: readonly AgentClient[] = agentClients.filter((client) => lines[client] !== undefined);

/** Variables that would send a client to another model, or its real credential to this one. */
const ofOtherModels = /^(ANTHROPIC_|CLAUDE_CODE_USE_|CLAUDECODE$|GOOGLE_(API_KEY|GENAI_|GEMINI_|VERTEX_))/;

/** Runs the client to its end, or to `limits.drillSeconds`. Never throws. */
export function start(
  client: AgentClient,
  { path, origin, cwd, env }: { path: string; origin: string; cwd: string; env: Variables },
): Promise<FinishedDrill> {
  const line = lines[client]?.(origin);
  if (line === undefined) throw new Error(`expected a client that can be started, got ${client}`);
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !ofOtherModels.test(name)));
  if (line.file !== undefined) writeBelow(cwd, line.file);
  return new Promise((resolve) => {
    const child = spawn(path, line.words, {
      cwd,
      // clients leave folders where temporary files go, so theirs are in the folder of the drill
      env: { ...own, TMPDIR: cwd, CLAUDE_CODE_TMPDIR: cwd, ...line.env },
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

function writeBelow(folder: string, [name, text]: readonly [string, string]): void {
  const path = join(folder, name);
  makeFolder(dirname(path));
  writeFileSync(path, text);
}
