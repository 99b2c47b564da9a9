/** A user of a hosted service: a configuration directory of their own, and the tool with it. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readUserConfig } from '../../src/cli/config.ts';
import { readCredentials } from '../../src/cli/credentials.ts';
import { emptyDirectory, govHere, type InProcessOptions, type Result } from './tool.ts';

export class Account {
  readonly folder = emptyDirectory();
  readonly env: Record<string, string>;

  /** `more`: further variables of every call. */
  constructor(more: Readonly<Record<string, string>> = {}) {
    this.env = { GOV_CONFIG_DIR: join(this.folder, 'config'), HOME: this.folder, ...more };
  }

  gov(argv: readonly string[], { env = {}, ...options }: InProcessOptions = {}): Promise<Result> {
    const now = Date.now();
    return govHere(argv, { cwd: this.folder, now, ...options, env: { ...this.env, ...env } });
  }

  /** What it prints as JSON. Throws where the exit code is not 0. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests say what they expect of it
  async json(argv: readonly string[], options: InProcessOptions = {}): Promise<any> {
    const { code, stdout, stderr } = await this.gov([...argv, '-o', 'json'], options);
    if (code !== 0) throw new Error(`gov ${argv.join(' ')} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout) as unknown;
  }

  get contexts() {
    return readUserConfig(this.env).contexts;
  }

  get current(): string | undefined {
    return readUserConfig(this.env).currentContext;
  }

  get credentials() {
    return readCredentials(this.env);
  }

  file(name: string): { text: string; mode: number } {
    const path = join(this.folder, name);
    return { text: readFileSync(path, 'utf8'), mode: statSync(path).mode & 0o777 };
  }
}
