/**
 * The offline verifier: `import { verify, readTrust } from 'gov/verify'`. It is the verifier of `gov proofs verify` and
 * `gov report verify`, for Node, browsers and edge runtimes. It needs no network, and it throws for nothing in a file: a verdict is a value.
 * Tested by `test/client/verify.test.ts`, and in a browser by `test/client/web/browser.long.test.ts`.
 */
import { GovError as CoreError } from '../contract/problems.ts';
import { parseVerifierKey } from '../core/note/key.ts';
import { parseTrust, type Trust } from '../core/note/trust.ts';
import { GovError } from './errors.ts';
import { verifyFile, type Evidence, type Verdict, type VerifyOptions } from './verify-file.ts';

export { verdictCodes } from '../core/proofs/verdict.ts';
export type { VerdictCode } from '../core/proofs/verdict.ts';
export type { ExportVerdict } from '../core/exports/verify.ts';
export type { AnswerVerdict } from '../core/proofs/answer.ts';
export type { ProofVerdict } from '../core/proofs/verdict.ts';
export type { ReportVerdict } from '../core/reports/verify.ts';
export type { EvidenceVerdict } from '../core/evidence/file.ts';
export type { Evidence, Trust, Verdict, VerifyOptions };

/** A trust file or a key cannot be read. The message names the line. */
export class GovTrustError extends GovError {
  override readonly name = 'GovTrustError';
  readonly code = 'TRUST_MALFORMED';
  readonly retryable = false;
}

/**
 * Reads whom to trust: a trust file (C2SP tlog-policy), or one or more keys of one log, a line each. Take them from the
 * operator of the log by another way than the proof. Throws `GovTrustError`.
 */
export function readTrust(text: string): Trust {
  try {
    const lines = text.split('\n').map((line) => line.trim());
    const keys = lines.filter((line) => line !== '' && !line.startsWith('#'));
    return keys.length > 0 && keys.every((line) => isKey.test(line)) ? trustOf(keys) : parseTrust(text);
  } catch (cause) {
    if (cause instanceof CoreError) throw new GovTrustError(cause.message, { cause });
    throw cause;
  }
}

/** One word, `<name>+<key id>+<base64>`. */
const isKey = /^[^\s+]+\+[0-9a-f]{8}\+\S+$/;

function trustOf(lines: readonly string[]): Trust {
  const keys = lines.map(parseVerifierKey);
  const origins = [...new Set(keys.map(({ name }) => name))];
  const [origin = '', stranger] = origins;
  if (stranger !== undefined)
    throw new GovTrustError(`expected keys of one log, ${origin}, got one of ${stranger}`);
  return { origin, keys, witnesses: [], quorum: 0 };
}

/**
 * Verifies a proof bundle, an export, an answer, a report or an evidence file, which it tells apart by how the file begins.
 * Nothing in the file makes it throw. Rejects only if a `Blob` cannot be read. Cost: about 25 µs an event in Node, and
 * several times that elsewhere.
 */
export const verify = (evidence: Evidence, options: VerifyOptions): Promise<Verdict> =>
  verifyFile(evidence, options);
