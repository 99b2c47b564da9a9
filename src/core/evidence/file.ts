/**
 * An evidence file, `*.govevidence.json`: what shows that the holder of a log key broke a promise, for anybody who has the
 * keys of the log. One JSON object (I-JSON; unknown members are refused):
 *
 *   mediaType    application/vnd.gov.evidence.v1+json
 *   kind         split_view
 *   checkpoints  two signed notes of one log
 *   paths        for each note a list of { index, leaf, inclusion }: leaf hashes with their inclusion paths in its tree
 *
 * or kind broken_receipt, with the members of `broken-receipt.ts`; or index_omission, with those of `index-omission.ts`.
 *
 * Verifying: 1 strict parse; 2 a trusted key of the log signed both notes; 3 each path leads to the root of its note;
 * 4 no append-only log has both trees (`src/core/note/heads.ts`). Evidence without step 4 accuses nobody, and is refused.
 * Attacker controlled; nothing here throws. Proven by `test/core/evidence/file.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { canonicalize, parseJson, type JsonObject } from '../json/parse.ts';
import { anyObject, list, object, plainText, refuse, type Location, type Shape } from '../json/shape.ts';
import { openTrustedCheckpoint, type Trust } from '../note/checkpoint.ts';
import { Fault } from '../proofs/completeness.ts';
import { signatureCode, type VerdictCode } from '../proofs/verdict.ts';
import { compareHeads, SignedHead, type LeafPath } from '../note/heads.ts';
import { NoteError } from '../note/signed.ts';
import {
  type BrokenJudgement,
  type BrokenReceipt,
  brokenReceiptMembers,
  brokenReceiptValue,
  judgeBrokenReceipt,
  readBrokenReceipt,
} from './broken-receipt.ts';
import { judgeOmission, readIndexOmission, type IndexOmission } from './index-omission.ts';
import { evidenceMediaType } from './media-type.ts';
import { pathValue, readPath } from './paths.ts';

/** Two heads of one log that no append-only log has. */
export interface SplitView {
  readonly heads: readonly [SignedHead, SignedHead];
  readonly paths: readonly [readonly LeafPath[], readonly LeafPath[]];
}

export function splitViewText({ heads, paths }: SplitView): string {
  const value: JsonObject = {
    mediaType: evidenceMediaType,
    kind: 'split_view',
    checkpoints: heads.map(({ note }) => note),
    paths: paths.map((each) => each.map(pathValue)),
  };
  return `${canonicalize(value)}\n`;
}

export const brokenReceiptText = (broken: BrokenReceipt): string =>
  `${canonicalize({ mediaType: evidenceMediaType, kind: 'broken_receipt', ...brokenReceiptValue(broken) })}\n`;

export interface EvidenceVerdict {
  /** Whether the file shows that the holder of the log key broke the promise. */
  readonly verified: boolean;
  readonly code: VerdictCode | null;
  /** Which promise; null unless verified. */
  readonly shows: 'split_view' | 'broken_receipt' | 'index_omission' | null;
  /** The log; null unless verified. */
  readonly origin: string | null;
  /** What the file shows, or why it shows nothing. */
  readonly detail: string;
}

/** Verifies the evidence in these bytes with the trust of the caller. */
export function verifyEvidence(bytes: Uint8Array, trust: Trust | null): EvidenceVerdict {
  const failed = (code: VerdictCode, detail: string): EvidenceVerdict => ({
    verified: false,
    code,
    shows: null,
    origin: null,
    detail,
  });
  let code: (error: GovError) => VerdictCode = () => 'MALFORMED_EVIDENCE';
  try {
    const evidence = readEvidence(bytes);
    if (trust === null || trust.keys.length === 0)
      return failed('NO_TRUSTED_KEY', 'expected a key or a trust file, got none');
    code = faultCode;
    const judged = judge(evidence, trust);
    if (judged.detail === null) return failed(judged.code, judged.fault);
    const { origin } = trust;
    return { verified: true, code: null, shows: evidence.kind, origin, detail: judged.detail };
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    return failed(code(error), error.message);
  }
}

/** Leaves that do not lead to the signed root are the only fault of a receipt that is not about a signature. */
const faultCode = (error: GovError): VerdictCode =>
  error instanceof NoteError ? signatureCode(error) : 'NOT_INCLUDED';

type ReadEvidence =
  | SplitViewFile
  | (BrokenReceipt & { readonly kind: 'broken_receipt' })
  | (IndexOmission & { readonly kind: 'index_omission' });

/** Throws NoteError unless a trusted key signed the notes. */
function judge(evidence: ReadEvidence, trust: Trust): BrokenJudgement {
  switch (evidence.kind) {
    case 'split_view':
      return judgeSplitView(evidence, trust);
    case 'broken_receipt':
      return judgeBrokenReceipt(evidence, trust);
    case 'index_omission': {
      const { checkpoint } = openTrustedCheckpoint(evidence.checkpoint, trust);
      const found = judgeOmission(evidence, checkpoint);
      return found instanceof Fault
        ? { detail: null, code: found.code, fault: found.detail }
        : { detail: found };
    }
  }
}

/** Throws NoteError unless a trusted key signed both notes. */
function judgeSplitView({ checkpoints, paths }: SplitViewFile, trust: Trust): BrokenJudgement {
  const [one, other] = checkpoints.map((note) => SignedHead.open(note, trust));
  if (one === undefined || other === undefined) throw new Error('expected two checkpoints');
  const wrong = [one, other].flatMap((head, at) => (paths[at] ?? []).filter((path) => !head.add(path)));
  if (wrong.length > 0)
    return {
      detail: null,
      code: 'NOT_INCLUDED',
      fault: `the path of leaf ${wrong[0]?.index} does not lead to the root of its checkpoint`,
    };
  const compared = compareHeads(one, other);
  if (compared.result === 'split') return { detail: compared.detail };
  return {
    detail: null,
    code: 'EVIDENCE_SHOWS_NOTHING',
    fault: 'both checkpoints may be of one append-only log',
  };
}

const file: Location = { file: 'evidence' };
/** A record in the file is longer than the text of any other member. */
const bounds = {
  depth: limits.jsonDepth,
  values: limits.jsonValues,
  nameChars: limits.memberNameChars,
  stringBytes: limits.bundleStringBytes,
};
const shapes = {
  split_view: { required: ['checkpoints', 'kind', 'mediaType', 'paths'] },
  broken_receipt: { required: [...brokenReceiptMembers, 'kind', 'mediaType'].toSorted() },
} satisfies Record<string, Shape>;

interface SplitViewFile {
  readonly kind: 'split_view';
  readonly checkpoints: readonly string[];
  /** Of each checkpoint. */
  readonly paths: readonly (readonly LeafPath[])[];
}

function readEvidence(bytes: Uint8Array): ReadEvidence {
  if (bytes.length > limits.evidenceBytes)
    throw new GovError(
      'PAYLOAD_TOO_LARGE',
      `evidence: expected at most ${limits.evidenceBytes} bytes, got ${bytes.length}`,
    );
  const parsed = anyObject(parseJson(bytes, bounds), file);
  const { kind } = parsed;
  if (kind !== 'split_view' && kind !== 'broken_receipt' && kind !== 'index_omission')
    refuse({ up: file, name: 'kind' }, 'split_view, broken_receipt or index_omission', kind);
  const value = kind === 'index_omission' ? parsed : object(parsed, file, shapes[kind]);
  if (value['mediaType'] !== evidenceMediaType)
    refuse({ up: file, name: 'mediaType' }, evidenceMediaType, value['mediaType']);
  if (kind === 'index_omission') return { kind, ...readIndexOmission(value, file) };
  return kind === 'broken_receipt'
    ? { kind, ...readBrokenReceipt(value, file) }
    : { kind, ...readSplitView(value) };
}

function readSplitView(value: JsonObject): Omit<SplitViewFile, 'kind'> {
  const checkpoints = list(value, 'checkpoints', file, { max: 2, read: plainText });
  const paths = list(value, 'paths', file, {
    max: 2,
    read: (item, at) => list({ paths: item }, 'paths', at, { max: limits.headPaths, read: readPath }),
  });
  if (checkpoints.length !== 2 || paths.length !== 2)
    refuse({ up: file, name: 'checkpoints' }, 'two checkpoints, and a list of paths for each', null);
  return { checkpoints, paths };
}
