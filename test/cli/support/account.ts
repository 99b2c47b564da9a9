/** A user of a hosted service: a configuration directory of their own, and the tool with it. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readUserConfig } from '../../../src/cli/context/config.ts';
import { readCredentials } from '../../../src/cli/context/credentials.ts';
import { updateUserState } from '../../../src/cli/context/config-write.ts';
import type { Context } from '../../../src/cli/context/definition.ts';
import type { TestService } from '../../support/hosted.ts';
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

interface Signing {
  readonly account: Account;
  /** Of the person, who has signed in at the provider a moment ago. */
  readonly name: string;
  readonly words: readonly string[];
}

/** Signs up, with an ID token on standard input. */
export const signUpAt = async (service: TestService, { account, name, words }: Signing): Promise<Result> =>
  account.gov(
    ['auth', 'signup', '--name', name, '--organization', `Org of ${name}`, '--id-token', '-', ...words],
    { input: await service.idToken(name), env: { GOV_BASE_URL: service.origin } },
  );

/** Signs in somebody who has signed up. */
export const signInAt = async (service: TestService, { account, name, words }: Signing): Promise<Result> =>
  account.gov(['auth', 'login', '--base-url', service.origin, '--id-token', '-', ...words], {
    input: await service.idToken(name),
  });

/** Keys as `signedUp` keeps them; no service knows them. */
export const heldKeys = { production: `gov_live_${'l'.repeat(38)}`, sandbox: `gov_test_${'t'.repeat(38)}` };

/** Variables of a user who has signed up at `origin`: contexts acme and acme-sandbox, each with its key. */
export async function signedUp(origin: string, current = 'acme'): Promise<{ GOV_CONFIG_DIR: string }> {
  const env = { GOV_CONFIG_DIR: join(emptyDirectory(), 'gov') };
  const context = (path: string, name: string): Context => ({
    kind: 'service',
    baseUrl: `${origin}${path}`,
    credential: name,
  });
  await updateUserState(env, () => ({
    config: {
      currentContext: current,
      contexts: {
        acme: context('/api/v1', 'acme'),
        'acme-sandbox': context('/sandbox/api/v1', 'acme-sandbox'),
      },
    },
    credentials: {
      acme: { kind: 'api_key', token: heldKeys.production, origin, expiresAt: null },
      'acme-sandbox': { kind: 'api_key', token: heldKeys.sandbox, origin, expiresAt: null },
    },
  }));
  return env;
}
