/**
 * Receipts (RFC 9942, `src/core/receipt/cose.ts`) of the leaves that a call appends: the header `Gov-Receipt` of its answer.
 * The order is COMMIT, remember the head, sign, answer. So a crash before the signature leaves stored leaves without a
 * receipt, and never a receipt of leaves that are not stored. One signature serves all calls of a commit.
 *
 * `append` notes the leaves in the context of the call (`AsyncLocalStorage`), so that no handler has to pass them on.
 * Proven by `test/service/log/receipts.engines.test.ts` and the `receipts-` tests beside it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { limits } from '../../contract/limits.ts';
import { hashBytes } from '../../core/merkle/tree.ts';
import {
  receiptBytes,
  signReceiptHead,
  type ReceiptPath,
  type SignedReceiptHead,
} from '../../core/receipt/cose.ts';
import type { LeafRange, Project, Store, StoredLeaves, StoredTree } from '../../store/port/store.ts';
import type { NoteSigner } from '../../core/note/key.ts';
import type { Log } from '../call/log.ts';
import { openOwn, type Checkpoints } from './checkpoints.ts';
import { inclusionAt, leafHashesAt } from './tree-proofs.ts';

/** When a log gives receipts: with the answer of each append, later at a checkpoint, or never. */
export const receiptChoices = ['commit', 'checkpoint', 'off'] as const;
export type ReceiptChoice = (typeof receiptChoices)[number];

/** The services that make receipts. */
interface ReceiptServices {
  readonly store: Store;
  readonly checkpoints: Checkpoints;
  readonly receipts: ReceiptChoice;
  readonly logSigners: (origin: string) => readonly NoteSigner[];
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly log: Log;
}

/** The leaves of a call: of its own commit, or stored by an earlier request. */
type CallLeaves = StoredLeaves | LeafRange;

interface ReceiptedCall {
  readonly projectId: string;
  leaves: CallLeaves | null;
}

const calls = new AsyncLocalStorage<ReceiptedCall>();

/** Whether the answer of the current call shall have a receipt of its leaves in the log of this project. */
export const wantsReceipt = (projectId: string): boolean => calls.getStore()?.projectId === projectId;

/** Notes the leaves that the answer of the current call is about. The first ones count: later appends are side effects. */
export function noteLeaves(projectId: string, leaves: CallLeaves | null | undefined): void {
  const call = calls.getStore();
  if (call?.projectId === projectId) call.leaves ??= leaves ?? null;
}

interface Answer {
  readonly headers: Readonly<Record<string, string>>;
}

/** Does the work of a call of this project, and adds the header to its answer. A receipt that fails is left out. */
export async function withReceipt<Given extends Answer>(
  services: ReceiptServices,
  project: Project,
  work: () => Promise<Given>,
): Promise<Given> {
  if (services.receipts !== 'commit') return work();
  const call: ReceiptedCall = { projectId: project.projectId, leaves: null };
  const answer = await calls.run(call, work);
  const { leaves } = call;
  if (leaves === null) return answer;
  // the keys of the log change: its tree may have ended those that this process still holds
  await services.checkpoints.paused(project.projectId);
  try {
    const receipt =
      'tree' in leaves ? signed(services, project, leaves) : await receiptAt(services, project, leaves);
    return { ...answer, headers: { ...answer.headers, 'gov-receipt': receipt.toString('base64url') } };
  } catch (error) {
    services.log.error({ err: error, projectId: project.projectId }, 'a receipt could not be signed');
    return answer;
  }
}

/** The signed heads of commits whose requests are answered now. */
const signedHeads = new WeakMap<StoredTree, SignedReceiptHead>();

function signed(
  services: ReceiptServices,
  project: Project,
  { tree, first, last, paths, hashes }: StoredLeaves,
): Buffer {
  const head = signedHeads.get(tree) ?? signHead(services, project, tree);
  signedHeads.set(tree, head);
  const [one, other] = paths.map(split);
  return receiptBytes(head, {
    paths: pair({ index: first, path: one ?? [] }, other === undefined ? null : { index: last, path: other }),
    leaves: hashes === null ? null : split(hashes),
  });
}

function signHead(
  { logSigners, now }: ReceiptServices,
  { auditOrigin: origin }: Project,
  tree: StoredTree,
): SignedReceiptHead {
  const signer = logSigners(origin).find(({ algorithm }) => algorithm === 'ed25519');
  if (signer === undefined) throw new Error(`expected an Ed25519 key of ${origin}, got none`);
  return signReceiptHead({ origin, ...tree, atSeconds: Math.floor(now() / 1000) }, signer);
}

const pair = (first: ReceiptPath, last: ReceiptPath | null): readonly [ReceiptPath, ReceiptPath?] =>
  last === null ? [first] : [first, last];

function split(hashes: string): Uint8Array[] {
  const bytes = Buffer.from(hashes, 'latin1');
  return Array.from({ length: bytes.length / hashBytes }, (_, at) =>
    bytes.subarray(at * hashBytes, (at + 1) * hashBytes),
  );
}

/**
 * The receipt of stored leaves under the newest checkpoint; signs one if none covers them. RangeError for leaves that the
 * log does not have. Cost: the tiles of two paths, and a signature.
 */
export async function receiptAt(
  services: ReceiptServices,
  project: Project,
  { first, last }: LeafRange,
): Promise<Buffer> {
  const { store, checkpoints } = services;
  const { projectId } = project;
  const newest = await store.newestCheckpoint(projectId, 'audit');
  let checkpoint = newest === null ? null : openOwn(newest);
  if (checkpoint === null || checkpoint.size <= last) ({ checkpoint } = await checkpoints.sign(projectId));
  const { size, root } = checkpoint;
  const pathOf = async (index: number): Promise<ReceiptPath> => ({
    index,
    path: await inclusionAt(store, projectId, { index, size }),
  });
  return receiptBytes(signHead(services, project, { size, root }), {
    paths: pair(await pathOf(first), last === first ? null : await pathOf(last)),
    leaves:
      last - first < limits.receiptLeaves
        ? await leafHashesAt(store, projectId, { first, last, size })
        : null,
  });
}
