/**
 * The stored enrolment of a plane with a service. `keys/telemetry.json`, mode 0600, holds the enrolment and its
 * credentials. The plane replaces it as a whole, so a crash leaves the former file or the new one.
 * `telemetry.json` holds the choices of the operator: how reports leave and how often. Proven by
 * `test/plane/enrolment/exchange.test.ts`.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { environments, type Environment } from '../../src/contract/auth-words.ts';
import { limits } from '../../src/contract/limits.ts';
import { GovError } from '../../src/contract/problems.ts';
import { refuseReadableByOthers, replacePrivate } from '../../src/host/files/private.ts';
import { oneOf, orNull, readConfigFile, text, whole } from '../../src/host/config/layers.ts';
import type { JsonSchema } from '../../src/service/call/explain.ts';

export const enrolmentFiles = (dataDir: string) => ({
  enrolment: join(dataDir, 'keys', 'telemetry.json'),
  /** An enrolment request by file that waits for its answer. */
  asked: join(dataDir, 'keys', 'enrolment-request.json'),
  settings: join(dataDir, 'telemetry.json'),
});

export interface PlaneCredential {
  /** `gov_hyb_…` */
  readonly key: string;
  /** `whsec_…` */
  readonly signingSecret: string;
}

export interface Enrolment {
  /**
   * Base URL of the environment, such as `https://gov.example.com/api/v1`. Null where the plane was enrolled by
   * file.
   */
  readonly service: string | null;
  readonly dataPlaneId: string;
  readonly projectId: string;
  readonly environment: Environment;
  /** Verifier key of the service, which cosigns checkpoints. */
  readonly cosignerKey: string;
  /** Verifier key of the service for plane configurations. Null where it has none. */
  readonly configKey: string | null;
  readonly current: PlaneCredential;
  /** The former pair, which works until `validUntil` (RFC 3339). */
  readonly previous: (PlaneCredential & { readonly validUntil: string }) | null;
  /** The interval between reports that the service asks for. */
  readonly reportIntervalSeconds: number;
  /** Paths of PEM files: additional authorities, the client certificate and its key. */
  readonly caFile: string | null;
  readonly certificateFile: string | null;
  readonly certificateKeyFile: string | null;
  readonly enrolledAt: string;
}

const telemetryModes = ['auto', 'manual-file', 'off'] as const;
export type TelemetryMode = (typeof telemetryModes)[number];

export interface TelemetrySettings {
  /** `auto`: the plane sends reports. `manual-file`: a person carries them. `off`: the plane makes none. */
  readonly mode: TelemetryMode;
  /** Seconds between reports. Absent: the interval of the service. */
  readonly intervalSeconds?: number;
}

const pattern = (form: string): JsonSchema => ({ type: 'string', pattern: form });
const object = (
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
): JsonSchema => ({
  type: 'object',
  properties,
  required: [...required],
  additionalProperties: false,
});
const credential = {
  key: pattern('^gov_hyb_[0-9A-Za-z]{38}$'),
  signingSecret: pattern('^whsec_[A-Za-z0-9+/]{43}=$'),
};
const pathText = orNull(text(4096));
const enrolmentMembers: Readonly<Record<keyof Enrolment, JsonSchema>> = {
  service: orNull(pattern('^https?://[^\\s]+$')),
  dataPlaneId: pattern('^dpl_[0-7][0-9a-hjkmnp-tv-z]{25}$'),
  projectId: pattern('^prj_[0-7][0-9a-hjkmnp-tv-z]{25}$'),
  environment: oneOf(environments),
  cosignerKey: text(limits.verifierKeyChars),
  configKey: orNull(text(limits.verifierKeyChars)),
  current: object(credential, Object.keys(credential)),
  previous: orNull(
    object({ ...credential, validUntil: text(64) }, [...Object.keys(credential), 'validUntil']),
  ),
  reportIntervalSeconds: whole(1, Number.MAX_SAFE_INTEGER),
  caFile: pathText,
  certificateFile: pathText,
  certificateKeyFile: pathText,
  enrolledAt: text(64),
};
const enrolmentSchema = object(enrolmentMembers, Object.keys(enrolmentMembers));
const settingsSchema = object(
  {
    mode: oneOf(telemetryModes),
    intervalSeconds: whole(limits.reportIntervalLeastSeconds, 30 * 24 * 3600),
  },
  ['mode'],
);

/**
 * Null where the plane is not enrolled. FORBIDDEN where others may read the file, VALIDATION_ERROR where it is
 * damaged.
 */
export function readEnrolment(dataDir: string): Enrolment | null {
  const { enrolment } = enrolmentFiles(dataDir);
  if (!existsSync(enrolment)) return null;
  refuseReadableByOthers(enrolment);
  try {
    // the schema checks what the type says
    return readConfigFile(enrolment, enrolmentSchema, `expected ${enrolment}`) as Enrolment;
  } catch (error) {
    // the detail leaves the value out, because it may be a secret
    const what = error instanceof Error ? error.message.replace(/, got .*$/s, '') : String(error);
    const detail = `${what}; restore it from a backup, or enrol again with gov plane enroll --force`;
    throw new GovError('VALIDATION_ERROR', detail);
  }
}

/** CONFLICT where the plane is already enrolled. */
export function refuseEnrolled(dataDir: string): void {
  const before = readEnrolment(dataDir);
  if (before === null) return;
  const at = before.service === null ? '' : ` at ${before.service}`;
  const detail =
    `expected a plane that is not enrolled, but this one is ${before.dataPlaneId}${at}; ` +
    'give --force to replace that enrolment';
  throw new GovError('CONFLICT', detail);
}

/** The enrolment. NOT_FOUND, with the next step, where the plane is not enrolled. */
export function requireEnrolment(dataDir: string): Enrolment {
  const enrolment = readEnrolment(dataDir);
  if (enrolment !== null) return enrolment;
  const what = `expected a plane that is enrolled in ${dataDir}; enrol it with gov plane enroll`;
  throw new GovError('NOT_FOUND', what);
}

/** Mode `auto` where the operator chose nothing. VALIDATION_ERROR names the invalid member. */
export function readTelemetrySettings(dataDir: string): TelemetrySettings {
  const { settings } = enrolmentFiles(dataDir);
  if (!existsSync(settings)) return { mode: 'auto' };
  return readConfigFile(settings, settingsSchema, `expected ${settings}`) as TelemetrySettings;
}

/** Durable when it returns. A crash leaves the former enrolment or this one. */
export const writeEnrolment = (dataDir: string, enrolment: Enrolment): void =>
  replacePrivate(enrolmentFiles(dataDir).enrolment, `${JSON.stringify(enrolment, null, 2)}\n`);

export const writeTelemetrySettings = (dataDir: string, settings: TelemetrySettings): void =>
  replacePrivate(enrolmentFiles(dataDir).settings, `${JSON.stringify(settings, null, 2)}\n`);

/** Changes when either file is replaced. A serving plane notices a new enrolment or a rotation by it. */
export function enrolmentStamp(dataDir: string): string {
  const { enrolment, settings } = enrolmentFiles(dataDir);
  const stamps = [enrolment, settings].map((path) => {
    const found = statSync(path, { throwIfNoEntry: false, bigint: true });
    return found === undefined ? '-' : `${found.ino}.${found.mtimeNs}.${found.size}`;
  });
  return stamps.join(' ');
}

/** The pairs to try, in this order: the current one, then the former one while it still works. */
export function credentialsOf({ current, previous }: Enrolment, nowMs: number): readonly PlaneCredential[] {
  const isValid = previous !== null && nowMs < Date.parse(previous.validUntil);
  return isValid ? [current, previous] : [current];
}
