/**
 * Enrolment of a plane that reaches no service (`src/core/plane/enrolment-request.ts`): a request is written, carried to whoever runs
 * the service, and its answer taken in. What the answer needs to be opened stands in `keys/enrolment-request.json`, mode
 * 0600, until one was taken in; a crash in between leaves it, and the answer can be taken in with `--force`.
 * Proven by `test/plane/enrolment/by-file.test.ts`.
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
} from '../../src/core/plane/enrolment-request.ts';
import { hpkePublicKey } from '../../src/core/note/hpke.ts';
import { parseJson } from '../../src/core/json/parse.ts';
import { randomBytes } from '../../src/host/process/clock.ts';
import { readPlaneFile } from '../../src/host/data/config.ts';
import { refuseReadableByOthers, replacePrivate } from '../../src/host/data/files.ts';
import { readKeys } from '../../src/host/data/keys.ts';
import { readConfigFile } from '../../src/host/process/layers.ts';
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
import { enrolmentFiles, readTelemetrySettings, refuseEnrolled, type TelemetryMode } from './stored.ts';
import { ed25519Of } from '../telemetry/report.ts';

interface Asked {
  readonly request: EnrolmentRequest;
  /** SHA-256 of the token, and the key to which the answer is sealed; base64. */
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
 * The request to be carried to the service. The same one again while its answer is waited for, so that either copy's
 * answer is of use; another token or another key of the plane gives another. CONFLICT where the plane is enrolled already,
 * NOT_FOUND where there is none.
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
  const asked: Asked = { request, secret, sealingKey: encodeBase64(sealingKey) };
  replacePrivate(enrolmentFiles(dataDir).asked, `${JSON.stringify(asked)}\n`);
  return request;
}

export interface AnswerOptions extends Pick<
  EnrolOptions,
  'dataDir' | 'mode' | 'force' | 'now' | 'caFile' | 'certificateFile' | 'certificateKeyFile'
> {
  /** Bytes of the file that came back; an attacker may control them. */
  readonly answer: Uint8Array;
  /** Where the service would be reached, should there be a way one day; null where nobody knows. */
  readonly service: string | null;
}

export interface TakenAnswer extends Omit<EnrolResult, 'clockAheadSeconds'> {
  /** Why nothing is reported: the service holds what the log here does not have. */
  readonly held: string | null;
}

/**
 * Takes an answer in: durable when it returns, and the credentials that were in force before have ended. Mode
 * `manual-file` unless another is chosen. NOT_FOUND where nothing was asked; VALIDATION_ERROR for what is no answer to it,
 * and for mode `auto` without the address of the service; CONFLICT where the plane is enrolled already, or its keys were
 * rotated since it asked.
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
    const detail = `expected a plane in ${dataDir} that waits for an answer, but none was asked for; begin with --request`;
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
  // before it is enrolled: after a crash here the same answer is taken in again
  const held = await goOnBehind(dataDir, enrolment, answer.newest);
  return { ...keepEnrolment(enrolment, { dataDir, mode }), held };
}

/** Whoever chose that nothing is made means it of this service, too. */
const byFileMode = (mode: TelemetryMode): TelemetryMode => (mode === 'off' ? 'off' : 'manual-file');

/** CONFLICT where the plane's log is signed by other keys than it said: its reports would be refused. */
function refuseOtherKeys(dataDir: string, { request }: Asked): void {
  const { verifierKey } = planeIdentity(dataDir);
  if (verifierKey === request.verifierKey) return;
  const detail =
    'expected the keys with which this enrolment was asked for, but they were rotated since; begin with --request';
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

/** Null where nothing waits. FORBIDDEN where others may read it, VALIDATION_ERROR where it is damaged. */
function readAsked(dataDir: string): Asked | null {
  const { asked } = enrolmentFiles(dataDir);
  if (!existsSync(asked)) return null;
  refuseReadableByOthers(asked);
  try {
    // the schema holds what the type says
    return readConfigFile(asked, askedSchema, `expected ${asked}`) as Asked;
  } catch (cause) {
    // what came may be a secret
    const detail = `expected what was asked for by file in ${asked}, got a damaged file; delete it, and begin with --request`;
    throw new GovError('VALIDATION_ERROR', detail, { cause });
  }
}
