/**
 * The service, the credential and the trust of one call. A context's credential goes only to that context's address: if
 * --base-url or GOV_BASE_URL names another one, the key must come from the environment. Values are read on first use.
 * Tested by `test/cli/context/config.test.ts`.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Client, ClientNote, ClientOptions, UnsignedChange } from '../../client/create.ts';
import type { ReceiptedAnswer } from '../../client/receipts/receipted.ts';
import type { Pinning } from '../../client/pinned.ts';
import type { WebOptions } from './web.ts';
import type { Environment } from '../../contract/auth-words.ts';
import { isRunToken } from '../../core/run-token.ts';
import { shellWord } from '../../core/shell-word.ts';
import { configPath, readSecret, readUserConfig, receiptsFolder } from './config.ts';
import { environmentAt, environmentOf, siblingOf } from './definition.ts';
import { planeFolderAt } from './folder.ts';
import { placeOf, readCredentials } from './credentials.ts';
import { policyPath, refuseAddress } from './locks.ts';
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
import type { ValueSource, NamedContext, Role } from './place.ts';
import { unserved } from './run-file.ts';
import type { Settings } from './settings.ts';

export interface SessionOptions {
  readonly settings: Settings;
  readonly io: Io;
  readonly signal: AbortSignal;
  /** Whose key file of a local plane to use if nothing else names a key; default: the operator's. */
  readonly role?: Role;
  readonly observe: (note: ClientNote) => void;
  /** Signs a change of a plane of this machine that has a sealed approver key; returns the header. */
  readonly signChange?: (dataDir: string, change: UnsignedChange) => Promise<string | null>;
  readonly warn: (text: string) => void;
}

/** How often and how long a client tries. */
interface Patience {
  readonly retries?: number;
  readonly timeoutMs?: number;
  /** Keep the receipts of recorded events, for `gov receipts check`. Only a command without a spool needs it. */
  readonly keepsReceipts?: boolean;
  /** Finds the plane that a key is for, where no TLS proves it. */
  readonly pin?: (at: { readonly baseUrl: string; readonly key: string | undefined }) => Pinning | null;
}

export class Session {
  readonly #options: SessionOptions;
  readonly #opened: Client[] = [];
  #client: Promise<Client> | undefined;
  #context: NamedContext | null | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Returns the chosen context, or null. Errors: exit 2 for an unknown name, and in the folder of a plane without a context. */
  context(): NamedContext | null {
    if (this.#context === undefined) this.#context = this.#choose();
    return this.#context;
  }

  /** The folder of relative paths. */
  get cwd(): string {
    return this.#options.io.cwd;
  }

  /** Replaces the chosen context for the rest of the call; null: no context. */
  use(context: NamedContext | null): void {
    this.#context = context;
  }

  /** Uses the plane in this directory for the rest of the call; for a flag --data. */
  usePlane(dataDir: string): void {
    this.use({ name: dataDir, context: { kind: 'plane', dataDir } });
  }

  #choose(): NamedContext | null {
    const { settings, io } = this.#options;
    const { contexts, currentContext } = readUserConfig(io.env);
    const here = settings.context === undefined ? planeFolderAt(io.cwd, contexts) : null;
    if (here?.name === null) {
      // a command here is about this plane, and takes neither key nor trust of another one
      if (settings.baseUrl !== undefined) return null;
      throw usage(
        `expected a context for the plane of this folder, ${here.dataDir}, found none`,
        'name it: gov context set NAME --data DIR; or say what is meant: --data, -C',
      );
    }
    const name = settings.context ?? here?.name ?? currentContext;
    if (name === undefined) return null;
    const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
    if (context === undefined) throw unknownContext(name, contexts);
    const environment = settings.environment;
    if (environment === undefined) return { name, context };
    if (context.kind === 'service') return inEnvironment(contexts, { name, context }, environment.value);
    if (environment.from === 'project file' || environment.value === planeEnvironment(context))
      return { name, context };
    throw usage(`context ${name} is a data plane, which has one environment`, 'leave out --env and GOV_ENV');
  }

  /** Returns the data directory of the chosen context. Errors: exit 2 if that is not a plane. */
  dataDir(): string {
    const chosen = this.context();
    if (chosen?.context.kind === 'plane') return chosen.context.dataDir;
    throw usage(
      'expected a data plane: no context of kind plane is chosen',
      'give --data DIR, or choose one with -C',
    );
  }

  /** Errors: exit 2 if no flag, variable or context names the service. */
  baseUrl(): ValueSource<string> {
    const { settings, io } = this.#options;
    if (settings.baseUrl !== undefined) {
      const from = settings.baseUrl === io.env['GOV_BASE_URL'] ? 'flag or GOV_BASE_URL' : 'flag';
      return { value: givenAddress(settings.baseUrl, settings.environment?.value), from };
    }
    const chosen = this.context();
    if (chosen !== null) return ownBaseUrl(chosen);
    const locked = settings.locks.baseUrl;
    if (locked !== undefined)
      return { value: givenAddress(locked, settings.environment?.value), from: policyPath(io) };
    throw new CliError(exit.usage, 'expected the address of a service: there is no context', {
      hint: 'make a data plane here, or give --base-url and GOV_API_KEY',
      next: ['gov plane init --data DIR', 'gov context list'],
    });
  }

  /** Returns whether a flag, a variable, a context or an administrator names the service. */
  hasTarget(): boolean {
    const { baseUrl, locks } = this.#options.settings;
    return baseUrl !== undefined || locks.baseUrl !== undefined || this.context() !== null;
  }

  /** Returns the environment of the address; undefined if nothing shows it. */
  environment(): Environment | undefined {
    const own = this.#options.settings.baseUrl === undefined ? this.context()?.context : undefined;
    return own?.kind === 'service' ? environmentOf(own) : environmentAt(this.baseUrl().value);
  }

  /** Returns the production context that nobody named, if it has a sandbox; else null. */
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

  /** Returns the project to name in calls. A person's calls need one, unless they are about the account. */
  project(): ValueSource<string> | null {
    const { settings } = this.#options;
    const chosen = settings.baseUrl === undefined ? this.context() : null;
    const asked = settings.project;
    if (asked !== undefined && !(asked.from === 'project file' && chosen?.context.kind === 'plane'))
      return { value: asked.value, from: asked.from };
    if (chosen?.context.kind !== 'service' || chosen.context.project === undefined) return null;
    return { value: chosen.context.project, from: `context ${chosen.name}` };
  }

  /** Returns null without a key. Errors: exit 2 for a secret file that is missing or that every user can read. */
  apiKey(): ValueSource<string> | null {
    const { env } = this.#options.io;
    const direct = env['GOV_API_KEY'];
    if (direct !== undefined && direct !== '') {
      if (!/^[\u0021-\u007e]{1,4096}$/.test(direct))
        throw usage('GOV_API_KEY: expected one word, got other text');
      // a proxy keeps pins in a run of its own, and so needs the key of agents
      const isProxy = isRunToken(direct) && this.#options.role === 'agent';
      const own = isProxy && this.context()?.context.kind === 'plane' ? this.#contextKey() : null;
      return own ?? { value: direct, from: 'GOV_API_KEY' };
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

  #contextKey(): ValueSource<string> | null {
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

  #storedCredential(name: string, credential: string, target: string): ValueSource<string> | null {
    const { env } = this.#options.io;
    const all = readCredentials(env);
    const stored = Object.hasOwn(all, credential) ? all[credential] : undefined;
    if (stored === undefined) return null;
    if (stored.origin === target)
      return { value: stored.token, from: `context ${name} (${placeOf(env, stored)})` };
    throw usage(
      `context ${name} is now at ${target}, and its credential is for ${stored.origin}`,
      `sign in again: gov auth login -C ${shellWord(name)}`,
    );
  }

  /** Returns the absolute path of the context's trust file, which applies without a flag. */
  trustFile(): string | undefined {
    const context = this.context()?.context;
    if (context === undefined) return undefined;
    const named = context.kind === 'plane' ? join(context.dataDir, 'trust') : context.trustFile;
    const file = named && resolve(this.cwd, named);
    return file !== undefined && existsSync(file) ? file : undefined;
  }

  /** Returns the client, created once. `defaults` apply where the user named no number. */
  client(defaults: Patience = {}): Promise<Client> {
    this.#client ??= this.#open(defaults);
    return this.#client;
  }

  #open(defaults: Patience): Promise<Client> {
    const chosen = this.#options.settings.baseUrl === undefined ? this.context() : null;
    return this.clientAt(this.baseUrl().value, {
      token: this.apiKey()?.value,
      project: this.project()?.value,
      ...(chosen?.context.kind === 'plane' ? { dataDir: chosen.context.dataDir } : {}),
      ...defaults,
    });
  }

  /** Returns a client for an address and credential without a context, such as those of a sign-in. */
  async clientAt(
    baseUrl: string,
    {
      token,
      project,
      dataDir,
      ...defaults
    }: {
      readonly token?: string | undefined;
      readonly project?: string | undefined;
      /** Of a plane: no request is sent while no process serves it. */
      readonly dataDir?: string;
    } & Patience,
  ): Promise<Client> {
    const { settings, signal, warn, io } = this.#options;
    refuseAddress(baseUrl, { locks: settings.locks, io });
    const { createClient } = await import('../../client/create.ts');
    if (token !== undefined && !isPrivate(new URL(baseUrl)))
      warn(`the credential is sent unencrypted to ${new URL(baseUrl).host}`);
    const { env, ca, timeoutMs = defaults.timeoutMs } = this.webOptions();
    const keepReceipts = defaults.keepsReceipts === true ? await this.#receiptKeeper() : undefined;
    const attempts = settings.retries ?? defaults.retries;
    const lock = dataDir === undefined ? undefined : await import('../../../plane/serve/served.ts');
    const observe = (note: ClientNote): void => {
      if (note.kind === 'request' && dataDir !== undefined && lock?.isServed(dataDir) === false)
        throw unserved(dataDir, note.url);
      this.#options.observe(note);
    };
    const pin = new URL(baseUrl).protocol === 'https:' ? null : defaults.pin?.({ baseUrl, key: token });
    const client = createClient({
      baseUrl,
      signal,
      observe,
      env,
      ca,
      certificate: ownCertificate(this.#options.io),
      apiKey: token,
      project,
      ...(pin === null || pin === undefined ? {} : { pin }),
      ...(dataDir === undefined ? {} : { signChange: this.#changeSigner(dataDir) }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(attempts === undefined ? {} : { retries: attempts }),
      ...(keepReceipts === undefined ? {} : { onReceipt: keepReceipts }),
    });
    this.#opened.push(client);
    return client;
  }

  #changeSigner(dataDir: string): ClientOptions['signChange'] {
    const { signChange } = this.#options;
    return signChange === undefined ? undefined : (change) => signChange(dataDir, change);
  }

  async #receiptKeeper(): Promise<(answer: ReceiptedAnswer) => void> {
    const { keepAnswer } = await import('../../client/sending/kept-answers.ts');
    const folder = receiptsFolder(configPath(this.#options.io.env));
    return (answer) => keepAnswer(folder, answer);
  }

  /** Proxies, authorities and time limit of every connection. */
  webOptions(): Pick<WebOptions, 'env' | 'ca' | 'timeoutMs'> {
    const { settings, io } = this.#options;
    const caFile = settings.cacert ?? this.#contextCa() ?? (io.env['SSL_CERT_FILE'] || undefined);
    return {
      env: io.env,
      ca: caFile === undefined ? [] : [readText(caFile, io.cwd)],
      timeoutMs: settings.timeoutMs,
    };
  }

  #contextCa(): string | undefined {
    const context = this.context()?.context;
    return context?.kind === 'service' ? context.caFile : undefined;
  }

  /** Ends the sockets of all clients. */
  close(): void {
    for (const client of this.#opened) client.close();
  }
}
