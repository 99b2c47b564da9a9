/**
 * Verifies any file that gov writes as evidence. `verify.ts` is its public form. Tested by `test/client/verify.test.ts`.
 */
import { limits } from '../contract/limits.ts';
import { verifyEvidence, type EvidenceVerdict } from '../core/evidence/file.ts';
import { evidenceMediaType } from '../core/evidence/media-type.ts';
import { verifyExport, type ExportVerdict } from '../core/exports/verify.ts';
import type { Trust } from '../core/note/trust.ts';
import { answerMediaType, verifyAnswer, type AnswerVerdict } from '../core/proofs/answer.ts';
import type { ProofVerdict } from '../core/proofs/verdict.ts';
import { verifyBundleFile, type VerifyOptions as BundleOptions } from '../core/proofs/verify.ts';
import { type ReportVerdict, verifyReport } from '../core/reports/verify.ts';

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
  /** Verified evidence shows that the log broke a promise. */
  | ({ readonly kind: 'evidence' } & EvidenceVerdict)
  /** The check `pages` is `not_checked`: only `gov report verify` renders the pages again and compares them. */
  | ({ readonly kind: 'report' } & ReportVerdict);

/**
 * Verifies a proof bundle, an export, an answer, a report or an evidence file, which it tells apart by how the file begins.
 * Nothing in the file makes it throw. Rejects only if a `Blob` cannot be read. `seen` gets the heads that a trusted key
 * signed, except those of a report.
 */
export async function verifyFile(
  evidence: Evidence,
  options: VerifyOptions,
  heads: Pick<BundleOptions, 'seen'> = {},
): Promise<Verdict> {
  const { trust, requireLayers } = options;
  const file = rereadable(evidence);
  const begin = await beginOf(file);
  if (reportBegins.some((each) => begin.startsWith(each)) && file.bytes <= limits.bundleBytes)
    return { kind: 'report', ...(await reportVerdict(await wholeOf(file), options)) };
  if (begin.startsWith(exportBegin))
    return { kind: 'export', ...(await verifyExport(file.read(), trust, heads)) };
  if (file.bytes <= limits.evidenceBytes) {
    const bytes = await wholeOf(file);
    const mediaType = mediaTypeIn(bytes);
    if (mediaType === evidenceMediaType) return { kind: 'evidence', ...verifyEvidence(bytes, trust) };
    if (mediaType === answerMediaType) return { kind: 'answer', ...verifyAnswer(bytes, trust, heads) };
  }
  const required = requireLayers === undefined ? {} : { requireLayers };
  return { kind: 'proof', ...(await verifyBundleFile(file.read, trust, { ...required, ...heads })) };
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

function mediaTypeIn(bytes: Uint8Array): unknown {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return (value as { mediaType?: unknown } | null)?.mediaType;
  } catch {
    return undefined; // not JSON: the verifier of bundles reports it
  }
}
