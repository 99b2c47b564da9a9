/**
 * Follows docs/tutorials/two-organizations.md as its reader does: every command is the tool in a process of its own, services are processes,
 * people sign in at the provider that their tool names. What the reader has to fill in is filled in here.
 */
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import {
  cleanEnv,
  emptyDirectory,
  ended,
  runner,
  serving,
  shell,
  type Result,
  type Serving,
} from '../cli/support/tool.ts';
import { promisedExit, withoutComment } from './pages.ts';
import type { TestProvider } from '../support/oidc.ts';

/** How long other processes may go by what held before (contract B, M6). */
const followSeconds = 5;

export class Story {
  readonly folder = emptyDirectory();
  /** What stands on the page, and what stands for it here. */
  readonly fill = new Map<string, string>();
  readonly services: Serving[] = [];
  /** What the last `export` lines said, beside where the tool keeps things. */
  readonly env: Record<string, string>;
  readonly #provider: TestProvider;

  constructor(provider: TestProvider, env: Readonly<Record<string, string>>) {
    this.#provider = provider;
    this.env = {
      GOV_CONFIG_DIR: join(this.folder, 'config'),
      XDG_STATE_HOME: join(this.folder, 'state'),
      ...env,
    };
  }

  /** Follows the lines of a block; what each said. */
  async follow(block: string): Promise<Result[]> {
    const results: Result[] = [];
    for (const line of block.trimEnd().split('\n')) results.push(await this.line(line));
    return results;
  }

  /** Follows one line, which ends as its comment says. */
  async line(line: string): Promise<Result> {
    const typed = this.filled(withoutComment(line));
    const expected = promisedExit(line);
    const startedAt = performance.now();
    let result = await this.#typed(typed);
    if (/\bwithin \d+ s\b/.test(line)) {
      while (result.code !== expected && performance.now() - startedAt < followSeconds * 1000) {
        result = await this.#typed(typed);
      }
    }
    expect({ code: result.code, said: result.stderr }, typed).toMatchObject({ code: expected });
    const [id] = /\b(?:prf|key)_[0-9a-z]{26}\b/.exec(result.stdout) ?? [];
    if (id !== undefined) this.fill.set(`${id.slice(0, 4)}…`, id);
    return result;
  }

  filled(text: string): string {
    return [...this.fill].reduce((rest, [gap, value]) => rest.replaceAll(gap, value), text);
  }

  async #typed(line: string): Promise<Result> {
    if (/^gov (service|plane) serve /.test(line)) return this.#serve(line);
    if (line.startsWith('gov auth signup ')) return this.#signUp(line);
    const [, name, command] = /^export (\w+)=(.*)$/.exec(line) ?? [];
    if (name === undefined) return this.#run(line);
    const result = await this.#run(`printf %s "${command}"`);
    this.env[name] = result.stdout;
    return result;
  }

  #run = (line: string): Promise<Result> => shell(line, { env: this.env, cwd: this.folder });

  /** At an address of its own, by which later lines know it. */
  async #serve(line: string): Promise<Result> {
    const [, address] = /--listen (\S+)/.exec(line) ?? [];
    const words = (address === undefined ? line : line.replace(address, '127.0.0.1:0')).split(' ').slice(1);
    const service = await serving(words, { env: this.env, cwd: this.folder });
    this.services.push(service);
    if (address !== undefined) this.fill.set(address, new URL(service.baseUrl).host);
    return done;
  }

  /** Opens the page that the tool shows, and signs in as the person who is named. */
  async #signUp(line: string): Promise<Result> {
    const [, person = ''] = /--name (\S+)/.exec(line) ?? [];
    const child = spawn(process.execPath, [runner, ...line.split(' ').slice(1)], {
      env: cleanEnv(this.env),
      cwd: this.folder,
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      const before = pageOf(said);
      said += chunk.toString();
      const page = pageOf(said);
      if (before === undefined && page !== undefined) void this.#provider.approve(page, person.toLowerCase());
    });
    return ended(child);
  }

  async end(): Promise<void> {
    for (const { child, stop } of this.services) if (child.signalCode === null) await stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const pageOf = (said: string): string | undefined => /^or {4}(\S+)\n/m.exec(said)?.[1];

const done: Result = { code: 0, signal: null, stdout: '', stderr: '' };
