/**
 * The JSON artifact of an export (contract K9): UTF-8, one row a line, written and read in one pass.
 *
 *   {"schemaVersion":"1.0","resource":"…","generatedAt":"…","filters":{…},"data":[
 *   <row>,
 *   <row>
 *   ],"manifest":{"treeSize":…,"rootHash":"…","firstSequence":…,"lastSequence":…,"rowCount":…},"proof":{…}}
 *
 * `proof` is present if the request has `includeProof`. Each row then begins with its evidence:
 *
 *   {"evidence":{"index":…,"gap":[…],"record":"…","disclosures":[…],"erased":[…]},…}
 *
 *   index        leaf index in the audit log; rows are in ascending order
 *   gap          hashes of the largest complete subtrees between the leaf of the previous row and this one
 *                (`src/core/merkle/multi-proof.ts`), base64; omitted if empty
 *   record       text of the leaf
 *   disclosures  its committed fields, `[[salt, pointer, value], …]` as hashed; null without committed fields
 *   erased       `[[leaf, digest], …]` of the erased fields, in record order; omitted if empty
 *
 * A verifier makes each line again from its parsed parts and compares the texts, so every byte counts (`verify.ts`).
 * Proven by `test/core/exports/artifact.test.ts`.
 */
import type { ExportResource } from '../../contract/exports.ts';
import { filterAnswerText, type FilterAnswer } from './answer.ts';
import { decodeBase64, encodeBase64 } from '../json/base64.ts';
import { tupleEnd } from '../events/disclosure.ts';
import { unkeptOf } from '../events/erased.ts';
import type { ExportLeaf } from './row.ts';
import { hashBytes } from '../merkle/tree.ts';
import { recordDigests, strictObject } from '../events/run-entry.ts';

const exportVersion = '1.0';

export interface ExportHead {
  readonly resource: ExportResource;
  /** `createdAt` of the export. */
  readonly generatedAt: string;
  /** Canonical JSON. */
  readonly filters: string;
}

/** Returns the first line of an artifact, with its line break. */
export const exportHead = ({ resource, generatedAt, filters }: ExportHead): string =>
  `{"schemaVersion":"${exportVersion}","resource":"${resource}","generatedAt":"${generatedAt}","filters":${filters},"data":[\n`;

/** The evidence of a row. `gap`: 32 bytes each, `subtreesOf` the leaves since the previous row. */
export interface RowEvidence {
  readonly leaf: ExportLeaf;
  readonly gap: readonly Uint8Array[];
}

/** Returns a row, preceded by the separator from the previous row. */
export function exportRowText(row: string, isFirst: boolean, evidence?: RowEvidence): string {
  const text = evidence === undefined ? row : `{"evidence":${evidenceText(evidence)},${row.slice(1)}`;
  return isFirst ? text : `,\n${text}`;
}

function evidenceText({ leaf, gap }: RowEvidence): string {
  const { index, record, disclosures } = leaf;
  const before = gap.length === 0 ? '' : `"gap":["${gap.map(encodeBase64).join('","')}"],`;
  const erased = erasedText(leaf);
  const after = erased === null ? '' : `,"erased":${erased}`;
  return `{"index":${index},${before}"record":${JSON.stringify(record)},"disclosures":${disclosures}${after}}`;
}

/** Returns the erased fields with the leaf that erased each; null without erased fields. */
export function erasedText({ record, disclosures, erased }: ExportLeaf): string | null {
  if (erased === null || erased === undefined) return null;
  const { erased: gone } = unkeptOf(digestsOf(record) ?? [], { disclosures, erased });
  return gone.length === 0 ? null : JSON.stringify(gone.map(({ digest, leaf }) => [leaf, digest]));
}

/** Returns the digests of a leaf of any type; null if the text is not a record. Attacker controlled. */
export function digestsOf(record: string): readonly string[] | null {
  if (record.endsWith('"type":"gov.event/1"}')) return recordDigests(record);
  const digests = strictObject(record)?.['_sd'];
  const isList = Array.isArray(digests) && digests.every((digest) => typeof digest === 'string');
  return isList && new Set(digests).size === digests.length ? (digests as string[]) : null;
}

export interface ManifestOfRows {
  readonly treeSize: number;
  /** 32 bytes. */
  readonly rootHash: Uint8Array;
  readonly firstSequence: number | null;
  readonly lastSequence: number | null;
  readonly rowCount: number;
  /** Events below this leaf were pruned, and no row has them; absent without a pruning. */
  readonly prunedBelow?: number | undefined;
}

export interface ProvedLeaf {
  readonly index: number;
  readonly record: string;
  /** Inclusion proof in the tree of the checkpoint. */
  readonly inclusion: readonly Uint8Array[];
}

export interface ExportProof {
  /** A signed note whose size covers all leaves below. */
  readonly checkpoint: string;
  /** Consistency proof from the tree of the manifest to the tree of the checkpoint. */
  readonly consistency: readonly Uint8Array[];
  /** The event `export.created` with the request. `disclosures` as stored. */
  readonly created: ProvedLeaf & { readonly disclosures: string };
  /** The gov.erasure/1 leaves that rows name, ascending; also gov.prune/1 leaves if results of replays were withdrawn. */
  readonly erasures: readonly ProvedLeaf[];
  /** For withdrawn results of replays: leaves of their runs that those erasures name, ascending. */
  readonly withdrawn: readonly ProvedLeaf[];
  /** Hashes of `subtreesOf` the leaves after the last row, up to the tree size of the manifest. */
  readonly gap: readonly Uint8Array[];
  /** What the index of the log says of the filters, where it shows that no row is missing. */
  readonly completeness?: FilterAnswer | undefined;
}

/** Returns the last line with its separator from the rows. */
export function exportTail(manifest: ManifestOfRows, proof?: ExportProof): string {
  const { rowCount } = manifest;
  return `${rowCount > 0 ? '\n' : ''}${tailLine(manifest, proof)}\n`;
}

/** Returns the last line without separator. */
export function tailLine(manifest: ManifestOfRows, proof?: ExportProof): string {
  const { rootHash, treeSize, firstSequence, lastSequence, rowCount, prunedBelow } = manifest;
  const counts = { firstSequence, lastSequence, rowCount, prunedBelow };
  const counted = JSON.stringify({ treeSize, rootHash: encodeBase64(rootHash), ...counts });
  return `],"manifest":${counted}${proof === undefined ? '' : `,"proof":${proofText(proof)}`}}`;
}

const leafJson = ({ index, record, inclusion }: ProvedLeaf) => ({
  index,
  record,
  inclusion: inclusion.map(encodeBase64),
});

function proofText(proof: ExportProof): string {
  const { checkpoint, consistency, created, erasures, withdrawn, gap, completeness } = proof;
  const { index, record, disclosures, inclusion } = created;
  const text = JSON.stringify({
    checkpoint,
    consistency: consistency.map(encodeBase64),
    created: { index, record, disclosures, inclusion: inclusion.map(encodeBase64) },
    erasures: erasures.map(leafJson),
    ...(withdrawn.length === 0 ? {} : { withdrawn: withdrawn.map(leafJson) }),
    gap: gap.map(encodeBase64),
  });
  return completeness === undefined
    ? text
    : `${text.slice(0, -1)},"completeness":${filterAnswerText(completeness)}}`;
}

/** A gap has at most 2 · 53 hashes of 44 characters. A pattern without a bound would exhaust the stack of V8. */
const beforeRecord =
  /^\{"evidence":\{"index":(0|[1-9][0-9]{0,15}),(?:"gap":\["([A-Za-z0-9+/=",]{44,6000})"\],)?"record":(?=")/;
const afterRecord = '","disclosures":';
const noDisclosures = 'null';
const beforeErased = ',"erased":';

/** A parsed line: evidence and row. */
export interface ReadRow extends RowEvidence {
  readonly row: string;
}

/**
 * Splits a line of a proved row into its parts; null if it is malformed. It does not check the text between the parts: the
 * caller writes the line again and compares. Attacker controlled; never throws.
 */
export function readRow(line: string): ReadRow | null {
  const head = beforeRecord.exec(line);
  if (head === null) return null;
  const from = head[0].length;
  // Within a JSON string a backslash precedes every quote, so these characters end the string.
  const to = line.indexOf(afterRecord, from);
  const record = to === -1 ? null : stringOf(line.slice(from, to + 1));
  const start = to + afterRecord.length;
  const isNone = line.startsWith(noDisclosures, start);
  const end = isNone ? start + noDisclosures.length : tupleEnd(line, start);
  const gap = hashesOf(head[2]?.split('","') ?? []);
  if (record === null || end === -1 || gap === null) return null;
  const erasedFrom = line.startsWith(beforeErased, end) ? end + beforeErased.length : null;
  const after = erasedFrom === null ? end : tupleEnd(line, erasedFrom);
  if (after === -1) return null;
  const leaf: ExportLeaf = {
    index: Number(head[1]),
    record,
    disclosures: isNone ? null : line.slice(start, end),
    ...(erasedFrom === null ? {} : { erased: line.slice(erasedFrom, after) }),
  };
  return { leaf, gap, row: `{${line.slice(after + 2)}` };
}

/** Returns the value of a JSON string; null if it is not well-formed Unicode, which would hash as another text. */
function stringOf(literal: string): string | null {
  try {
    const text: unknown = JSON.parse(literal);
    return typeof text === 'string' && text.isWellFormed() ? text : null;
  } catch {
    return null;
  }
}

/** Returns 32-byte hashes from strict base64; null if a text is malformed. */
export function hashesOf(texts: readonly string[]): Buffer[] | null {
  const hashes: Buffer[] = [];
  for (const text of texts) {
    const hash = decodeBase64(text);
    if (hash?.length !== hashBytes) return null;
    hashes.push(hash);
  }
  return hashes;
}
