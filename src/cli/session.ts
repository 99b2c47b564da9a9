/**
 * Whom a command talks to, as whom, and whom it trusts. A context's credential goes only to that context's
 * own address: with --base-url or GOV_BASE_URL pointing elsewhere, a key must come from the environment.
 * Everything is read when first asked for. `test/cli/config.test.ts` holds the order of credentials.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, ClientNote } from '../client/client.ts';
import { readSecret, readUserConfig } from './config.ts';
import type { Context } from './config.ts';
import { CliError, exit, usage } from './exit.ts';
import { readText } from './flags.ts';
import type { Io } from './io.ts';
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

/** The key that asked may not decide, so approvals are decided as the approver. */
export type Role = 'operator' | 'approver';

export interface NamedContext {
  readonly name: string;
  readonly context: Context;
}
/** A value with the place that decided it, for `gov context show`. */
export interface Decided<Value> {
  readonly value: Value;
  readonly from: string;
}

export class Session {
  readonly #options: SessionOptions;
  #client: Promise<Client> | undefined;
  #context: NamedContext | null | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** The chosen context, or null where there is none. Errors: exit 2 for an unknown name. */
  context(): NamedContext | null {
    this.#context ??= this.#choose();
    return this.#context;
  }

  /** From here on, the plane in this directory, whatever the chosen context; for a flag --data. */
  usePlane(dataDir: string): void {
    this.#context = { name: dataDir, context: { kind: 'plane', dataDir } };
  }

  #choose(): NamedContext | null {
    const { settings, io } = this.#options;
    const config = readUserConfig(io.env);
    const name = settings.context ?? config.currentContext;
    if (name === undefined) return null;
    const context = Object.hasOwn(config.contexts, name) ? config.contexts[name] : undefined;
    if (context !== undefined) return { name, context };
    const known = Object.keys(config.contexts).join(', ') || 'none yet';
    throw usage(`no context is named ${JSON.stringify(name)}; there is: ${known}`, 'gov context list');
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
      return { value: checkUrl(settings.baseUrl), from };
    }
    const chosen = this.context();
    if (chosen !== null) return ownBaseUrl(chosen);
    throw new CliError(exit.usage, 'nothing says where the service is: there is no context', {
      hint: 'make a data plane here, or give --base-url and GOV_API_KEY',
      next: ['gov plane init --data DIR', 'gov context list'],
    });
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
    const store = chosen === null ? undefined : keyFile(chosen.context, this.#options.role);
    if (chosen === null || store === undefined) return null;
    const target = new URL(this.baseUrl().value).origin;
    if (target !== new URL(ownBaseUrl(chosen).value).origin) return null;
    if (!existsSync(store)) return null;
    return { value: readSecret(store), from: `context ${chosen.name} (${store})` };
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

  async #open(fallback: number | undefined): Promise<Client> {
    const { settings, io, signal, observe, warn } = this.#options;
    const { createClient } = await import('../client/client.ts');
    const baseUrl = this.baseUrl().value;
    const retries = settings.retries ?? fallback;
    const key = this.apiKey();
    if (key !== null && !isPrivate(new URL(baseUrl)))
      warn(`the API key is sent unencrypted to ${new URL(baseUrl).host}`);
    const context = this.context()?.context;
    const contextCa = context?.kind === 'service' ? context.caFile : undefined;
    const caFile = settings.cacert ?? contextCa ?? (io.env['SSL_CERT_FILE'] || undefined);
    return createClient({
      baseUrl,
      signal,
      observe,
      env: io.env,
      ...(key === null ? {} : { apiKey: key.value }),
      ...(settings.timeoutMs === undefined ? {} : { timeoutMs: settings.timeoutMs }),
      ...(retries === undefined ? {} : { retries }),
      ...(caFile === undefined ? {} : { ca: [readText(caFile)] }),
    });
  }

  /** Ends the sockets of a client that was opened. */
  async close(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    client?.close();
  }
}

const checkUrl = (text: string): string => {
  if (URL.canParse(text) && /^https?:\/\//i.test(text)) return text;
  throw usage(
    `--base-url: expected an address such as http://127.0.0.1:7460/api/v1, got ${JSON.stringify(text)}`,
  );
};

/** A plane that was made before there were approvers has the operator's key alone. */
function keyFile(context: Context, role: Role = 'operator'): string | undefined {
  if (context.kind === 'service') return context.apiKeyFile;
  const approver = join(context.dataDir, 'approver.key');
  return role === 'approver' && existsSync(approver) ? approver : join(context.dataDir, 'local.key');
}

/** A plane's address: where it serves now, else where it is configured to. */
function ownBaseUrl({ name, context }: NamedContext): Decided<string> {
  const from = `context ${name}`;
  if (context.kind === 'service') return { value: checkUrl(context.baseUrl), from };
  const running = member(join(context.dataDir, 'run.json'), 'baseUrl');
  if (running !== undefined) return { value: checkUrl(running), from: `${from} (run.json)` };
  const listen = member(join(context.dataDir, 'plane.json'), 'listen');
  if (listen !== undefined)
    return { value: checkUrl(`http://${listen}/api/v1`), from: `${from} (plane.json)` };
  throw usage(
    `context ${name}: ${context.dataDir} is not a data plane, or this user may not read it`,
    'gov plane init --data DIR',
  );
}

function member(path: string, name: string): string | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    const found =
      typeof value === 'object' && value !== null
        ? Object.entries(value).find(([key]) => key === name)
        : undefined;
    return typeof found?.[1] === 'string' ? found[1] : undefined;
  } catch {
    // missing or unreadable: the caller tries the next place and names the directory
    return undefined;
  }
}

/** Encrypted, or not leaving this machine. */
const isPrivate = (url: URL): boolean =>
  url.protocol === 'https:' || /^(localhost|.*\.localhost|127\..*|\[::1\])$/.test(url.hostname);
