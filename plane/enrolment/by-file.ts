/**
 * Enrolment of a plane without a network to its service (`src/core/planes/enrolment-request.ts`). The plane
 * writes a request, a person carries it to the operator of the service, and the plane takes the answer.
 * `keys/enrolment-request.json`, mode 0600, holds the key that opens the answer until the plane took one. A
 * crash in between leaves that file, and `--force` takes the answer again. Proven by
 * `test/plane/enrolment/by-file.test.ts`.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../../src/contract/limits.ts';
import { GovError } from '../../src/contract/problems.ts';
import { EnrolmentAnswer, EnrolmentRequest } from '../../src/contract/telemetry.ts';
import { encodeBase64 } from '../../src/core/json/base64.ts';
import {
  enrolmentRequest,
  enrolmentSecret,
  openEnrolmentAnswer,
} from '../../src/core/planes/enrolment-request.ts';
import { hpkePublicKey } from '../../src/core/note/hpke.ts';
import { parseJson } from '../../src/core/json/parse.ts';
import { randomBytes } from '../../src/host/process/clock.ts';
import { readPlaneFile } from '../../src/host/data/config.ts';
import { refuseReadableByOthers, replacePrivate } from '../../src/host/files/private.ts';
import { readKeys } from '../../src/host/keys/disk.ts';
import { readConfigFile } from '../../src/host/config/layers.ts';
import { explain, fits, type JsonSchema } from '../../src/service/call/explain.ts';
import {
  enrolmentOf,
  filesOf,
  keepEnrolment,
  planeIdentity,
  type EnrolOptions,
  type EnrolResult,
} from './exchange.ts';
import { goOnBehind } from '../telemetry/by-file.ts';
import {
  enrolmentFiles,
  readTelemetrySettings,
  refuseEnrolled,
  type TelemetryMode,
} from '../service/enrolment.ts';
import { ed25519Of } from '../telemetry/report.ts';

interface PendingEnrolment {
  readonly request: EnrolmentRequest;
  /** SHA-256 of the token, and the private key that opens the sealed answer, both base64. */
  readonly secret: string;
  readonly sealingKey: string;
}

const key32 = { type: 'string', pattern: '^[A-Za-z0-9+/]{43}=$' } as const;
const askedSchema: JsonSchema = {
  type: 'object',
  // a TypeBox schema is a JSON Schema
  properties: { request: EnrolmentRequest as JsonSchema, secret: key32, sealingKey: key32 },
  required: ['request', 'secret', 'sealingKey'],
  additionalProperties: false,
};

/**
 * Returns the request for the service. While the answer is open, it returns the same request, so that an answer
 * to either copy works. Another token or another key of the plane gives another request. CONFLICT where the
 * plane is already enrolled, NOT_FOUND where there is no plane.
 */
export function askByFile({
  dataDir,
  token,
  force,
}: Pick<EnrolOptions, 'dataDir' | 'token' | 'force'>): EnrolmentRequest {
  readPlaneFile(join(dataDir, 'plane.json'));
  if (force !== true) refuseEnrolled(dataDir);
  const identity = planeIdentity(dataDir);
  const secret = encodeBase64(enrolmentSecret(token));
  const before = readAsked(dataDir);
  const isSame = before?.secret === secret && before.request.verifierKey === identity.verifierKey;
  if (before !== null && isSame) return before.request;
  const sealingKey = randomBytes(32);
  const signer = ed25519Of(readKeys(dataDir).signers(`${identity.origin}/0`));
  const sealTo = hpkePublicKey(sealingKey);
  const request = enrolmentRequest(identity, { secret: enrolmentSecret(token), sealTo, signer });
  const asked: PendingEnrolment = { request, secret, sealingKey: encodeBase64(sealingKey) };
  replacePrivate(enrolmentFiles(dataDir).asked, `${JSON.stringify(asked)}\n`);
  return request;
}

export interface AnswerOptions extends Pick<
  EnrolOptions,
  'dataDir' | 'mode' | 'force' | 'now' | 'caFile' | 'certificateFile' | 'certificateKeyFile'
> {
  /** Bytes of the answer file. An attacker may control them. */
  readonly answer: Uint8Array;
  /** Address of the service for a later connection. Null where it is unknown. */
  readonly service: string | null;
}

export interface TakenAnswer extends Omit<EnrolResult, 'clockAheadSeconds'> {
  /** Why the plane reports nothing: the service has records that the local log lacks. Null where it reports. */
  readonly held: string | null;
}

/**
 * Takes an answer. The enrolment is durable when it returns, and the former credentials no longer work. The
 * mode is `manual-file` unless another is chosen. NOT_FOUND where the plane asked nothing. VALIDATION_ERROR for
 * a text that does not answer its request, and for mode `auto` without an address. CONFLICT where the plane is
 * already enrolled, or its keys were rotated since the request.
 */
export async function takeEnrolmentAnswer(options: AnswerOptions): Promise<TakenAnswer> {
  const { dataDir, force, now, service } = options;
  if (force !== true) refuseEnrolled(dataDir);
  const { mode = byFileMode(readTelemetrySettings(dataDir).mode) } = options;
  if (mode === 'auto' && service === null) {
    const detail =
      'expected the address of the service for mode auto, got none; give --service, or another mode';
    throw new GovError('VALIDATION_ERROR', detail);
  }
  const asked = readAsked(dataDir);
  if (asked === null) {
    const detail = `expected a plane in ${dataDir} that waits for an answer, got one without a request; begin with --request`;
    throw new GovError('NOT_FOUND', detail);
  }
  refuseOtherKeys(dataDir, asked);
  const answer = answerIn(options.answer);
  const credentials = openEnrolmentAnswer(answer, {
    secret: Buffer.from(asked.secret, 'base64'),
    sealingKey: Buffer.from(asked.sealingKey, 'base64'),
  });
  if (credentials === null) {
    const what =
      answer.sealTo === asked.request.sealTo ? 'another text than was sealed' : 'one to another request';
    const detail = `expected the answer to the newest request of this plane, got ${what}; take that request to the service`;
    throw new GovError('VALIDATION_ERROR', detail);
  }
  const files = filesOf(options);
  const enrolment = enrolmentOf(answer, credentials, { files, nowMs: now() });
  // before the enrolment: after a crash here the plane takes the same answer again
  const held = await goOnBehind(dataDir, enrolment, answer.newest);
  return { ...keepEnrolment(enrolment, { dataDir, mode }), held };
}

/** An operator who chose mode `off` means it for this service too. */
const byFileMode = (mode: TelemetryMode): TelemetryMode => (mode === 'off' ? 'off' : 'manual-file');

/** CONFLICT where other keys sign the log than the request named: the service would refuse its reports. */
function refuseOtherKeys(dataDir: string, { request }: PendingEnrolment): void {
  const { verifierKey } = planeIdentity(dataDir);
  if (verifierKey === request.verifierKey) return;
  const detail =
    'expected the keys of the enrolment request, but they were rotated since; begin with --request';
  throw new GovError('CONFLICT', detail);
}

function answerIn(bytes: Uint8Array): EnrolmentAnswer {
  const most = limits.telemetryAnswerBytes;
  if (bytes.length > most)
    throw new GovError(
      'VALIDATION_ERROR',
      `expected an answer of at most ${most} bytes, got ${bytes.length}`,
    );
  const value = parseJson(bytes);
  if (fits(EnrolmentAnswer, value)) return value;
  // a TypeBox schema is a JSON Schema
  const [fault] = explain(EnrolmentAnswer as JsonSchema, value, { in: 'body' }).errors;
  const where = fault === undefined || fault.pointer === '' ? '' : ` at ${fault.pointer}`;
  const detail = `expected the answer to an enrolment request (gov planes enroll), got another text${where}`;
  throw new GovError('VALIDATION_ERROR', detail);
}

/**
 * Null where no request waits. FORBIDDEN where others may read the file, VALIDATION_ERROR where it is damaged.
 */
function readAsked(dataDir: string): PendingEnrolment | null {
  const { asked } = enrolmentFiles(dataDir);
  if (!existsSync(asked)) return null;
  refuseReadableByOthers(asked);
  try {
    // the schema checks what the type says
    return readConfigFile(asked, askedSchema, `expected ${asked}`) as PendingEnrolment;
  } catch (cause) {
    // the detail leaves the value out, because it may be a secret
    const detail = `expected an enrolment request in ${asked}, got a damaged file; delete it, and begin with --request`;
    throw new GovError('VALIDATION_ERROR', detail, { cause });
  }
}
