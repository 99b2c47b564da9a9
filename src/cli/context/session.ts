/**
 * Whom a command talks to, as whom, and whom it trusts. A context's credential goes only to that context's
 * own address: with --base-url or GOV_BASE_URL pointing elsewhere, a key must come from the environment.
 * Everything is read when first asked for. `test/cli/context/config.test.ts` holds the order of credentials.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, ClientNote } from '../../client/create.ts';
import type { WebOptions } from '../auth/web.ts';
import type { Environment } from '../../contract/auth-words.ts';
import { readSecret, readUserConfig } from './config.ts';
import { environmentAt, environmentOf, siblingOf } from './definition.ts';
import { credentialsPath, readCredentials } from './credentials.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { readText } from '../program/flags.ts';
import type { Io } from '../terminal/io.ts';
import { ownCertificate } from './certificate.ts';
import {
  givenAddress,
  inEnvironment,
  isPrivate,
  keyFile,
  ownBaseUrl,
  planeEnvironment,
  unknownContext,
} from './place.ts';
import type { Decided, NamedContext, Role } from './place.ts';
import type { Settings } from './settings.ts';

export interface SessionOptions {
  readonly settings: Settings;
  readonly io: Io;
  readonly signal: AbortSignal;
  /** As whom a local plane is talked to where nothing else names a key; default the operator. */
  readonly role?: Role;
  readonly observe: (note: ClientNote) => void;
  readonly warn: (text: string) => void;
}

export class Session {
  readonly #options: SessionOptions;
  readonly #opened: Client[] = [];
  #client: Promise<Client> | undefined;
  #context: NamedContext | null | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** The chosen context, or null where there is none. Errors: exit 2 for an unknown name. */
  context(): NamedContext | null {
    if (this.#context === undefined) this.#context = this.#choose();
    return this.#context;
  }

  /** From here on this one, whatever was chosen; null: none. */
  use(context: NamedContext | null): void {
    this.#context = context;
  }

  /** From here on, the plane in this directory; for a flag --data. */
  usePlane(dataDir: string): void {
    this.use({ name: dataDir, context: { kind: 'plane', dataDir } });
  }

  #choose(): NamedContext | null {
    const { settings, io } = this.#options;
    const { contexts, currentContext } = readUserConfig(io.env);
    const name = settings.context ?? currentContext;
    if (name === undefined) return null;
    const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
    if (context === undefined) throw unknownContext(name, contexts);
    const environment = settings.environment;
    if (environment === undefined) return { name, context };
    if (context.kind === 'service') return inEnvironment(contexts, { name, context }, environment.value);
    if (environment.from === 'project file' || environment.value === planeEnvironment(context))
      return { name, context };
    throw usage(`context ${name} is a data plane, which has one environment: leave --env and GOV_ENV out`);
  }

  /** The data directory of the chosen context's plane. Errors: exit 2 where it is none. */
  dataDir(): string {
    const chosen = this.context();
    if (chosen?.context.kind === 'plane') return chosen.context.dataDir;
    throw usage(
      'expected a data plane: no context of kind plane is chosen',
      'give --data DIR, or choose one with -C',
    );
  }

  /** Errors: exit 2 where nothing says where the service is. */
  baseUrl(): Decided<string> {
    const { settings, io } = this.#options;
    if (settings.baseUrl !== undefined) {
      const from = settings.baseUrl === io.env['GOV_BASE_URL'] ? 'flag or GOV_BASE_URL' : 'flag';
      return { value: givenAddress(settings.baseUrl, settings.environment?.value), from };
    }
    const chosen = this.context();
    if (chosen !== null) return ownBaseUrl(chosen);
    throw new CliError(exit.usage, 'nothing says where the service is: there is no context', {
      hint: 'make a data plane here, or give --base-url and GOV_API_KEY',
      next: ['gov plane init --data DIR', 'gov context list'],
    });
  }

  /** Of the address; undefined where nothing says it. */
  environment(): Environment | undefined {
    const own = this.#options.settings.baseUrl === undefined ? this.context()?.context : undefined;
    return own?.kind === 'service' ? environmentOf(own) : environmentAt(this.baseUrl().value);
  }

  /** The production context that nobody named, where its sandbox stands beside it; else null. */
  unnamedProduction(): { readonly name: string; readonly sandbox: string } | null {
    const { settings, io } = this.#options;
    if (settings.baseUrl !== undefined || settings.context !== undefined) return null;
    const chosen = this.context();
    if (chosen?.context.kind !== 'service' || environmentOf(chosen.context) !== 'production') return null;
    if (settings.environment !== undefined && settings.environment.from !== 'project file') return null;
    const { name, context } = chosen;
    const sandbox = siblingOf(readUserConfig(io.env).contexts, { name, context }, 'sandbox');
    return sandbox === undefined ? null : { name, sandbox: sandbox.name };
  }

  /** The project that calls name, if any: a person's must where they act on one. */
  project(): Decided<string> | null {
    const { settings } = this.#options;
    const chosen = settings.baseUrl === undefined ? this.context() : null;
    const asked = settings.project;
    if (asked !== undefined && !(asked.from === 'project file' && chosen?.context.kind === 'plane'))
      return { value: asked.value, from: asked.from };
    if (chosen?.context.kind !== 'service' || chosen.context.project === undefined) return null;
    return { value: chosen.context.project, from: `context ${chosen.name}` };
  }

  /** Null where there is none. Errors: exit 2 for a secret file that is missing or open to everybody. */
  apiKey(): Decided<string> | null {
    const { env } = this.#options.io;
    const direct = env['GOV_API_KEY'];
    if (direct !== undefined && direct !== '') {
      if (!/^[\u0021-\u007e]{1,4096}$/.test(direct))
        throw usage('GOV_API_KEY: expected one word, got something else');
      return { value: direct, from: 'GOV_API_KEY' };
    }
    const file = env['GOV_API_KEY_FILE'];
    if (file !== undefined && file !== '')
      return { value: readSecret(file), from: `GOV_API_KEY_FILE (${file})` };
    const credentials = env['CREDENTIALS_DIRECTORY'];
    const credential = credentials ? join(credentials, 'gov-api-key') : undefined;
    if (credential !== undefined && existsSync(credential))
      return { value: readSecret(credential), from: credential };
    return this.#contextKey();
  }

  #contextKey(): Decided<string> | null {
    const chosen = this.context();
    if (chosen === null) return null;
    const target = new URL(this.baseUrl().value).origin;
    if (target !== new URL(ownBaseUrl(chosen).value).origin) return null;
    if (chosen.context.kind === 'service' && chosen.context.credential !== undefined)
      return this.#storedCredential(chosen.name, chosen.context.credential, target);
    const store = keyFile(chosen.context, this.#options.role);
    if (store === undefined || !existsSync(store)) return null;
    return { value: readSecret(store), from: `context ${chosen.name} (${store})` };
  }

  #storedCredential(name: string, credential: string, target: string): Decided<string> | null {
    const { env } = this.#options.io;
    const all = readCredentials(env);
    const stored = Object.hasOwn(all, credential) ? all[credential] : undefined;
    if (stored === undefined) return null;
    if (stored.origin === target)
      return { value: stored.token, from: `context ${name} (${credentialsPath(env)})` };
    throw usage(
      `context ${name} is at ${target} by now, and its credential is for ${stored.origin}`,
      `sign in again: gov auth login -C ${name}`,
    );
  }

  /** Texts of the trust files that apply without a flag: the context's own. */
  trustFile(): string | undefined {
    const context = this.context()?.context;
    if (context === undefined) return undefined;
    const file = context.kind === 'plane' ? join(context.dataDir, 'trust') : context.trustFile;
    return file !== undefined && existsSync(file) ? file : undefined;
  }

  /** The client, made once. `retries`: where the user asked for none. */
  client({ retries }: { readonly retries?: number } = {}): Promise<Client> {
    this.#client ??= this.#open(retries);
    return this.#client;
  }

  #open(retries: number | undefined): Promise<Client> {
    return this.clientAt(this.baseUrl().value, {
      token: this.apiKey()?.value,
      project: this.project()?.value,
      retries,
    });
  }

  /** A client for an address and credential that no context holds yet, such as those of a sign-in. */
  async clientAt(
    baseUrl: string,
    {
      token,
      project,
      retries,
    }: { token?: string | undefined; project?: string | undefined; retries?: number | undefined },
  ): Promise<Client> {
    const { settings, signal, observe, warn } = this.#options;
    const { createClient } = await import('../../client/create.ts');
    if (token !== undefined && !isPrivate(new URL(baseUrl)))
      warn(`the credential is sent unencrypted to ${new URL(baseUrl).host}`);
    const { env, ca, timeoutMs } = this.webOptions();
    const attempts = settings.retries ?? retries;
    const client = createClient({
      baseUrl,
      signal,
      observe,
      env,
      ca,
      certificate: ownCertificate(env),
      apiKey: token,
      project,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(attempts === undefined ? {} : { retries: attempts }),
    });
    this.#opened.push(client);
    return client;
  }

  /** How anything is reached from here. */
  webOptions(): Pick<WebOptions, 'env' | 'ca' | 'timeoutMs'> {
    const { settings, io } = this.#options;
    const caFile = settings.cacert ?? this.#contextCa() ?? (io.env['SSL_CERT_FILE'] || undefined);
    return {
      env: io.env,
      ca: caFile === undefined ? [] : [readText(caFile)],
      timeoutMs: settings.timeoutMs,
    };
  }

  #contextCa(): string | undefined {
    const context = this.context()?.context;
    return context?.kind === 'service' ? context.caFile : undefined;
  }

  /** Ends the sockets of the clients that were opened. */
  close(): void {
    for (const client of this.#opened) client.close();
  }
}
