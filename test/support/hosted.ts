/**
 * A hosted service in a temporary directory, on either engine, for tests over real sockets, with an identity provider
 * on loopback. Every answer is held against the contract as in `serving.ts`.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JWTPayload } from 'jose';
import { it } from 'vitest';
import type { Environment, SignedUp } from '../../src/contract/auth.ts';
import { createLog } from '../../src/host/process/log.ts';
import { run, type RunningServer } from '../../src/host/process/run.ts';
import { openService, type ServiceOptions } from '../../src/host/service/serve.ts';
import { defaultRates, type ServiceFile } from '../../src/host/service/config.ts';
import { serviceInit } from '../../src/host/service/init.ts';
import { basePaths } from '../../src/http/call/route.ts';
import { silentLog } from '../../src/service/call/log.ts';
import type { Services } from '../../src/service/port/services.ts';
import { clientId, startIssuer, type LocalIssuer } from '../host/identity/issuer.ts';
import { checkedCalls, type CallOptions } from './serving.ts';
import type { Answer } from './answer.ts';
import { missingServer, type Server, type TestDatabase } from '../store/postgres/support/server.ts';
import { runServer } from '../store/postgres/support/shared.ts';

export type EngineName = 'sqlite' | 'postgres';

const missing = missingServer();
if (missing !== null) it.skip(`PostgreSQL is missing: ${missing}`, () => {});

/** Those that this machine has: `describe.each(engines)('… on %s', (engine) => …)`. */
export const engines: readonly EngineName[] = missing === null ? ['sqlite', 'postgres'] : ['sqlite'];

export interface StartService extends Omit<ServiceOptions, 'dataDir'> {
  /** Default SQLite. */
  readonly engine?: EngineName;
  /** Members of `service.json`. Rates are off unless they are given. */
  readonly file?: Partial<ServiceFile>;
}

export interface ServiceProcess extends RunningServer {
  readonly origin: string;
  readonly port: number;
  readonly services: Services;
  /** Without a credential unless the options have one. A path is below `/api/v1`; a URL is taken as it is. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** `operation status` of every answer so far, of every process. */
  readonly seen: ReadonlySet<string>;
  /** Signs a person of this name up, who is not known yet, for an organization of this name. */
  signUp(name: string, members?: Partial<Record<'name' | 'organizationName', string>>): Promise<Tenant>;
}

export interface TestService extends ServiceProcess {
  readonly engine: EngineName;
  readonly dataDir: string;
  readonly issuer: LocalIssuer;
  /** Null on SQLite. */
  readonly database: TestDatabase | null;
  /** An ID token of the person with this name, who has just signed in. */
  idToken(name: string, claims?: JWTPayload): Promise<string>;
  /** Another process on the same database; PostgreSQL only. It ends with this one. */
  again(options?: Omit<ServiceOptions, 'dataDir'>): Promise<ServiceProcess>;
  /** Stops every process and removes everything. */
  end(): Promise<void>;
}

export interface Tenant {
  /** Subject at the identity provider. */
  readonly person: string;
  readonly orgId: string;
  /** The sandbox project. */
  readonly projectId: string;
  readonly keys: Readonly<Record<Environment, string>>;
  /** With the key of an environment, below its base path; production where none is named. */
  call(
    method: string,
    path: string,
    options?: CallOptions & { readonly environment?: Environment },
  ): Promise<Answer>;
}

const off = Object.fromEntries(Object.keys(defaultRates).map((name) => [name, 0]));

export async function startService(options: StartService = {}): Promise<TestService> {
  const { engine = 'sqlite', file = {}, ...more } = options;
  const folder = mkdtempSync(join(tmpdir(), 'gov-service-'));
  const dataDir = join(folder, 'service');
  const [issuer, database] = await Promise.all([
    startIssuer(),
    engine === 'postgres' ? (await postgres()).database() : null,
  ]);
  await serviceInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off', env: {} });
  const path = join(dataDir, 'service.json');
  const members = {
    ...(JSON.parse(readFileSync(path, 'utf8')) as ServiceFile),
    ...(database === null ? {} : { database: database.serving, connections: 4 }),
    issuer: { url: issuer.url, clientId },
    rates: off,
    ...file,
  };
  writeFileSync(path, JSON.stringify(members));
  const started: RunningServer[] = [];
  const seen = new Set<string>();
  const start = async (each: Omit<ServiceOptions, 'dataDir'>): Promise<ServiceProcess> => {
    const process = await startProcess({ dataDir, ...more, ...each }, { seen, issuer });
    started.push(process);
    return process;
  };
  return {
    ...(await start({})),
    engine,
    dataDir,
    issuer,
    database,
    idToken: (name, claims = {}) => issuer.token({ sub: name, ...claims }),
    again: (each = {}) => start(each),
    end: async () => {
      for (const process of started.toReversed()) await process.close();
      await issuer.pause();
      await database?.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function postgres(): Promise<Server> {
  const found = await runServer();
  if ('missing' in found) throw new Error(`PostgreSQL is missing: ${found.missing}`);
  return found;
}

async function startProcess(
  options: ServiceOptions,
  { seen, issuer }: { seen: Set<string>; issuer: LocalIssuer },
): Promise<ServiceProcess> {
  const log = process.env['TEST_LOG'] === undefined ? silentLog : createLog('error');
  const { assembled, serving } = await openService({ log, env: {}, overloadDelayMs: 60_000, ...options });
  const running = await run(assembled, serving);
  const { origin, port } = new URL(running.baseUrl);
  const { call } = checkedCalls(running.baseUrl, seen);
  return {
    ...running,
    origin,
    port: Number(port),
    services: assembled.services,
    seen,
    call,
    signUp: async (name, members = {}) => {
      const signedUp = await call('POST', '/auth/signup', {
        key: await issuer.token({ sub: name }),
        body: { name, organizationName: name, ...members },
      });
      if (signedUp.status !== 201) throw new Error(`${name} could not sign up: ${signedUp.text}`);
      const { orgId, projectId, apiKeys } = signedUp.body as SignedUp;
      return {
        person: name,
        orgId,
        projectId,
        keys: apiKeys,
        call: (method, path, { environment = 'production', ...callOptions } = {}) =>
          call(method, path.startsWith('http') ? path : `${origin}${basePaths[environment]}${path}`, {
            key: apiKeys[environment],
            ...callOptions,
          }),
      };
    },
  };
}
