/**
 * The section `forwards` of plane.json and service.json: receivers of the operator to which the log is copied. Secrets
 * are in files or in the environment, never in the section. No address is blocked, because the operator chooses it
 * (contract N7 concerns addresses of tenants). Proven by `test/host/forwards/config.test.ts`.
 */
import { resolve } from 'node:path';
import { limits } from '../../contract/limits.ts';
import { forwardFormats, type ForwardFormat } from '../../core/forwards/encode.ts';
import type { ForwardFilter } from '../../core/forwards/filter.ts';
import { ocsfVersions, type OcsfVersion } from '../../core/forwards/ocsf.ts';
import { decisionWords, type DecisionWord } from '../../core/forwards/record.ts';
import type { JsonSchema } from '../../service/call/explain.ts';
import { filePath, invalid, oneOf, text, whole } from '../config/layers.ts';
import { isBucketAddress, parseBucketAddress } from './bucket-address.ts';

const httpShapes = ['ndjson', 'array', 'splunk', 'elastic'] as const;
export type HttpShape = (typeof httpShapes)[number];

/** One target as the file has it. Paths are relative to the data directory. */
export interface TargetFile {
  readonly name: string;
  /** `syslog+tls://`, `syslog+tcp://`, `https://`, `http://` or `s3://bucket/prefix`. */
  readonly to: string;
  readonly format?: ForwardFormat;
  readonly ocsfVersion?: OcsfVersion;
  readonly from?: 'now' | 'start';
  readonly eventTypes?: readonly string[];
  readonly decisions?: readonly DecisionWord[];
  readonly content?: 'full' | 'none';
  /** Of a service: only these projects. */
  readonly projects?: readonly string[];
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly serverName?: string;
  readonly maxBytes?: number;
  readonly facility?: number;
  readonly confirm?: 'close' | 'none';
  readonly shape?: HttpShape;
  readonly header?: string;
  readonly secretFile?: string;
  readonly secretEnv?: string;
  readonly endpoint?: string;
  readonly region?: string;
  readonly accessKeyId?: string;
  readonly everySeconds?: number;
}

/** The member of the file. */
export interface ForwardsFile {
  readonly forwards?: readonly TargetFile[];
}

const targetNamePattern = '^[a-z0-9][a-z0-9-]{0,39}$';

const properties = {
  name: { type: 'string', pattern: targetNamePattern },
  to: text(2048),
  format: oneOf(forwardFormats),
  ocsfVersion: oneOf(ocsfVersions),
  from: oneOf(['now', 'start']),
  eventTypes: { type: 'array', minItems: 1, maxItems: 100, items: text(limits.eventTypeChars) },
  decisions: { type: 'array', minItems: 1, maxItems: decisionWords.length, items: oneOf(decisionWords) },
  content: oneOf(['full', 'none']),
  projects: { type: 'array', minItems: 1, maxItems: 1000, items: text(64) },
  ca: filePath,
  cert: filePath,
  key: filePath,
  serverName: text(255),
  maxBytes: whole(2048, limits.forwardBatchBytes),
  facility: whole(0, 23),
  confirm: oneOf(['close', 'none']),
  shape: oneOf(httpShapes),
  header: { type: 'string', pattern: '^[A-Za-z0-9-]{1,64}$' },
  secretFile: filePath,
  secretEnv: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$' },
  endpoint: { type: 'string', pattern: '^https?://[^\\s/?#@\\\\]+/?$', maxLength: 2048 },
  region: text(64),
  accessKeyId: text(128),
  everySeconds: whole(1, 3600),
} satisfies Readonly<Record<keyof TargetFile, JsonSchema>>;

export const forwardMembers = {
  forwards: {
    type: 'array',
    maxItems: limits.forwardTargets,
    items: { type: 'object', required: ['name', 'to'], properties, additionalProperties: false },
  },
} satisfies Readonly<Record<keyof ForwardsFile, JsonSchema>>;

/** Where the secret of a target is. */
export interface SecretPlace {
  readonly file: string | null;
  readonly env: string | null;
}

interface Common {
  readonly name: string;
  /** Without a password, a query or a fragment: fit to be shown. */
  readonly to: string;
  readonly format: ForwardFormat;
  readonly ocsfVersion: OcsfVersion;
  readonly from: 'now' | 'start';
  readonly filter: ForwardFilter;
  readonly content: 'full' | 'none';
  /** Null: all. */
  readonly projects: readonly string[] | null;
  readonly tls: TlsPlaces;
  readonly secret: SecretPlace;
}

/** Paths of PEM files. */
export interface TlsPlaces {
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
  readonly serverName: string | null;
}

export interface StreamTarget extends Common {
  readonly kind: 'syslog';
  readonly isEncrypted: boolean;
  readonly host: string;
  readonly port: number;
  readonly maxBytes: number;
  readonly facility: number;
  readonly confirm: 'close' | 'none';
}

export interface HttpTarget extends Common {
  readonly kind: 'http';
  readonly url: URL;
  readonly shape: HttpShape;
  readonly header: string;
}

export interface ObjectTarget extends Common {
  readonly kind: 's3';
  readonly bucket: string;
  /** Without slashes at its ends; may be empty. */
  readonly prefix: string;
  /** Null: that of AWS in the region. */
  readonly endpoint: string | null;
  readonly region: string;
  readonly accessKeyId: string;
  readonly everySeconds: number;
}

export type ForwardTarget = StreamTarget | HttpTarget | ObjectTarget;

/** Returns the checked targets. VALIDATION_ERROR names the member. */
export function forwardsOf(
  { forwards = [] }: ForwardsFile,
  { path, dataDir }: { readonly path: string; readonly dataDir: string },
): readonly ForwardTarget[] {
  const names = new Set(forwards.map(({ name }) => name));
  if (names.size < forwards.length) throw invalid(`${path} /forwards`, 'a name of its own for each target');
  return forwards.map((file, at) => targetOf(file, { from: `${path} /forwards/${at}`, dataDir }));
}

interface TargetSource {
  readonly from: string;
  readonly dataDir: string;
}

/** Members that only some kinds of targets have. */
const own = {
  syslog: ['maxBytes', 'facility', 'confirm'],
  http: ['shape', 'header'],
  s3: ['endpoint', 'region', 'accessKeyId', 'everySeconds'],
} as const satisfies Record<ForwardTarget['kind'], readonly (keyof TargetFile)[]>;

export function targetOf(file: TargetFile, place: TargetSource): ForwardTarget {
  if (isBucketAddress(file.to)) return objectsOf(file, place);
  const url = URL.canParse(file.to) ? new URL(file.to) : null;
  const kind = url === null ? undefined : kinds.get(url.protocol);
  if (url === null || kind === undefined || url.hostname === '') {
    const form = 'syslog+tls://HOST:PORT, syslog+tcp://HOST:PORT, https://…, http://… or s3://BUCKET/PREFIX';
    throw invalid(
      `${place.from}/to`,
      `${form}, got ${file.to.slice(0, 64).replace(/:\/\/[^@/]*@/, '://…@')}`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid(
      `${place.from}/to`,
      'an address without a user or password; put the secret into secretFile',
    );
  }
  refuseForeign(file, kind, place);
  const shown = `${url.protocol}//${url.host}${url.pathname}`.replace(/\/$/, '');
  const common = commonOf(file, shown, place);
  switch (kind) {
    case 'syslog':
      return streamOf(file, common, { url, place });
    case 'http':
      return httpOf(file, common, { url, place });
  }
}

const kinds: ReadonlyMap<string, 'syslog' | 'http'> = new Map([
  ['syslog+tls:', 'syslog'],
  ['syslog+tcp:', 'syslog'],
  ['https:', 'http'],
  ['http:', 'http'],
]);

function refuseForeign(file: TargetFile, kind: ForwardTarget['kind'], { from }: TargetSource): void {
  for (const other of ['syslog', 'http', 's3'] as const) {
    const foreign = other === kind ? undefined : own[other].find((name) => file[name] !== undefined);
    if (foreign === undefined) continue;
    const [scheme] = file.to.split('://', 1);
    throw invalid(`${from}/${foreign}`, `no such member for a target ${scheme}://`);
  }
}

/** `to`: the address as it is shown. */
function commonOf(file: TargetFile, to: string, { from, dataDir }: TargetSource): Common {
  const path = (name: string | undefined): string | null =>
    name === undefined ? null : resolve(dataDir, name);
  const tls = {
    ca: path(file.ca),
    cert: path(file.cert),
    key: path(file.key),
    serverName: file.serverName ?? null,
  };
  if ((tls.cert === null) !== (tls.key === null)) {
    throw invalid(from, 'cert and key together, got one without the other');
  }
  if (file.secretFile !== undefined && file.secretEnv !== undefined) {
    throw invalid(from, 'secretFile or secretEnv, got both');
  }
  return {
    name: file.name,
    to,
    format: file.format ?? (to.startsWith('syslog') ? 'syslog' : 'json'),
    ocsfVersion: file.ocsfVersion ?? '1.9.0',
    from: file.from ?? 'now',
    filter: { eventTypes: file.eventTypes, decisions: file.decisions },
    content: file.content ?? 'full',
    projects: file.projects ?? null,
    tls,
    secret: { file: path(file.secretFile), env: file.secretEnv ?? null },
  };
}

interface ParsedTarget {
  readonly url: URL;
  readonly place: TargetSource;
}

function streamOf(file: TargetFile, common: Common, { url, place }: ParsedTarget): StreamTarget {
  if (!/^\/?$/.test(url.pathname) || url.search !== '') {
    throw invalid(`${place.from}/to`, `${url.protocol}//HOST:PORT without a path, got ${common.to}`);
  }
  if (common.secret.file !== null || common.secret.env !== null) {
    throw invalid(place.from, 'no secret for syslog; authenticate with cert and key');
  }
  const isEncrypted = url.protocol === 'syslog+tls:';
  if (!isEncrypted && (common.tls.ca ?? common.tls.cert) !== null) {
    throw invalid(place.from, 'ca, cert and key only for syslog+tls://');
  }
  return {
    ...common,
    kind: 'syslog',
    isEncrypted,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (isEncrypted ? 6514 : 601) : Number(url.port),
    maxBytes: file.maxBytes ?? 8192,
    facility: file.facility ?? 13,
    confirm: file.confirm ?? 'close',
  };
}

function httpOf(file: TargetFile, common: Common, { url, place }: ParsedTarget): HttpTarget {
  refuseLines(common, place);
  return {
    ...common,
    kind: 'http',
    url,
    shape: file.shape ?? 'ndjson',
    header: file.header ?? 'authorization',
  };
}

function objectsOf(file: TargetFile, place: TargetSource): ObjectTarget {
  const { bucket, prefix } = parseBucketAddress(file.to, `${place.from}/to`);
  refuseForeign(file, 's3', place);
  const common = commonOf(file, `s3://${[bucket, prefix].filter(Boolean).join('/')}`, place);
  refuseLines(common, place);
  const { accessKeyId, region } = file;
  if (
    accessKeyId === undefined ||
    region === undefined ||
    (common.secret.file ?? common.secret.env) === null
  ) {
    throw invalid(place.from, 'region, accessKeyId, and secretFile or secretEnv with the secret access key');
  }
  return {
    ...common,
    kind: 's3',
    bucket,
    prefix,
    endpoint: file.endpoint?.replace(/\/$/, '') ?? null,
    region,
    accessKeyId,
    everySeconds: file.everySeconds ?? 60,
  };
}

function refuseLines({ format }: Common, { from }: TargetSource): void {
  if (format === 'json' || format === 'ocsf') return;
  throw invalid(`${from}/format`, `json or ocsf for this address, got ${format}`);
}
