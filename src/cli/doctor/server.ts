/**
 * The checks of `gov doctor` on the context: whether its server answers, its clock and version, the key, the trust file,
 * health and integrity. They ask at the same time; those that need an answer wait for the first one.
 * Tested by `test/cli/doctor/run.test.ts` against a real plane.
 */
import { execFile } from 'node:child_process';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import type { Client } from '../../client/create.ts';
import { GovApiError, GovNetworkError, GovTimeoutError } from '../../client/errors.ts';
import { isLoopback, proxyName } from '../../client/proxy.ts';
import { Connection } from '../../client/transport.ts';
import { build } from '../../client/version.ts';
import type { Integrity } from '../../contract/operations.ts';
import { openTrustedCheckpoint } from '../../core/note/checkpoint.ts';
import { GovError } from '../../contract/problems.ts';
import { shellWord } from '../../core/shell-word.ts';
import { ownCertificate } from '../context/certificate.ts';
import { readCredentials } from '../context/credentials.ts';
import { CliError, exit } from '../program/exit.ts';
import type { Session } from '../context/session.ts';
import type { Io } from '../terminal/io.ts';
import { readTrust } from '../trust/read.ts';
import { attemptMs, failed, ok, skipped, warning } from './finding.ts';
import type { CheckResult } from './finding.ts';

/** What the server says of its health. */
export interface Health {
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly version?: string;
  readonly reasons?: readonly string[];
}

/** The answer of `GET /health/live`, without a credential. */
interface ServerAnswer {
  readonly ms: number;
  readonly proxy: string | undefined;
  readonly isSecure: boolean;
  /** Milliseconds that the server's clock is ahead of ours; NaN if the server does not say its time. */
  readonly aheadMs: number;
}

/** Clock differences from which a service refuses a signed message, and from which the doctor warns. */
const skew = { failMs: 300_000, warnMs: 30_000 } as const;

/** From this long before the end of a key the doctor warns. */
const expiryMs = 14 * 86_400_000;

interface ServerOptions {
  /** Has the time limits of a check. */
  readonly session: Session;
  readonly io: Io;
  readonly signal: AbortSignal;
  /** Why the keychain does not answer; null: it does, or gov uses none. Reading a key from it blocks this process. */
  readonly keychainFault: Promise<string | null>;
}

export class ServerChecks {
  readonly #options: ServerOptions;
  readonly #session: Session;
  readonly #reached: Promise<ServerAnswer | null>;
  #fault: unknown;
  #health: Promise<Health> | undefined;
  #integrity: Promise<Integrity> | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#session = options.session;
    this.#reached = this.#reach().catch((cause: unknown) => {
      this.#fault = cause;
      return null;
    });
  }

  lookAtContext(): CheckResult {
    if (!this.#session.hasTarget())
      return warning('none: gov knows no service and no data plane of yours', 'gov quickstart');
    const chosen = this.#session.context();
    const { value, from } = this.#session.baseUrl();
    return ok(chosen === null ? `${value}, from ${from}` : `${chosen.name}: ${value}, from ${from}`);
  }

  async lookAtServer(): Promise<CheckResult> {
    if (!this.#hasTarget()) return skipped('there is no context');
    const reached = await this.#reached;
    if (reached === null) return this.#unreached();
    const { ms, proxy, isSecure } = reached;
    const through = proxy === undefined ? '' : ` through the proxy ${proxyName(proxy)}`;
    const detail = `answers in ${ms} ms${through}`;
    const url = new URL(this.#session.baseUrl().value);
    if (isSecure || isLoopback(url.hostname.replace(/^\[|\]$/g, ''))) return ok(detail);
    url.protocol = 'https:';
    return warning(
      `${detail}, without TLS: others may read the key`,
      `gov context set NAME --base-url ${shellWord(url.href)}`,
    );
  }

  #unreached(): CheckResult {
    const cause = this.#fault;
    const chosen = this.#session.context();
    const message = cause instanceof Error ? cause.message : String(cause);
    if (chosen?.context.kind === 'plane' && cause instanceof GovNetworkError && cause.code === 'ECONNREFUSED')
      return failed(
        `${message}: the plane does not serve`,
        `gov plane serve --data ${shellWord(chosen.context.dataDir)}`,
      );
    if (cause instanceof GovTimeoutError)
      return failed(message, `curl -sv ${shellWord(`${this.#session.baseUrl().value}/health/live`)}`);
    if (cause instanceof GovNetworkError) return failed(message, cause.hint ?? 'gov context show');
    throw cause;
  }

  lookAtClock(): Promise<CheckResult> {
    return this.#answered(({ aheadMs }) => {
      const next = 'timedatectl set-ntp true';
      if (Number.isNaN(aheadMs)) return warning('the server does not say its time', 'gov context show');
      const seconds = Math.round(Math.abs(aheadMs) / 1000);
      const detail =
        seconds === 0 ? 'as the server' : `the server is ${seconds} s ${aheadMs < 0 ? 'behind' : 'ahead'}`;
      if (Math.abs(aheadMs) >= skew.failMs) return failed(`${detail}: it refuses signed messages`, next);
      return Math.abs(aheadMs) >= skew.warnMs ? warning(detail, next) : ok(detail);
    });
  }

  lookAtVersion(): Promise<CheckResult> {
    return this.#answered(async () => {
      const { version: theirs } = await this.#readHealth();
      if (theirs === undefined) return skipped('the server tells its version to a valid key only');
      const parts = (text: string): string => text.split('.').slice(0, 2).join('.');
      if (parts(theirs) === parts(build)) return ok(`${theirs}; this gov is ${build}`);
      return warning(`${theirs}; this gov is ${build}`, './install.sh (docs/how-to/install.md)');
    });
  }

  async lookAtKey(): Promise<CheckResult> {
    if (!this.#hasTarget()) return skipped('there is no context');
    const chosen = this.#session.context();
    const isPlane = chosen?.context.kind === 'plane';
    const next = isPlane
      ? 'gov context show'
      : `gov auth login${chosen === null ? '' : ` -C ${shellWord(chosen.name)}`}`;
    await this.#keyReady();
    const key = this.#session.apiKey();
    if (key === null) return warning('none: the server answers public questions only', next);
    const from = `from ${key.from}`;
    return this.#answered(async () => {
      const { type, id, scopes, expiresAt } = (await (await this.#client()).getIdentity()).body;
      const allowed = scopes.includes('*') ? 'all' : scopes.join(', ') || 'none';
      const detail = `${id}, ${from}; scopes: ${allowed}`;
      if (expiresAt === null) return ok(detail);
      const left = Date.parse(expiresAt) - this.#options.io.now();
      const until = `${detail}; until ${expiresAt}`;
      if (left > expiryMs) return ok(until);
      return warning(until, type === 'api_key' ? `gov keys rotate ${shellWord(id)}` : next);
    }, `${from}; not checked`).catch((cause: unknown) => {
      if (!(cause instanceof GovApiError) || cause.status !== 401) throw cause;
      return failed(`${from}; the server refuses it`, next);
    });
  }

  lookAtTrust(): Promise<CheckResult> | CheckResult {
    if (!this.#hasTarget()) return skipped('there is no context');
    const file = this.#session.trustFile();
    const chosen = this.#session.context();
    if (file === undefined)
      return chosen === null
        ? skipped('there is no context')
        : warning(
            'none: proofs cannot be checked without naming keys',
            `gov trust fetch --out ${shellWord(`${chosen.name}.trust`)} && gov context set ${shellWord(chosen.name)} --trust ${shellWord(`${chosen.name}.trust`)}`,
          );
    const trust = readTrust(file);
    return this.#answered(async () => {
      const note = String((await (await this.#client()).getCheckpoint()).body);
      try {
        const { checkpoint, quorumMet } = openTrustedCheckpoint(note, trust);
        const detail = `${file} verifies the checkpoint of ${checkpoint.size} leaves`;
        return quorumMet ? ok(detail) : warning(`${detail}, without enough witnesses`, 'gov log checkpoint');
      } catch (cause) {
        if (!(cause instanceof GovError)) throw cause;
        const why = `${file} does not verify the checkpoint of the server: ${cause.message}`;
        return failed(why, 'gov trust fetch --out FILE');
      }
    }, `${file} is valid; not checked with a checkpoint`);
  }

  lookAtHealth(): Promise<CheckResult> {
    return this.#answered(async () => {
      const { status, reasons } = await this.#readHealth();
      const detail = [status, ...first(reasons ?? [])].join('; ');
      const next = this.#session.context()?.context.kind === 'plane' ? 'gov plane doctor' : 'gov health';
      if (status === 'ok') return ok(detail);
      return status === 'degraded' ? warning(detail, next) : failed(detail, next);
    });
  }

  lookAtIntegrity(): Promise<CheckResult> {
    return this.#answered(async () => {
      const { status, reasons, scrub } = await this.#readIntegrity();
      const last = scrub?.last ?? null;
      const read =
        last === null
          ? 'the log was not read again yet'
          : `${last.leaves} leaves read until ${last.completedAt}`;
      if (status === 'ok') return ok(`whole: ${read}`);
      const isBroken = reasons.some((reason) => /^(?:integrity_violation|fsck_failed):/.test(reason));
      const isPlane = this.#session.context()?.context.kind === 'plane';
      const isBackup = isPlane && reasons.every((reason) => reason.startsWith('backup_'));
      const next = isBackup ? 'gov plane backup --out DIR' : 'gov operations integrity';
      return isBroken ? failed(reasons.join('; '), next) : warning(reasons.join('; '), next);
    });
  }

  /** The answers that the checks got; null where no check asked, or the server did not answer. */
  async answers(): Promise<{ readonly health: Health | null; readonly integrity: Integrity | null }> {
    const orNull = <Value>(asked: Promise<Value> | undefined): Promise<Value | null> =>
      asked === undefined ? Promise.resolve(null) : asked.catch(() => null);
    return { health: await orNull(this.#health), integrity: await orNull(this.#integrity) };
  }

  #readHealth(): Promise<Health> {
    this.#health ??= this.#client().then(async (client) => (await client.getHealth()).body);
    return this.#health;
  }

  #readIntegrity(): Promise<Integrity> {
    this.#integrity ??= this.#client().then(async (client) => (await client.getIntegrity()).body);
    return this.#integrity;
  }

  async #client(): Promise<Client> {
    await this.#keyReady();
    return this.#session.client();
  }

  /** Errors: exit 4 if the key is in a keychain that does not answer. */
  async #keyReady(): Promise<void> {
    const fault = await this.#options.keychainFault;
    if (fault === null || !isInKeychain(this.#session, this.#options.io.env)) return;
    throw new CliError(exit.denied, `the keychain has the key, and does not answer: ${fault}`, {
      hint: 'export GOV_API_KEY=KEY',
    });
  }

  /** Whether there is a server to ask; a fault of the context is reported by its own check. */
  #hasTarget(): boolean {
    try {
      return this.#session.hasTarget() && this.#session.baseUrl().value !== '';
    } catch {
      return false;
    }
  }

  /** Runs a check that needs the server, and skips it where the server does not answer or the key may not ask. */
  async #answered(
    look: (reached: ServerAnswer) => Promise<CheckResult> | CheckResult,
    otherwise?: string,
  ): Promise<CheckResult> {
    if (!this.#hasTarget()) return skipped('there is no context');
    const reached = await this.#reached;
    if (reached === null) return skipped(`${otherwise ?? 'not checked'}: the server does not answer`);
    try {
      return await look(reached);
    } catch (cause) {
      if (!(cause instanceof GovApiError) || ![401, 403, 404].includes(cause.status)) throw cause;
      if (cause.status === 401 && otherwise !== undefined) throw cause;
      return skipped(`${otherwise ?? 'not checked'}: ${cause.message}`);
    }
  }

  /** Asks for the health that everybody may see. A server that is no gov is an error. */
  async #reach(): Promise<ServerAnswer | null> {
    if (!this.#hasTarget()) return null;
    const { io, signal } = this.#options;
    const { value: baseUrl } = this.#session.baseUrl();
    const { env, ca = [] } = this.#session.webOptions();
    const connection = new Connection({ baseUrl, env, ca, certificate: ownCertificate(io) });
    try {
      await resolveName(new URL(connection.proxy ?? baseUrl).hostname);
      const started = performance.now();
      const askedMs = io.now();
      const { headers, bytes } = await connection.exchange({
        method: 'GET',
        path: '/health/live',
        headers: {},
        body: undefined,
        timeoutMs: attemptMs / 2,
        maxBytes: 65_536,
        signal,
      });
      if (headers['gov-api-version'] === undefined)
        throw new GovNetworkError('INVALID_RESPONSE', `${baseUrl} answers, and is no gov`, {
          hint: 'gov context show',
        });
      const ms = Math.round(performance.now() - started);
      return {
        ms,
        proxy: connection.proxy,
        isSecure: connection.secure,
        aheadMs: timeIn(bytes) - (askedMs + io.now()) / 2,
      };
    } finally {
      connection.close();
    }
  }
}

function isInKeychain(session: Session, env: Io['env']): boolean {
  if (env['GOV_API_KEY'] || env['GOV_API_KEY_FILE'] || env['CREDENTIALS_DIRECTORY']) return false;
  const context = session.context()?.context;
  if (context?.kind !== 'service' || context.credential === undefined) return false;
  return readCredentials(env)[context.credential]?.store === 'keychain';
}

const execute = promisify(execFile);

/**
 * Waits until the system knows the host's address. It runs in a process of its own: a question to a name server that stays
 * silent cannot be cancelled, and would hold this process for 10 s and more. Errors: `GovNetworkError` if no name server
 * answers in time; other faults are left to the connection.
 */
async function resolveName(hostname: string): Promise<void> {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 || isLoopback(host)) return;
  try {
    const words = ['-e', "require('node:dns').lookup(process.argv[1], () => {})", '--', host];
    await execute(process.execPath, words, { timeout: attemptMs / 2, killSignal: 'SIGKILL' });
  } catch {
    throw new GovNetworkError('TIMEOUT', `no name server said where ${host} is`, {
      hint: `getent hosts ${host}`,
    });
  }
}

/** The member `time` of the answer; NaN without one. */
function timeIn(bytes: Uint8Array): number {
  try {
    const { time } = JSON.parse(Buffer.from(bytes).toString()) as { readonly time?: unknown };
    return typeof time === 'string' ? Date.parse(time) : Number.NaN;
  } catch {
    return Number.NaN;
  }
}

/** Reasons that a line shows; a plane may have one for each of its newest runs. */
const shownReasons = 3;

const first = (reasons: readonly string[]): string[] =>
  reasons.length <= shownReasons + 1
    ? [...reasons]
    : [...reasons.slice(0, shownReasons), `and ${reasons.length - shownReasons} more: gov health`];
