/**
 * The programs of clients on this machine: where they are, which version, and whether Codex trusts our hooks.
 * Tested by `test/cli/agents/doctor.test.ts`.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isObject } from '../../core/json/object.ts';
import type { Variables } from '../context/config.ts';
import type { Setup } from './setup/edit.ts';
import { isOwnLine } from './setup/edit.ts';

export interface Program {
  readonly path: string;
  /** Null if it did not say. */
  readonly version: string | null;
}

const probeMs = 5000;

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Returns the first of the names that is on PATH. Runs it once, to ask for its version. */
export async function findProgram(
  { programs }: Setup,
  env: Variables,
  timeoutMs = probeMs,
): Promise<Program | null> {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder.startsWith('/'));
  const paths = programs.flatMap((name) => folders.map((folder) => join(folder, name)));
  const path = paths.find(isProgram);
  if (path === undefined) return null;
  const { stdout } = await output(path, ['--version'], { env, timeoutMs });
  return { path, version: /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null };
}

/** Whether a program is too old for a set-up. One that does not say its version counts as new. */
export function isTooOld(program: Program | null, { oldest }: Setup): boolean {
  const version = program?.version ?? null;
  return version !== null && oldest !== null && isOlder(version, oldest);
}

function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((each) => each.split('.').map(Number));
  const at = [0, 1, 2].find((index) => a?.[index] !== b?.[index]);
  return at !== undefined && (a?.[at] ?? 0) < (b?.[at] ?? 0);
}

interface Output {
  readonly code: number | null;
  readonly stdout: string;
}

/** Runs a program to its end, or to `timeoutMs`. Never throws. */
function output(
  path: string,
  words: readonly string[],
  { env, timeoutMs }: { readonly env: Variables; readonly timeoutMs: number },
): Promise<Output> {
  return new Promise((resolve) => {
    const child = spawn(path, words, {
      env: { ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: timeoutMs,
    });
    let stdout = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.once('error', () => resolve({ code: null, stdout }));
    child.once('close', (code) => resolve({ code, stdout }));
  });
}

/** A hook as Codex sees it. */
export interface CodexHook {
  readonly key: string;
  readonly currentHash: string;
  readonly runs: boolean;
}

/** Asks Codex for our hooks and its trust in them (`codex app-server`). Null if it gives no answer that we know. */
export function codexHooks(
  path: string,
  { env, cwd, timeoutMs = probeMs }: { env: Variables; cwd: string; timeoutMs?: number },
): Promise<CodexHook[] | null> {
  return new Promise((resolve) => {
    const child = spawn(path, ['app-server'], {
      env: { ...env },
      cwd,
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: timeoutMs,
    });
    let rest = '';
    let found: CodexHook[] | null = null;
    const end = (): void => resolve(found);
    child.once('error', end);
    child.once('close', end);
    child.stdin.on('error', () => {}); // it has ended, and `close` says so
    child.stdout.on('data', (chunk: Buffer) => {
      const lines = `${rest}${chunk.toString()}`.split('\n');
      rest = lines.pop() ?? '';
      const answer = lines.map(answerIn).find((each) => each !== null);
      if (answer === undefined) return;
      found = answer;
      child.kill();
    });
    const params = { clientInfo: { name: 'gov', title: 'gov', version: '1' } };
    const messages = [
      { id: 1, method: 'initialize', params },
      { method: 'initialized' },
      { id: 2, method: 'hooks/list', params: { cwds: [cwd] } },
    ];
    for (const message of messages) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  });
}

/** Returns our hooks if the line is the answer to the second request. */
function answerIn(line: string): CodexHook[] | null {
  try {
    const message: unknown = JSON.parse(line);
    if (!isObject(message) || message['id'] !== 2) return null;
    const { data } = message['result'] as { data: { hooks: Record<string, unknown>[] }[] };
    return data.flatMap(({ hooks }) =>
      hooks
        .filter(({ command }) => isOwnLine(command))
        .map(({ key, currentHash, enabled, trustStatus }) => ({
          key: String(key),
          currentHash: String(currentHash),
          runs: enabled === true && (trustStatus === 'trusted' || trustStatus === 'managed'),
        })),
    );
  } catch {
    return null; // another form of the answer: a newer Codex
  }
}
