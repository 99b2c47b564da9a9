/**
 * The offline verifier: `import { verify, readTrust } from 'gov/verify'`. It is the verifier of `gov proofs verify` and
 * `gov report verify`, for Node, browsers and edge runtimes. It needs no network, and it throws for nothing in a file: a verdict is a value.
 * Tested by `test/client/verify.test.ts`, and in a browser by `test/client/web/browser.long.test.ts`.
 */
import { GovError as CoreError } from '../contract/problems.ts';
import { verifyExport, type ExportVerdict } from '../core/exports/verify.ts';
import { parseVerifierKey } from '../core/note/key.ts';
import { parseTrust, type Trust } from '../core/note/trust.ts';
import { answerMediaType, verifyAnswer, type AnswerVerdict } from '../core/proofs/answer.ts';
import type { ProofVerdict } from '../core/proofs/verdict.ts';
import { verifyBundleFile } from '../core/proofs/verify.ts';
import { type ReportVerdict, verifyReport } from '../core/reports/verify.ts';
import { limits } from '../contract/limits.ts';
import { GovError } from './errors.ts';

export { verdictCodes } from '../core/proofs/verdict.ts';
export type { VerdictCode } from '../core/proofs/verdict.ts';
export type { AnswerVerdict, ExportVerdict, ProofVerdict, ReportVerdict, Trust };

/** A trust file or a key cannot be read. The message names the line. */
export class GovTrustError extends GovError {
  override readonly name = 'GovTrustError';
  readonly code = 'TRUST_MALFORMED';
  readonly retryable = false;
}

/** A file with a proof: text, bytes, or a `Blob` such as the file of an `<input>`, which is read in pieces. */
export type Evidence = string | Uint8Array | ArrayBuffer | Blob;

export interface VerifyOptions {
  /** From `readTrust`. Without trust nothing is verified, but every hash is still checked. */
  readonly trust: Trust | null;
  /** Layers that a proof must have and that must pass; default: all layers of the proof. */
  readonly requireLayers?: readonly string[];
  /** The data hash that a report must have, `sha256:…`. */
  readonly dataHash?: string;
  /** The signature of a report that is JSON, `report.dsse.json`. A PDF contains it. */
  readonly signature?: Uint8Array;
}

/** What a file is, and the verdict on it. `verified` is true only if nothing failed. */
export type Verdict =
  | ({ readonly kind: 'proof' } & ProofVerdict)
  | ({ readonly kind: 'export' } & ExportVerdict)
  | ({ readonly kind: 'answer' } & AnswerVerdict)
  /** The check `pages` is `not_checked`: only `gov report verify` renders the pages again and compares them. */
  | ({ readonly kind: 'report' } & ReportVerdict);

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
 * Verifies a proof bundle, an export, an answer or a report, which it tells apart by how the file begins. Nothing in the file makes
 * it throw. Rejects only if a `Blob` cannot be read. Cost: about 25 µs an event in Node, and several times that
 * elsewhere.
 */
export async function verify(evidence: Evidence, options: VerifyOptions): Promise<Verdict> {
  const { trust, requireLayers } = options;
  const file = rereadable(evidence);
  const begin = await beginOf(file);
  if (reportBegins.some((each) => begin.startsWith(each)) && file.bytes <= limits.bundleBytes)
    return { kind: 'report', ...(await reportVerdict(await wholeOf(file), options)) };
  if (begin.startsWith(exportBegin)) return { kind: 'export', ...(await verifyExport(file.read(), trust)) };
  if (file.bytes <= limits.answerBytes) {
    const bytes = await wholeOf(file);
    if (isAnswer(bytes)) return { kind: 'answer', ...verifyAnswer(bytes, trust) };
  }
  const required = requireLayers === undefined ? {} : { requireLayers };
  return { kind: 'proof', ...(await verifyBundleFile(file.read, trust, required)) };
}

const reportVerdict = (
  bytes: Uint8Array,
  { trust, dataHash, signature }: VerifyOptions,
): Promise<ReportVerdict> =>
  verifyReport(bytes, {
    trust,
    expectedHash: dataHash ?? null,
    signature: signature ?? null,
    pages: 'gov report verify renders the printed pages again, and compares them with the data',
  });

interface Rereadable {
  readonly bytes: number;
  readonly read: () => AsyncIterable<Uint8Array>;
}

function rereadable(evidence: Evidence): Rereadable {
  if (evidence instanceof Blob) return { bytes: evidence.size, read: () => piecesOf(evidence) };
  // a view is copied, so that the caller may reuse its memory meanwhile
  const bytes =
    typeof evidence === 'string'
      ? new TextEncoder().encode(evidence)
      : evidence instanceof ArrayBuffer
        ? new Uint8Array(evidence)
        : Uint8Array.from(evidence);
  const read = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    yield bytes;
  };
  return { bytes: bytes.length, read };
}

const pieceBytes = 256 * 1024;

async function* piecesOf(blob: Blob): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < blob.size; at += pieceBytes) {
    yield new Uint8Array(await blob.slice(at, at + pieceBytes).arrayBuffer());
  }
}

/** First characters of an export. A bundle begins differently. */
const exportBegin = '{"schemaVersion":';
/** First characters of a report: PDF, or canonical JSON. */
const reportBegins = ['%PDF-', '{"attachments":{'];

const beginChars = 32;

async function beginOf({ read }: Rereadable): Promise<string> {
  for await (const chunk of read()) {
    return String.fromCharCode(...chunk.subarray(0, beginChars));
  }
  return '';
}

async function wholeOf({ bytes, read }: Rereadable): Promise<Uint8Array> {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for await (const chunk of read()) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function isAnswer(bytes: Uint8Array): boolean {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return (value as { mediaType?: unknown } | null)?.mediaType === answerMediaType;
  } catch {
    return false; // not JSON: the verifier of bundles reports it
  }
}
