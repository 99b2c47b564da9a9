/**
 * `gov plane enroll` and `gov plane rotate-credentials`: exchange a one-time token, or the present credentials,
 * for new ones. The plane proves that it owns its key, and no private key leaves it. A lost response does no
 * harm: the service answers the same token again, and old credentials work during a rotation. A crash leaves
 * the former enrolment or the new one. Proven by `test/plane/enrolment/exchange.test.ts`.
 */
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Environment as Variables } from '../../src/client/proxy.ts';
import { GovNetworkError } from '../../src/client/errors.ts';
import type { Environment } from '../../src/contract/auth-words.ts';
import { limits } from '../../src/contract/limits.ts';
import { GovError, problems, type ProblemCode } from '../../src/contract/problems.ts';
import { telemetry, type Enrollment } from '../../src/contract/telemetry.ts';
import { canonicalize, type Json } from '../../src/core/json/canonical.ts';
import { parseVerifierKey, signNote } from '../../src/core/note/signed.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import { possessionText, type PlaneIdentity } from '../../src/core/planes/usage-report.ts';
import { readPlaneFile } from '../../src/host/data/config.ts';
import { syncDirectory } from '../../src/files/durable.ts';
import { readKeys, telemetryKeyFile } from '../../src/host/keys/disk.ts';
import { basePaths } from '../../src/http/call/route.ts';
import { explain, type JsonSchema } from '../../src/service/call/explain.ts';
import {
  enrolmentFiles,
  readTelemetrySettings,
  refuseEnrolled,
  requireEnrolment,
  writeEnrolment,
  writeTelemetrySettings,
  type Enrolment,
  type PlaneCredential,
  type TelemetryMode,
} from '../service/enrolment.ts';
import {
  connectionTo,
  exchange,
  problemOf,
  ServiceLink,
  type LinkAnswer,
  type LinkFiles,
} from '../service/link.ts';
import { ed25519Of, identityOf } from '../telemetry/report.ts';

export interface EnrolOptions {
  readonly dataDir: string;
  /** Address of the service, such as `https://gov.example.com`. */
  readonly service: string;
  /** One-time token, `gov_enr_…`. */
  readonly token: string;
  readonly caFile?: string | undefined;
  readonly certificateFile?: string | undefined;
  readonly certificateKeyFile?: string | undefined;
  /** How reports leave. Absent: the present mode, or `auto` for a first enrolment. */
  readonly mode?: TelemetryMode | undefined;
  /** Replaces an existing enrolment. */
  readonly force?: boolean | undefined;
  readonly env: Variables;
  readonly now: () => number;
}

export interface EnrolResult {
  readonly enrolment: Enrolment;
  readonly mode: TelemetryMode;
  /** Seconds by which this machine's clock is ahead of the service. */
  readonly clockAheadSeconds: number;
}

/**
 * Enrols the plane. CONFLICT where it is already enrolled, NOT_FOUND where there is no plane, else the code of
 * the service.
 */
export async function enrolPlane(options: EnrolOptions): Promise<EnrolResult> {
  const { dataDir, token, now, env } = options;
  const identity = planeIdentity(dataDir);
  if (options.force !== true) refuseEnrolled(dataDir);
  const canonical = canonicalize(enrolmentRequest(dataDir, identity, token));
  const given = filesOf(options);
  for (const environment of environmentsOf(options.service)) {
    const files = { ...given, service: baseUrlOf(options.service, environment) };
    const connection = connectionTo(files, env);
    try {
      const answer = await exchange(connection, { path: '/telemetry/planes/enroll', canonical }, {});
      // the token decides the environment, so the operator need not know it
      if (environment === 'production' && problemOf(answer)?.code === 'ENVIRONMENT_MISMATCH') continue;
      const enrolled = successOf<Enrollment>(answer, 201, telemetry.enrollDataPlane.success[201]);
      const kept = keepEnrolment(enrolmentOf(enrolled, enrolled, { files, nowMs: now() }), options);
      return {
        ...kept,
        clockAheadSeconds: Math.round((now() - Date.parse(enrolled.serverTime)) / 1000),
      };
    } finally {
      connection.close();
    }
  }
  throw new Error('the last environment answers or throws');
}

/** The environments to try: the one in the address, else production first. */
const environmentsOf = (address: string): readonly Environment[] =>
  /\/sandbox\/api\/v1\/*$/.test(address) ? ['sandbox'] : ['production', 'sandbox'];

/**
 * Writes the enrolment. Durable when it returns: first the mode, last the removal of the request by file. A
 * crash leaves a usable token or answer, and the same command with --force completes the change.
 */
export function keepEnrolment(
  enrolment: Enrolment,
  { dataDir, mode: chosen }: Pick<EnrolOptions, 'dataDir' | 'mode'>,
): Omit<EnrolResult, 'clockAheadSeconds'> {
  parseVerifierKey(enrolment.cosignerKey);
  const settings = readTelemetrySettings(dataDir);
  const mode = chosen ?? settings.mode;
  // before the enrolment, so that a serving plane never sends in a mode that forbids it
  writeTelemetrySettings(dataDir, { ...settings, mode });
  // before the enrolment, whose reports need the key in force: the service already knows that key
  rmSync(join(dataDir, 'keys', telemetryKeyFile), { force: true });
  syncDirectory(join(dataDir, 'keys'));
  writeEnrolment(dataDir, enrolment);
  // the token is used, so an open request by file can no longer succeed
  rmSync(enrolmentFiles(dataDir).asked, { force: true });
  return { enrolment, mode };
}

/** The identity of the plane in a data directory, as services see it. */
export function planeIdentity(dataDir: string): PlaneIdentity {
  const file = readPlaneFile(join(dataDir, 'plane.json'));
  const { signers } = readKeys(dataDir);
  return identityOf({ project: { ...file, auditOrigin: file.origin }, signers });
}

/** The body of the enrolment, with the plane's signed note over the token and its origin. */
export function enrolmentRequest(dataDir: string, identity: PlaneIdentity, token: string): Json {
  const signer = ed25519Of(readKeys(dataDir).signers(`${identity.origin}/0`));
  const possession = signNote(possessionText(token, identity.origin), [signer]);
  return { token, ...identity, possession };
}

/**
 * Address and PEM files of the service. VALIDATION_ERROR for a certificate without its key, or for an invalid
 * address.
 */
export function filesOf({
  service,
  caFile,
  certificateFile,
  certificateKeyFile,
}: Pick<EnrolOptions, 'caFile' | 'certificateFile' | 'certificateKeyFile'> & {
  readonly service: string | null;
}): LinkFiles {
  if ((certificateFile === undefined) !== (certificateKeyFile === undefined)) {
    const detail = 'expected a client certificate and its key together; give --client-cert and --client-key';
    throw new GovError('VALIDATION_ERROR', detail);
  }
  const path = (file: string | undefined): string | null => (file === undefined ? null : resolve(file));
  return {
    service: service === null ? null : baseUrlOf(service, 'production'),
    caFile: path(caFile),
    certificateFile: path(certificateFile),
    certificateKeyFile: path(certificateKeyFile),
  };
}

/** The base URL of an environment. The address may contain the path of an environment. */
export function baseUrlOf(address: string, environment: Environment): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '') {
    throw new GovError(
      'VALIDATION_ERROR',
      'expected the address of a service, such as https://gov.example.com',
    );
  }
  const prefix = url.pathname.replace(/\/+$/, '').replace(/(?:\/sandbox)?\/api\/v1$/, '');
  return `${url.origin}${prefix}${basePaths[environment]}`;
}

type Terms = Omit<Enrollment, 'key' | 'signingSecret' | 'previousValidUntil' | 'serverTime'>;

/** The part of the response that the plane stores. */
export const enrolmentOf = (
  { dataPlaneId, projectId, environment, cosignerKey, configKey, reportIntervalSeconds }: Terms,
  { key, signingSecret }: PlaneCredential,
  { files, nowMs }: { readonly files: LinkFiles; readonly nowMs: number },
): Enrolment => ({
  ...files,
  service: files.service === null ? null : baseUrlOf(files.service, environment),
  dataPlaneId,
  projectId,
  environment,
  cosignerKey,
  configKey,
  current: { key, signingSecret },
  previous: null,
  reportIntervalSeconds: Math.max(reportIntervalSeconds, limits.reportIntervalLeastSeconds),
  enrolledAt: formatTimestamp(nowMs),
});

export interface RotateOptions {
  readonly dataDir: string;
  /** How long the old credentials still work. Absent: the default of the service. */
  readonly overlapSeconds?: number | undefined;
  readonly env: Variables;
  readonly now: () => number;
}

/** Fetches new credentials, durable when it resolves. The old credentials stay stored while they work. */
export async function rotateCredentials({
  dataDir,
  overlapSeconds,
  env,
  now,
}: RotateOptions): Promise<Enrolment> {
  const enrolment = requireEnrolment(dataDir);
  const link = new ServiceLink({ enrolment, env, now });
  try {
    const canonical = canonicalize(overlapSeconds === undefined ? {} : { overlapSeconds });
    const answer = await link.send({ path: '/telemetry/credentials/rotate', canonical });
    const schema = telemetry.rotatePlaneCredentials.success[201];
    const fresh = successOf<Pick<Enrollment, 'dataPlaneId' | 'key' | 'signingSecret' | 'previousValidUntil'>>(
      answer,
      201,
      schema,
    );
    const { key, signingSecret, previousValidUntil } = fresh;
    const previous = previousValidUntil === null ? null : { ...link.worked, validUntil: previousValidUntil };
    const rotated: Enrolment = { ...enrolment, current: { key, signingSecret }, previous };
    writeEnrolment(dataDir, rotated);
    return rotated;
  } finally {
    link.close();
  }
}

/** The body of a success that fits its schema. Throws the problem of the service, or INVALID_RESPONSE. */
function successOf<Body>(answer: LinkAnswer, status: number, schema: unknown): Body {
  if (answer.status === status) {
    // a TypeBox schema is a JSON Schema
    const [fault] = explain(schema as JsonSchema, answer.body, { in: 'body' }).errors;
    if (fault === undefined) return answer.body as Body;
    const text = `expected the answer of a service, got another at ${fault.pointer}; is the address right?`;
    throw new GovNetworkError('INVALID_RESPONSE', text);
  }
  const problem = problemOf(answer);
  if (problem === null || !Object.hasOwn(problems, problem.code)) {
    const where =
      answer.headers['location'] === undefined ? '' : ` that leads to ${answer.headers['location']}`;
    const text = `expected the answer of a service, got HTTP status ${answer.status}${where}; is the address right?`;
    throw new GovNetworkError('INVALID_RESPONSE', text);
  }
  throw new GovError(problem.code as ProblemCode, problem.detail, { extensions: problem.body });
}
