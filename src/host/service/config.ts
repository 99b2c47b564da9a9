/**
 * The configuration of the hosted service: flag > GOV_* environment > service.json > default. Secrets come from
 * files that only their owner reads, or from the environment. Flags take no secrets, because every user of the
 * machine can list them. Proven by `test/host/service/config.test.ts`.
 */
import { join, resolve } from 'node:path';
import type { Environment } from '../../contract/auth-words.ts';
import { limits } from '../../contract/limits.ts';
import { meteredTypes } from '../../contract/operation.ts';
import type { ReceiptChoice } from '../../service/log/receipts.ts';
import type { OnLoss } from '../../store/acked/losses.ts';
import { parseSubnet } from '../../http/admit/address.ts';
import type { RateOptions } from '../../http/admit/rates.ts';
import type { JsonSchema } from '../../service/call/explain.ts';
import { defaultQuotas, type Quotas } from '../../service/call/settings.ts';
import type { ReportingPlan } from '../../service/hosting/parts.ts';
import { refuseReadableByOthers } from '../files/private.ts';
import { issuerOf, issuerSchema, type IssuerFile } from '../identity/config.ts';
import type { IssuerConfig } from '../identity/id-token.ts';
import {
  filePath,
  invalid,
  layers,
  orNull,
  readConfigFile,
  text,
  whole,
  type SettingValue,
  type Variables,
} from '../config/layers.ts';
import { databaseOf, secretFile, secretOf } from '../config/secrets.ts';
import { outboundOf, type OutboundConfig } from '../outbound/config.ts';
import { reportFontsOf } from '../reports/config.ts';
import { sendersOf, type Senders } from '../outbound/senders.ts';
import { schedulingOf, type SchedulingOptions } from '../process/scheduling.ts';
import { witnessesOf, type WitnessesConfig } from '../witness/config.ts';
import {
  servingConfigOf,
  servingFileMembers,
  type ServingConfig,
  type ServingFile,
  type ServingFlags,
} from '../serving/config.ts';

/** `service.json`, as `gov service init` writes it. Every process of an installation has the same file. */
export interface ServiceFile extends ServingFile {
  /** Prefix of the origin of every log. A change affects new projects only. */
  readonly name: string;
  /** Origin by which clients reach the service, such as https://gov.example.com. */
  readonly publicUrl?: string;
  /** `postgres://role@host/database`. Absent: SQLite in the data directory. */
  readonly database?: string;
  readonly connections?: number;
  readonly issuer?: IssuerFile;
  readonly sessionHours?: number;
  /** Relative to the data directory. */
  readonly exportDir?: string;
  /** `stripeKeyFile` is relative to the data directory. */
  readonly billing?: { readonly stripeKeyFile?: string; readonly baseUrl?: string };
  readonly quotas?: Readonly<Partial<Record<Environment, Partial<Quotas>>>>;
  readonly rates?: Partial<Rates>;
  readonly corsOrigins?: readonly string[];
  readonly trustedProxies?: readonly string[];
  /** Who has reports; default: everyone. */
  readonly reporting?: { readonly for?: 'everyone' | 'customers'; readonly upgradeUrl?: string };
  readonly returnHosts?: readonly string[];
}

/** Rate limits (contract D8). 0: off. */
export type Rates = Required<RateOptions>;

export const defaultRates: Rates = {
  keyPerSecond: limits.rateKeyPerSecond,
  keyBurst: limits.rateKeyBurst,
  eventsPerSecond: limits.rateEventsPerSecond,
  anonymousPerSecond: limits.rateAnonymousPerSecond,
  authPerMinute: limits.rateAuthPerMinute,
  exportsPerMinute: limits.rateExportsPerMinute,
  sharesPerMinute: limits.rateSharesPerMinute,
};

/** Database connections of a process, without those of its worker threads. */
const defaultConnections = 8;

const object = (properties: Readonly<Record<string, JsonSchema>>, required: string[] = []): JsonSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const list = (items: JsonSchema): JsonSchema => ({ type: 'array', items, maxItems: 100 });
const matching = (pattern: string): JsonSchema => ({ type: 'string', pattern, maxLength: 255 });
const every = (names: readonly string[], schema: JsonSchema): Readonly<Record<string, JsonSchema>> =>
  Object.fromEntries(names.map((name) => [name, schema]));

const url = matching('^https?://[^\\s]+$');
const quota = object(every(meteredTypes, orNull(whole(0, Number.MAX_SAFE_INTEGER))));
/** The key name of a signed note (C2SP signed-note) has no space and no plus sign. */
export const logNamePattern = '^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$';

export const serviceFileSchema = object(
  {
    ...servingFileMembers,
    name: matching(logNamePattern),
    publicUrl: url,
    database: text(2048),
    connections: whole(1, 1000),
    issuer: issuerSchema,
    sessionHours: whole(1, limits.sessionHoursMax),
    exportDir: filePath,
    billing: object({ stripeKeyFile: filePath, baseUrl: url }),
    quotas: object({ production: quota, sandbox: quota }),
    rates: object(every(Object.keys(defaultRates), whole(0, 1_000_000))),
    corsOrigins: list(url),
    trustedProxies: list(matching('^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$')),
    reporting: object({ for: matching('^(?:everyone|customers)$'), upgradeUrl: url }),
    returnHosts: list(matching('^[A-Za-z0-9.-]+(?::[0-9]{1,5})?$')),
  },
  ['listen', 'metricsListen', 'name'],
);

export interface ServiceConfig extends ServingConfig {
  readonly logName: string;
  /** An origin. Null: the listener itself. */
  readonly publicUrl: string | null;
  /** Null: SQLite in the data directory. */
  readonly database: string | null;
  readonly connections: number;
  readonly issuer: IssuerConfig | null;
  readonly sessionHours: number;
  /** A folder that all processes of a service on PostgreSQL share. Null stores artifacts in the database. */
  readonly exportDir: string | null;
  readonly billing: { readonly stripeKey: string; readonly baseUrl: string | null } | null;
  readonly quotas: Readonly<Record<Environment, Quotas>>;
  readonly rates: Rates;
  readonly corsOrigins: readonly string[];
  /** Addresses and CIDR ranges whose X-Forwarded-* headers the service trusts. */
  readonly trustedProxies: readonly string[];
  readonly reporting: ReportingPlan;
  /** Folder with fonts of reports for other scripts; null for none. */
  readonly reportFonts: string | null;
  readonly returnHosts: readonly string[];
  readonly problemBase: string | null;
  readonly memoryMiB: number | null;
  readonly onLoss: OnLoss;
  readonly receipts: ReceiptChoice;
  /** The witnesses that cosign checkpoints. Null: none. */
  readonly witnessing: WitnessesConfig | null;
  readonly outbound: OutboundConfig;
  readonly senders: Senders;
  readonly scheduling: SchedulingOptions;
}

/** The values that flags may set. */
export interface ServiceFlags extends ServingFlags {
  readonly publicUrl?: string | undefined;
  /** A URL without a password. */
  readonly database?: string | undefined;
  readonly connections?: string | undefined;
}

/**
 * Reads and checks the configuration. VALIDATION_ERROR names the invalid file, variable or flag. NOT_FOUND
 * where there is no file, FORBIDDEN where others may read a file with secrets. No message shows a secret.
 */
export function readServiceConfig(dataDir: string, flags: ServiceFlags, env: Variables): ServiceConfig {
  const path = join(dataDir, 'service.json');
  const file = readServiceFile(path);
  const pick = layers<keyof ServiceFlags>(flags, env, path);
  const { memoryMiB = null, problemBase, rates } = file;
  const publicUrl = parseOrigin(pick('publicUrl', 'GOV_PUBLIC_URL', file.publicUrl ?? null));
  return {
    ...servingConfigOf(file, flags, { dataDir, path, env }),
    logName: file.name,
    publicUrl,
    database: databaseOf(flags.database, env, { value: file.database ?? null, from: path }),
    connections: parseConnections(
      pick('connections', 'GOV_CONNECTIONS', String(file.connections ?? defaultConnections)),
    ),
    issuer: issuerOf(file.issuer, { path, dataDir, env, publicUrl }),
    sessionHours: file.sessionHours ?? limits.sessionHours,
    exportDir: exportDirOf(file.exportDir, dataDir, env),
    billing: billingOf(file, { dataDir, env }),
    quotas: {
      production: { ...defaultQuotas.production, ...file.quotas?.production },
      sandbox: { ...defaultQuotas.sandbox, ...file.quotas?.sandbox },
    },
    rates: { ...defaultRates, ...rates },
    corsOrigins: (file.corsOrigins ?? []).map((value) => originOf({ value, from: `${path} /corsOrigins` })),
    trustedProxies: (file.trustedProxies ?? []).map((value) =>
      proxyOf({ value, from: `${path} /trustedProxies` }),
    ),
    reportFonts: reportFontsOf(file, { dataDir, path, env }),
    reporting: {
      isFor: file.reporting?.for ?? 'everyone',
      upgradeUrl: file.reporting?.upgradeUrl ?? null,
    },
    returnHosts: file.returnHosts ?? [],
    problemBase: problemBase ?? publicUrl,
    memoryMiB,
    onLoss: file.onLoss ?? 'record',
    receipts: file.receipts ?? 'commit',
    witnessing: witnessesOf(file, { flags: undefined, path }),
    outbound: outboundOf(file, { dataDir, path }),
    // files are for planes: the folder of a service would be shared by its tenants
    senders: sendersOf(file, { dataDir, path, env: { ...env, GOV_DELIVERY_DIR: undefined } }),
    scheduling: schedulingOf(file, { dataDir, path, env }),
  };
}

/** Reads `service.json`. NOT_FOUND where there is no file, FORBIDDEN where others may read it. */
export function readServiceFile(path: string): ServiceFile {
  const missing = `expected a service at ${path}; make one with gov service init`;
  const file = readConfigFile(path, serviceFileSchema, missing);
  refuseReadableByOthers(path);
  return file as ServiceFile; // the schema checks what the type says
}

function exportDirOf(inFile: string | undefined, dataDir: string, env: Variables): string | null {
  const set = env['GOV_EXPORT_DIR'];
  const directory = set === undefined || set === '' ? inFile : set;
  return directory === undefined ? null : resolve(dataDir, directory);
}

function billingOf(
  { billing }: ServiceFile,
  { dataDir, env }: { readonly dataDir: string; readonly env: Variables },
): ServiceConfig['billing'] {
  const file = billing?.stripeKeyFile;
  const key =
    secretOf(env, 'GOV_STRIPE_KEY') ?? (file === undefined ? null : secretFile(resolve(dataDir, file)));
  if (key === null) return null;
  return { stripeKey: key.value, baseUrl: billing?.baseUrl ?? null };
}

export const parseOrigin = ({ value, from }: SettingValue<string | null>): string | null =>
  value === null ? null : originOf({ value, from });

/** The origin in the form that browsers send: without a final slash. */
function originOf({ value, from }: SettingValue): string {
  const parsed = URL.canParse(value) ? new URL(value) : null;
  if (parsed !== null && /^https?:$/.test(parsed.protocol) && value.replace(/\/$/, '') === parsed.origin) {
    return parsed.origin;
  }
  throw invalid(from, `an origin without a path, such as https://gov.example.com, got ${value}`);
}

function proxyOf({ value, from }: SettingValue): string {
  if (parseSubnet(value) !== null) return value;
  throw invalid(from, `IP addresses or subnets such as 10.0.0.0/8, got ${value}`);
}

function parseConnections({ value, from }: SettingValue): number {
  const count = /^[0-9]{1,4}$/.test(value) ? Number(value) : 0;
  if (count >= 1 && count <= 1000) return count;
  throw invalid(from, `1 to 1000 connections, got ${value}`);
}
