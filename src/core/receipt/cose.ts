/**
 * A receipt (RFC 9942, COSE_Sign1): the log signed the root of a tree, and one or two paths show that leaves are in it. Two
 * paths are of the first and the last of consecutive leaves, and show all between. Deterministic CBOR:
 *
 *   COSE_Sign1 (tag 18)
 *    protected   {1: -8, 4: key id of the log's Ed25519 key (C2SP), 395: 1, 15: {1: origin, 6: seconds, "size": leaves}}
 *    unprotected {396: {-1: [bstr .cbor [size, index, [+ bstr]], …]}, "leaves": [+ leaf hash]?}
 *    payload     null: the root, which follows from the paths
 *
 * A receipt of few leaves lists their hashes, because the answer of most operations does not have them.
 *
 * Origin, time and size are signed, because a root alone fixes none of them. The signed bytes begin with 0x84, as no note,
 * cosignature or DSSE message does. Proven by `test/core/receipt/cose.test.ts`, where openssl verifies one.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { isCount } from '../count.ts';
import { inclusionRanges, splitOf } from '../merkle/tile-proof.ts';
import { inclusionRoot, isHash, nodeHash } from '../merkle/tree.ts';
import type { NoteSigner } from '../note/key.ts';
import { NoteError } from '../note/signed.ts';
import type { Trust } from '../note/trust.ts';
import { CborTag, readCbor, writeCbor, type Cbor, type CborKey, type CborMap } from './cbor.ts';

/** The tree that a receipt is about, and when its root was signed. */
export interface ReceiptHead {
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
  /** Unix seconds. */
  readonly atSeconds: number;
}

/** A leaf by its index, with its path from the sibling of the leaf up to the child of the root. */
export interface ReceiptPath {
  readonly index: number;
  readonly path: readonly Uint8Array[];
}

export interface Receipt extends Omit<ReceiptHead, 'root'> {
  readonly keyId: number;
  /** Of the first leaf, and of the last one where there are several. */
  readonly paths: readonly [ReceiptPath, ReceiptPath?];
  /** The hashes of the leaves, where it lists them. */
  readonly leaves: readonly Uint8Array[] | null;
  readonly protectedBytes: Uint8Array;
  readonly signature: Uint8Array;
}

const sign1Tag = 18;
/** RFC 9052 §3.1, RFC 9942 §4, RFC 9597, RFC 8392. */
const label = {
  algorithm: 1,
  keyId: 4,
  tree: 395,
  claims: 15,
  proofs: 396,
  inclusion: -1,
  leaves: 'leaves',
} as const;
const claim = { issuer: 1, issuedAt: 6, size: 'size' } as const;
const edDsa = -8;
/** RFC9162_SHA256: the tree of RFC 6962 and RFC 9162. */
const rfc9162 = 1;

/** The signed head of a tree: one for all receipts of a commit. */
export interface SignedReceiptHead {
  readonly size: number;
  readonly protectedBytes: Uint8Array;
  readonly signature: Uint8Array;
}

/** `signer`: the Ed25519 key of the log. The caller ensures that the log has this root, durably. Cost: one signature. */
export function signReceiptHead(
  { origin, size, root, atSeconds }: ReceiptHead,
  signer: NoteSigner,
): SignedReceiptHead {
  const keyId = Buffer.alloc(4);
  keyId.writeUInt32BE(signer.keyId);
  const protectedBytes = writeCbor(
    new Map<CborKey, Cbor>([
      [label.algorithm, edDsa],
      [label.keyId, keyId],
      [label.tree, rfc9162],
      [
        label.claims,
        new Map<CborKey, Cbor>([
          [claim.issuer, origin],
          [claim.issuedAt, atSeconds],
          [claim.size, size],
        ]),
      ],
    ]),
  );
  return { size, protectedBytes, signature: signer.signMessage(signedBytes(protectedBytes, root)) };
}

const signedBytes = (protectedBytes: Uint8Array, root: Uint8Array): Buffer =>
  writeCbor(['Signature1', protectedBytes, Buffer.alloc(0), root]);

/** The receipt of one leaf, or of the first and the last of consecutive leaves. `leaves`: the hashes to list, or null. */
export const receiptBytes = (
  { size, protectedBytes, signature }: SignedReceiptHead,
  { paths, leaves }: Pick<Receipt, 'paths' | 'leaves'>,
): Buffer => {
  const proofs = paths.flatMap((each) =>
    each === undefined ? [] : [writeCbor([size, each.index, each.path])],
  );
  const unprotected = new Map<CborKey, Cbor>([
    [label.proofs, new Map<CborKey, Cbor>([[label.inclusion, proofs]])],
  ]);
  if (leaves !== null) unprotected.set(label.leaves, leaves);
  return writeCbor(new CborTag(sign1Tag, [protectedBytes, unprotected, null, signature]));
};

const malformed = (expected: string): GovError =>
  new GovError('VALIDATION_ERROR', `receipt: expected ${expected}`);

/** Reads a receipt without verifying it. Throws VALIDATION_ERROR. Attacker controlled. */
export function readReceipt(bytes: Uint8Array): Receipt {
  if (bytes.length > limits.receiptBytes) throw malformed(`at most ${limits.receiptBytes} bytes`);
  const item = readCbor(bytes);
  const parts = item instanceof CborTag && item.tag === sign1Tag ? item.value : null;
  if (!Array.isArray(parts) || parts.length !== 4 || parts[2] !== null)
    throw malformed('a COSE_Sign1 without payload');
  const [protectedBytes, unprotected, , signature] = parts as Cbor[];
  if (!(protectedBytes instanceof Uint8Array) || !(signature instanceof Uint8Array))
    throw malformed('protected headers and a signature');
  const headers = mapOf(readCbor(protectedBytes), [label.algorithm, label.keyId, label.tree, label.claims]);
  if (headers.get(label.algorithm) !== edDsa) throw malformed('the algorithm EdDSA, -8');
  if (headers.get(label.tree) !== rfc9162) throw malformed('the tree RFC9162_SHA256, 1');
  const keyId = headers.get(label.keyId);
  if (!(keyId instanceof Uint8Array) || keyId.length !== 4) throw malformed('a key id of 4 bytes');
  const claims = mapOf(headers.get(label.claims), [claim.issuer, claim.issuedAt, claim.size]);
  const origin = claims.get(claim.issuer);
  const [atSeconds, size] = [claims.get(claim.issuedAt), claims.get(claim.size)];
  if (typeof origin !== 'string' || !isCount(atSeconds) || !isCount(size))
    throw malformed('an origin, a time and a size');
  return {
    origin,
    size,
    atSeconds,
    keyId: Buffer.from(keyId).readUInt32BE(),
    ...shownIn(unprotected, size),
    protectedBytes,
    signature,
  };
}

function shownIn(unprotected: Cbor | undefined, size: number): Pick<Receipt, 'paths' | 'leaves'> {
  const lists = unprotected instanceof Map && unprotected.has(label.leaves);
  const shown = mapOf(unprotected, [label.proofs, ...(lists ? [label.leaves] : [])]);
  const proofs = mapOf(shown.get(label.proofs), [label.inclusion]).get(label.inclusion);
  if (!Array.isArray(proofs)) throw malformed('inclusion proofs');
  const [first, last, ...more] = (proofs as Cbor[]).map((proof) => pathOf(proof, size));
  if (first === undefined || more.length > 0) throw malformed('one or two inclusion proofs');
  if (last !== undefined && last.index <= first.index) throw malformed('the first leaf before the last one');
  const leaves = lists ? shown.get(label.leaves) : null;
  if (leaves !== null && !(Array.isArray(leaves) && leaves.every(isHash)))
    throw malformed('leaf hashes of 32 bytes');
  return { paths: last === undefined ? [first] : [first, last], leaves: leaves as Uint8Array[] | null };
}

function mapOf(value: Cbor | undefined, names: readonly CborKey[]): CborMap {
  if (!(value instanceof Map) || value.size !== names.length || !names.every((name) => value.has(name)))
    throw malformed(`a map with the members ${names.join(', ')}`);
  return value;
}

function pathOf(proof: Cbor, size: number): ReceiptPath {
  const value = proof instanceof Uint8Array ? readCbor(proof) : null;
  const [ofSize, index, path, ...more] = Array.isArray(value) ? (value as Cbor[]) : [];
  if (ofSize !== size || !isCount(index) || !Array.isArray(path) || more.length > 0 || !path.every(isHash))
    throw malformed('inclusion proofs of the signed size');
  return { index, path: path as Uint8Array[] };
}

export interface VerifiedReceipt extends Receipt {
  readonly root: Uint8Array;
}

/**
 * Verifies that the log signed a tree with these consecutive leaf hashes, from the first index of the receipt on; null: with
 * those that the receipt lists. Throws
 * VALIDATION_ERROR for a malformed receipt, and for leaves that are not in one tree; NoteError for another log and a
 * signature that no trusted key made. Attacker controlled. Cost: 0.15 ms, and a hash for each leaf.
 */
export function verifyReceipt(
  bytes: Uint8Array,
  leaves: readonly Uint8Array[] | null,
  { origin, keys }: Trust,
): VerifiedReceipt {
  const receipt = readReceipt(bytes);
  if (receipt.origin !== origin)
    throw new NoteError(
      'wrong_origin',
      `receipt: expected the origin ${JSON.stringify(origin)}, got another`,
    );
  const shown = leaves ?? receipt.leaves ?? [];
  if (receipt.leaves !== null && !areEqual(receipt.leaves, shown))
    throw malformed('the leaves that it lists');
  const root = rootOf(receipt, shown);
  if (root === null) throw malformed('paths that lead from the leaves to one root');
  const key = keys.find(({ keyId, algorithm }) => keyId === receipt.keyId && algorithm === 'ed25519');
  if (key === undefined)
    throw new NoteError('no_trusted_signature', 'receipt: signed by no trusted Ed25519 key');
  if (!key.verifyMessage(signedBytes(receipt.protectedBytes, root), receipt.signature))
    throw new NoteError('invalid_signature', 'receipt: the signature is not of this tree');
  return { ...receipt, root };
}

const areEqual = (some: readonly Uint8Array[], others: readonly Uint8Array[]): boolean =>
  Buffer.compare(Buffer.concat(some), Buffer.concat(others)) === 0;

/** The root that the paths give to the leaves; null where they give none, or two. */
export function rootOf({ size, paths }: Receipt, leaves: readonly Uint8Array[]): Uint8Array | null {
  const [first, last] = paths;
  const [leaf] = leaves;
  if (leaf === undefined || leaves.length !== (last === undefined ? 1 : last.index - first.index + 1))
    return null;
  const root = inclusionRoot({ ...first, size, leaf });
  if (last === undefined || root === null) return root;
  const end = leaves.at(-1);
  const other = end === undefined ? null : inclusionRoot({ ...last, size, leaf: end });
  if (other === null || Buffer.compare(root, other) !== 0) return null;
  const between = rangeRoot(size, { first, last, leaves });
  return between !== null && Buffer.compare(root, between) === 0 ? root : null;
}

interface Range {
  readonly first: ReceiptPath;
  readonly last: ReceiptPath;
  readonly leaves: readonly Uint8Array[];
}

/** The root from consecutive leaves, the left siblings of the first and the right siblings of the last. */
function rangeRoot(size: number, { first, last, leaves }: Range): Uint8Array | null {
  const outside = new Map<string, Uint8Array>();
  for (const [side, { index, path }] of [
    ['left', first],
    ['right', last],
  ] as const) {
    for (const [at, { start, end }] of inclusionRanges(index, size).entries()) {
      const hash = path[at];
      if (hash !== undefined && end <= index === (side === 'left')) outside.set(`${start} ${end}`, hash);
    }
  }
  const node = (from: number, to: number): Uint8Array | null => {
    if (to <= first.index || from > last.index) return outside.get(`${from} ${to}`) ?? null;
    if (to - from === 1) return leaves[from - first.index] ?? null;
    const middle = from + splitOf(to - from);
    const [left, right] = [node(from, middle), node(middle, to)];
    return left === null || right === null ? null : nodeHash(left, right);
  };
  return node(0, size);
}
