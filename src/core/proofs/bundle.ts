/**
 * The proof bundle `*.govproof.json`: one file with everything that an offline check of a proof needs, except trust.
 * One JSON object (I-JSON, RFC 7493; unknown members are refused), hashes as `sha256:<hex>`:
 *
 *   mediaType         application/vnd.gov.proof.v2+json; without `completeness` application/vnd.gov.proof.v1+json; with
 *                     the graph of a run that was written to application/vnd.gov.proof.v3+json
 *   proof             the ComplianceProof
 *   proofPreimage     the text whose SHA-256 is proofHash
 *   layerStatements   { layer: the text whose SHA-256 is the hash of the layer }
 *   proofLeaf         { index, record, inclusion }: the gov.proof/1 leaf, in the tree of proofCheckpoint
 *   checkpoint        the signed note of S, the tree size of the layers
 *   proofCheckpoint   the signed note of S′ ≥ index + 1
 *   consistency       the consistency proof from S to S′
 *   events?           [{ index, record, inclusion?, disclosures?, withheld? }], in order; `inclusion` is an inclusion
 *                     proof in the tree of S; disclosures are RFC 9901 texts; `withheld` lists digests withheld on purpose
 *   eventsInclusion?  one inclusion proof for all events together (`src/core/merkle/shared-path.ts`)
 *   erasures?         { checkpoint, consistency, leaves: [{ index, record, inclusion }] }: gov.erasure/1 leaves that
 *                     erased values of the events, in the tree of a signed note of at least S′ leaves that extends S′
 *   graph?            { leaf?: { index, record, inclusion }, nodes, edges }: the gov.graph/1 leaf in S and its items;
 *                     an edge is [source, target, type], where source and target are positions in nodes. Without the
 *                     leaf the claims of causal_consistency commit to the items, and the graph is that of the run at S
 *   completeness?     { index: { index, record, inclusion }, entries }: a gov.index/1 leaf in S′, and what its map says of the
 *                     lists that the layers depend on (`completeness.ts`)
 *   approvals?        [{ index, record, inclusion, disclosures? }]: signed gov.approval/1 leaves of the run, the
 *                     gov.evaluation/1 leaves that asked, and the gov.approver/1 leaves of who signed, in the tree of S
 *   dsse?             a DSSE envelope whose in-toto subject is proofHash
 *
 * Proven by `test/core/proofs/verify.test.ts` (a golden bundle) and `test/core/proofs/tamper.test.ts` (every byte flipped).
 */
import type { ComplianceProof } from '../../contract/proofs.ts';
import { disclosureDigest, disclosureText, readDisclosures, storedTexts } from '../events/disclosure.ts';
import type { MapEntry } from '../completeness/entry.ts';
import type { DsseEnvelope } from '../note/dsse.ts';
import type { NodeItem } from '../graphs/rows.ts';
import { hashText, parseHash } from '../hash.ts';
import { canonicalText } from '../json/parse.ts';
import { leafHash } from '../merkle/tree.ts';
import type { RunLeaf } from '../events/run-entry.ts';
import { readStatement } from './statement.ts';
import { formatTlogProof } from '../note/tlog-proof.ts';

const bundleMediaType = 'application/vnd.gov.proof.v1+json';
/** Of a bundle that shows its completeness. A reader from before refuses it as an unknown version. */
const completeBundleMediaType = 'application/vnd.gov.proof.v2+json';
/** Of a bundle whose graph covers the events below `through`. A reader from before refuses it as an unknown version. */
export const liveBundleMediaType = 'application/vnd.gov.proof.v3+json';

/** A leaf with its inclusion proof, from the sibling of the leaf up to the child of the root. */
export interface IncludedRecord {
  readonly index: number;
  readonly record: string;
  readonly inclusion: readonly string[];
}

export interface BundleEvent {
  readonly index: number;
  readonly record: string;
  readonly inclusion?: readonly string[];
  readonly disclosures?: readonly string[];
  readonly withheld?: readonly string[];
}

export interface BundleErasures {
  readonly checkpoint: string;
  /** From S′. */
  readonly consistency: readonly string[];
  readonly leaves: readonly IncludedRecord[];
}

/** A leaf about a signed approval; `disclosures` are RFC 9901 texts. */
export interface BundleApproval extends IncludedRecord {
  readonly disclosures?: readonly string[];
}

export interface BundleGraph {
  /** Absent where the leaf follows S. */
  readonly leaf?: IncludedRecord;
  readonly nodes: readonly NodeItem[];
  readonly edges: readonly BundleEdge[];
}

export interface BundleCompleteness {
  /** The `gov.index/1` leaf, in the tree of `proofCheckpoint`. */
  readonly index: IncludedRecord;
  /** One for each list that the layers depend on, in the order of `shownLists`. */
  readonly entries: readonly MapEntry[];
}

/** An edge as the positions of its nodes in the list of nodes: a fifth of the bytes of its row. */
export type BundleEdge = readonly [source: number, target: number, type: string];

export type BundleMediaType =
  | typeof bundleMediaType
  | typeof completeBundleMediaType
  | typeof liveBundleMediaType;

export interface Bundle {
  readonly mediaType: BundleMediaType;
  readonly proof: ComplianceProof;
  readonly proofPreimage: string;
  readonly layerStatements: Readonly<Record<string, string>>;
  readonly proofLeaf: IncludedRecord;
  readonly checkpoint: string;
  readonly proofCheckpoint: string;
  readonly consistency: readonly string[];
  readonly events?: readonly BundleEvent[];
  readonly eventsInclusion?: readonly string[];
  readonly erasures?: BundleErasures;
  readonly graph?: BundleGraph;
  readonly completeness?: BundleCompleteness;
  readonly approvals?: readonly BundleApproval[];
  readonly dsse?: DsseEnvelope;
}

/** Everything in a bundle but its events, as a verifier reads it. */
export interface BundleFrame extends Omit<Bundle, 'events' | 'graph'> {
  /** Whether the bundle has the member `events`. */
  readonly hasEvents: boolean;
  readonly graph?: FrameGraph;
}

export interface FrameGraph extends Omit<BundleGraph, 'edges'> {
  readonly edges: EdgeList;
}

/** Edges in flat memory, 20 bytes each: a graph has several for each event. */
export class EdgeList {
  #ends = new Float64Array(128);
  #types = new Uint32Array(64);
  readonly #typeNames: string[] = [];
  readonly #typeNumbers = new Map<string, number>();
  length = 0;

  add([source, target, type]: BundleEdge): void {
    const at = this.length++;
    if (at === this.#types.length) this.#grow();
    this.#ends[2 * at] = source;
    this.#ends[2 * at + 1] = target;
    let number = this.#typeNumbers.get(type);
    if (number === undefined) {
      number = this.#typeNames.push(type) - 1;
      this.#typeNumbers.set(type, number);
    }
    this.#types[at] = number;
  }

  /** The position of the source in the list of nodes; −1 beyond the list of edges. */
  sourceAt(at: number): number {
    return at < this.length ? (this.#ends[2 * at] ?? -1) : -1;
  }

  targetAt(at: number): number {
    return at < this.length ? (this.#ends[2 * at + 1] ?? -1) : -1;
  }

  typeAt(at: number): string {
    return at < this.length ? (this.#typeNames[this.#types[at] ?? -1] ?? '') : '';
  }

  #grow(): void {
    const ends = new Float64Array(2 * this.#ends.length);
    ends.set(this.#ends);
    this.#ends = ends;
    const types = new Uint32Array(2 * this.#types.length);
    types.set(this.#types);
    this.#types = types;
  }
}

/** A path of 32-byte hashes in the spelling of a bundle. */
export const pathText = (path: readonly Uint8Array[]): string[] => path.map(hashText);

/** The hashes of a path in a bundle that `FrameReader` returned. */
export const pathHashes = (path: readonly string[]): Buffer[] =>
  path.flatMap((hash) => parseHash(hash) ?? []);

/** Adds the media type of its version to the other members of a bundle. */
export const composeBundle = (parts: Omit<Bundle, 'mediaType'>): Bundle => ({
  mediaType: mediaTypeOf({
    hasGraph: parts.graph !== undefined,
    hasCompleteness: parts.completeness !== undefined,
    layerStatements: parts.layerStatements,
  }),
  ...parts,
});

/** The media type of a bundle with these members. The statements are attacker controlled. */
export function mediaTypeOf(bundle: {
  readonly hasGraph: boolean;
  readonly hasCompleteness: boolean;
  readonly layerStatements: Readonly<Record<string, string>>;
}): BundleMediaType {
  const statement = bundle.hasGraph ? bundle.layerStatements['causal_consistency'] : undefined;
  if (statement !== undefined && readStatement(statement)?.claims['through'] !== undefined)
    return liveBundleMediaType;
  return bundle.hasCompleteness ? completeBundleMediaType : bundleMediaType;
}

/** The bundle as one line of canonical JSON. */
export const bundleText = (bundle: Bundle): string => canonicalText(bundle);

/**
 * Returns an event of a bundle. `disclose` selects the fields to disclose; the digests of the others are listed as
 * withheld. Without `disclose` the event has its record only. Cost of `all`: a third of that of a function.
 */
export function bundleEvent(
  { index, record, disclosures }: RunLeaf,
  options: {
    readonly disclose?: 'all' | ((pointer: string) => boolean);
    readonly inclusion?: readonly Uint8Array[];
  } = {},
): BundleEvent {
  const { disclose, inclusion } = options;
  const path = inclusion === undefined ? {} : { inclusion: pathText(inclusion) };
  if (disclose === undefined || disclosures === null) return { index, record, ...path };
  if (disclose === 'all') return { index, record, ...path, disclosures: storedTexts(disclosures) };
  const all = readDisclosures(disclosures);
  const opened = all.filter(([, pointer]) => disclose(pointer));
  const kept = all.filter(([, pointer]) => !disclose(pointer));
  return {
    index,
    record,
    ...path,
    disclosures: opened.map(disclosureText),
    ...(kept.length === 0 ? {} : { withheld: kept.map(disclosureDigest).sort() }),
  };
}

/** The C2SP tlog-proof of the leaf of the proof: index, inclusion proof, and the checkpoint that covers it. */
export const bundleTlogProof = ({
  proofLeaf,
  proofCheckpoint,
}: Pick<Bundle, 'proofLeaf' | 'proofCheckpoint'>): string =>
  formatTlogProof({
    index: proofLeaf.index,
    path: pathHashes(proofLeaf.inclusion),
    checkpoint: proofCheckpoint,
  });

/** One hash of a bundle: its preimage, and a shell command that computes it. */
export interface Explanation {
  readonly name: string;
  readonly preimage: string;
  readonly hash: string;
  readonly how: string;
}

/** Returns every preimage of a bundle with a shell command, for people who compute the hashes themselves. */
export function explain({ proof, proofPreimage, layerStatements, proofLeaf }: BundleFrame): Explanation[] {
  const layers = proof.layers.map(({ name, hash }) => ({
    name: `layer ${name}`,
    preimage: layerStatements[name] ?? '',
    hash,
    how: `jq -j '.layerStatements.${name}' FILE | sha256sum`,
  }));
  return [
    ...layers,
    {
      name: 'proofHash',
      preimage: proofPreimage,
      hash: proof.proofHash,
      how: "jq -j '.proofPreimage' FILE | sha256sum",
    },
    {
      name: `leaf ${proofLeaf.index}`,
      preimage: proofLeaf.record,
      hash: hashText(leafHash(proofLeaf.record)),
      how: "(printf '\\0'; jq -j '.proofLeaf.record' FILE) | sha256sum",
    },
  ];
}
