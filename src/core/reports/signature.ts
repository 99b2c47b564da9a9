/**
 * The signature of a report: a DSSE v1 envelope with an in-toto Statement v1, signed with the keys of the log. Its
 * subjects are the data and, where the report is printed, how it is printed. It names the report, its project, template
 * and checkpoint, and the keys that sign. Canonical JSON (RFC 8785), so each byte of it counts. It is attached outside of
 * the data hash, which it signs. Proven by `test/core/reports/signature.test.ts`, and by hand in
 * `test/interop/reports.long.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { sha256Text } from '../hash.ts';
import { decodeBase64, encodeBase64 } from '../json/base64.ts';
import { canonicalText } from '../json/canonical.ts';
import { isObject } from '../json/object.ts';
import { canonicalize, type Json, parseJson } from '../json/parse.ts';
import { type DsseEnvelope, inTotoPayloadType, inTotoStatement, pae } from '../note/dsse.ts';
import { keyIdText } from '../note/key.ts';
import type { SignatureFacts } from '../note/signed-by.ts';
import type { NoteSigner, VerifierKey } from '../note/signed.ts';
import type { Trust } from '../note/trust.ts';
import type { VerdictCode } from '../proofs/verdict.ts';
import { dataFile, presentationFile } from './artifacts.ts';

const predicateType = 'urn:gov:report:1';

/** What the log signs of a report. */
export interface SignedReport {
  readonly executionId: string;
  readonly projectId: string;
  readonly reportTemplateId: string;
  readonly checkpoint: { readonly origin: string; readonly treeSize: number; readonly rootHash: string };
  /** `sha256:…` of `report.json`. */
  readonly dataHash: string;
  /** `sha256:…` of `presentation.json`; null for a report without pages. */
  readonly presentationHash: string | null;
}

/** The name and the id of a key, as in its verifier key: `origin+2f1c8a90`. */
const keyName = ({ name, keyId }: Pick<VerifierKey, 'name' | 'keyId'>): string =>
  `${name}+${keyIdText(keyId)}`;

const digestOf = (hash: string): string => hash.slice('sha256:'.length);

function payloadOf(signed: SignedReport, keys: readonly string[]): Buffer {
  const { executionId, projectId, reportTemplateId, checkpoint, dataHash, presentationHash } = signed;
  const { origin, treeSize, rootHash } = checkpoint;
  const predicate = {
    executionId,
    projectId,
    reportTemplateId,
    checkpoint: { origin, treeSize, rootHash },
    keys: [...keys],
  };
  const data = { name: dataFile, sha256: digestOf(dataHash) };
  const { subject, ...statement } = inTotoStatement(data, predicateType, predicate);
  const shown =
    presentationHash === null
      ? []
      : [{ name: presentationFile, digest: { sha256: digestOf(presentationHash) } }];
  const whole = { ...statement, subject: [...subject, ...shown] };
  return Buffer.from(canonicalize(whole as unknown as Json));
}

/** Returns the envelope in canonical JSON: one signature by each key of the log. */
export function signReport(signed: SignedReport, signers: readonly NoteSigner[]): string {
  const payload = payloadOf(signed, signers.map(keyName));
  const message = pae(inTotoPayloadType, payload);
  const signatures = signers.map((signer) => ({
    keyid: keyName(signer),
    sig: encodeBase64(signer.signMessage(message)),
  }));
  return canonicalText({ payload: encodeBase64(payload), payloadType: inTotoPayloadType, signatures });
}

/** What the verifier read of the report itself. `presentation`: null for a JSON artifact. */
export interface SignatureSubject {
  readonly report: Pick<SignedReport, 'projectId' | 'reportTemplateId' | 'checkpoint' | 'dataHash'>;
  readonly presentation: Uint8Array | null;
}

/** The trusted keys that signed which execution, and the algorithms of the others; or why the signature does not hold. */
export type SignatureVerdict =
  | {
      readonly executionId: string;
      readonly signed: SignatureFacts;
    }
  | { readonly code: VerdictCode; readonly detail: string };

const fault = (code: VerdictCode, detail: string): SignatureVerdict => ({ code, detail });

const executionForm = /^rex_[0-9a-hjkmnp-tv-z]{26}$/;

/**
 * Verifies the signature of a report with keys that the caller trusts. Every byte is compared with what the log signs for
 * this report; a signature by a trusted key that is invalid is refused, even if another signature is valid. So is an algorithm
 * without a signature, where the trust requires each. Attacker controlled; never throws.
 */
export function verifyReportSignature(
  bytes: Uint8Array,
  { report, presentation }: SignatureSubject,
  { keys, require }: Pick<Trust, 'keys' | 'require'>,
): SignatureVerdict {
  const envelope = readEnvelope(bytes);
  if (envelope === null)
    return fault('SIGNATURE_INVALID', 'expected a DSSE envelope in canonical JSON, got another file');
  const payload = decodeBase64(envelope.payload) ?? Buffer.alloc(0);
  const message = pae(inTotoPayloadType, payload);
  const signedBy: VerifierKey[] = [];
  for (const { keyid, sig } of envelope.signatures) {
    const key = keys.find((each) => keyName(each) === keyid);
    if (key === undefined) continue;
    if (!key.verifyMessage(message, decodeBase64(sig) ?? Buffer.alloc(0)))
      return fault('SIGNATURE_INVALID', `expected a valid signature of ${keyid}, got an invalid one`);
    signedBy.push(key);
  }
  if (signedBy.length === 0) {
    const got = envelope.signatures.map(({ keyid }) => keyid.slice(0, limits.echoChars)).join(', ') || 'none';
    return fault(
      'SIGNATURE_INVALID',
      `expected a signature of ${keys.map(keyName).join(', ')}, got one of ${got}`,
    );
  }
  // only a trusted key could sign the payload: what follows tells which report it is about
  const { executionId, presentationHash } = statedIn(payload);
  const expected: SignedReport = {
    ...report,
    executionId,
    presentationHash: presentation === null ? presentationHash : sha256Text(presentation),
  };
  const isOfReport =
    executionForm.test(executionId) &&
    payloadOf(
      expected,
      envelope.signatures.map(({ keyid }) => keyid),
    ).equals(payload);
  if (!isOfReport)
    return fault(
      'REPORT_SIGNATURE_MISMATCH',
      `the log signed ${executionId === '' ? 'something else' : `report ${executionId}`}, with other data, another presentation or other keys`,
    );
  const signed = new Set(signedBy.map(({ algorithm }) => algorithm));
  const listed = [...new Set(keys.map(({ algorithm }) => algorithm))].toSorted();
  const missing = listed.filter((algorithm) => !signed.has(algorithm));
  if (require === 'each-algorithm' && missing.length > 0)
    return fault(
      'SIGNATURE_MISSING',
      `expected a signature by each algorithm of the trust, ${listed.join(' and ')}, got none by ${missing.join(', ')}`,
    );
  const signatures = signedBy.map(({ keyId, algorithm }) => ({ keyId: keyIdText(keyId), algorithm }));
  return { executionId, signed: { signatures, missingAlgorithms: missing } };
}

type NamedEnvelope = Pick<DsseEnvelope, 'payload' | 'payloadType'> & {
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[];
};

/** Null unless it has exactly the form that `signReport` writes. Does not check who signed it. */
function readEnvelope(bytes: Uint8Array): NamedEnvelope | null {
  const value = parsed(bytes);
  if (!isObject(value) || Object.keys(value).length !== 3) return null;
  const { payload, payloadType, signatures } = value;
  if (typeof payload !== 'string' || payloadType !== inTotoPayloadType || !Array.isArray(signatures))
    return null;
  const read: { keyid: string; sig: string }[] = [];
  for (const each of signatures.slice(0, limits.noteSignatures + 1)) {
    if (!isObject(each) || Object.keys(each).length !== 2) return null;
    const { keyid, sig } = each;
    if (typeof keyid !== 'string' || typeof sig !== 'string' || decodeBase64(sig) === null) return null;
    read.push({ keyid, sig });
  }
  const isOnce = new Set(read.map(({ keyid }) => keyid)).size === read.length;
  if (!isOnce || read.length > limits.noteSignatures || decodeBase64(payload) === null) return null;
  const isCanonical = Buffer.from(canonicalize(value as Json)).equals(bytes);
  return isCanonical ? { payload, payloadType, signatures: read } : null;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return bytes.length <= limits.reportSignatureBytes ? parseJson(bytes) : null;
  } catch (error) {
    if (error instanceof GovError) return null;
    throw error;
  }
}

/** What a payload says that the data of the report does not; the caller compares the rest. */
function statedIn(payload: Uint8Array): { executionId: string; presentationHash: string | null } {
  const statement = parsed(payload);
  const predicate = isObject(statement) ? statement['predicate'] : null;
  const executionId = isObject(predicate) ? predicate['executionId'] : null;
  const [, shown] =
    isObject(statement) && Array.isArray(statement['subject']) ? (statement['subject'] as unknown[]) : [];
  const digest = isObject(shown) && isObject(shown['digest']) ? shown['digest']['sha256'] : null;
  return {
    executionId: typeof executionId === 'string' ? executionId : '',
    presentationHash: typeof digest === 'string' && /^[0-9a-f]{64}$/.test(digest) ? `sha256:${digest}` : null,
  };
}
