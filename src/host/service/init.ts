/**
 * `gov service init`: creates the data directory of a hosted service, offline: keys and `service.json`. A crash
 * leaves a draft and no directory. An existing service stays unchanged. Proven by
 * `test/host/service/init.test.ts`.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { randomBytes } from '../process/clock.ts';
import { syncDirectory } from '../../files/durable.ts';
import { makeHeld } from '../files/drafts.ts';
import { writePrivate } from '../files/private.ts';
import { createKeys } from '../keys/disk.ts';
import { type FixedSetting, refuseOther } from '../config/made-before.ts';
import { invalid, parseAddress, parseOptionalAddress, type Variables } from '../config/layers.ts';
import { databaseOf } from '../config/secrets.ts';
import { logNamePattern, parseOrigin, readServiceFile, type ServiceFile } from './config.ts';

export interface ServiceInitOptions {
  readonly dataDir: string;
  /** Prefix of the origin of every log. Absent: the host of `publicUrl`, else `gov.local`. */
  readonly name?: string | undefined;
  readonly listen?: string | undefined;
  /** `off`: no metrics. */
  readonly metricsListen?: string | undefined;
  readonly publicUrl?: string | undefined;
  /** See `--database`. Absent: GOV_DATABASE. The file never contains the password. */
  readonly database?: string | undefined;
  /** The identity provider, and the client id of this service there. */
  readonly issuer?: { readonly url: string; readonly clientId: string } | undefined;
  readonly env?: Variables;
}

export interface ServiceInitResult {
  /** False where the service existed. Then nothing changed. */
  readonly created: boolean;
  readonly dataDir: string;
  readonly configFile: string;
  readonly name: string;
  readonly listen: string;
  readonly engine: 'sqlite' | 'postgres';
}

const defaultListen = '127.0.0.1:7470';
const defaultMetricsListen = '127.0.0.1:7471';

/** Creates a service or finds an existing one. CONFLICT where the directory contains other files. */
export async function serviceInit(options: ServiceInitOptions): Promise<ServiceInitResult> {
  const dataDir = resolve(options.dataDir);
  const configFile = join(dataDir, 'service.json');
  if (existsSync(configFile)) {
    const there = readServiceFile(configFile);
    refuseOther(configFile, askedOf(options, there));
    return describe(dataDir, there, false);
  }
  const file = serviceFile(options);
  await makeHeld({ what: 'the service', path: dataDir }, async (draft) => {
    createKeys(draft, randomBytes);
    writePrivate(join(draft, 'service.json'), `${JSON.stringify(file, null, 2)}\n`);
    syncDirectory(join(draft, 'keys'));
  });
  return describe(dataDir, file, true);
}

function serviceFile(options: ServiceInitOptions): ServiceFile {
  const { listen = defaultListen, metricsListen = defaultMetricsListen, env = process.env } = options;
  parseAddress({ value: listen, from: '--listen' });
  parseOptionalAddress({ value: metricsListen, from: '--metrics-listen' });
  const publicUrl = parseOrigin({ value: options.publicUrl ?? null, from: '--public-url' });
  const name = options.name ?? (publicUrl === null ? 'gov.local' : new URL(publicUrl).host);
  if (!new RegExp(logNamePattern).test(name)) {
    throw invalid('--name', `the name of a log, such as gov.example.com, got ${name}`);
  }
  const database = databaseOf(options.database, env, { value: null, from: 'service.json' });
  return {
    listen,
    metricsListen: metricsListen === 'off' ? null : metricsListen,
    name,
    ...(publicUrl === null ? {} : { publicUrl }),
    ...(database === null ? {} : { database: withoutPassword(database) }),
    ...(options.issuer === undefined ? {} : { issuer: options.issuer }),
  };
}

/** The flags, beside the same values of an existing service. */
function askedOf(options: ServiceInitOptions, there: ServiceFile): readonly FixedSetting[] {
  const { listen, metricsListen, name, publicUrl, database, issuer } = options;
  const origin =
    publicUrl === undefined ? undefined : parseOrigin({ value: publicUrl, from: '--public-url' });
  const given =
    database === undefined ? undefined : databaseOf(database, {}, { value: null, from: 'service.json' });
  return [
    { flag: '--listen', member: 'listen', asked: listen, is: there.listen },
    {
      flag: '--metrics-listen',
      member: 'metricsListen',
      asked: metricsListen,
      is: there.metricsListen ?? 'off',
    },
    { flag: '--name', member: 'name', asked: name, is: there.name },
    { flag: '--public-url', member: 'publicUrl', asked: origin ?? undefined, is: there.publicUrl ?? null },
    {
      flag: '--database',
      member: 'database',
      asked: typeof given === 'string' ? withoutPassword(given) : undefined,
      is: there.database ?? null,
    },
    { flag: '--issuer', member: 'issuer', asked: issuer?.url, is: there.issuer?.url ?? null },
    { flag: '--client-id', member: 'issuer', asked: issuer?.clientId, is: there.issuer?.clientId ?? null },
  ];
}

function withoutPassword(database: string): string {
  const url = new URL(database);
  url.password = '';
  return url.href;
}

const describe = (dataDir: string, file: ServiceFile, created: boolean): ServiceInitResult => ({
  created,
  dataDir,
  configFile: join(dataDir, 'service.json'),
  name: file.name,
  listen: file.listen,
  engine: file.database === undefined ? 'sqlite' : 'postgres',
});
