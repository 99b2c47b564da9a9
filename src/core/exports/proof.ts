/**
 * The proof of an export: its leaves are in a log whose checkpoint a trusted key signed, the log contains the request for
 * this export, and leaves of the log erased the fields that rows lack. Attacker controlled; nothing here throws.
 * Proven by `test/core/exports/artifact.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import {
  type Checkpoint,
  openTrustedCheckpoint,
  unverifiedHeadOrNull,
  type Trust,
} from '../note/checkpoint.ts';
import { readErasure } from '../decided/erasure.ts';
import { readPrune } from '../decided/prune.ts';
import { storedDigests } from '../events/disclosure.ts';
import type { ExportHead, ExportProof, ManifestOfRows, ProvedLeaf } from './artifact.ts';
import type { ErasedField, RowCheck, Withdrawal } from './check-rows.ts';
import type { ExportChecks } from './checks.ts';
import { judgeAnswer } from './completeness.ts';
import { equalHash } from '../hash.ts';
import { canonicalize, type Json, type JsonObject } from '../json/parse.ts';
import { leafHash, verifyConsistency, verifyInclusion } from '../merkle/tree.ts';
import { missingNotes, signedBy, signedByText, unsigned, type SignatureFacts } from '../note/signed-by.ts';
import { derivedFrom, Fault } from '../proofs/completeness.ts';
import type { DerivedLog, IndexDerivation } from '../proofs/strength.ts';
import { signatureCode } from '../proofs/verdict.ts';
import { openEvent, systemRun } from '../events/record.ts';
import { recordDigests, strictObject } from '../events/run-entry.ts';

const exportCreatedType = 'export.created';

export interface ReadExport {
  readonly head: ExportHead & { readonly asked: JsonObject };
  readonly rows: RowCheck;
  readonly manifest: ManifestOfRows;
  readonly proof: ExportProof;
  readonly trust: Trust | null;
  readonly derived: DerivedLog | null;
}

export interface ProvedExport {
  readonly exportId: string | null;
  readonly requestedBy: string | null;
  /** Origin of the log of a checkpoint that a trusted key signed; else null. */
  readonly origin: string | null;
  readonly signed: SignatureFacts;
  readonly deriving: IndexDerivation;
  readonly notes: readonly string[];
}

/** Makes all checks except those of the format. */
export function checkProof(read: ReadExport, checks: ExportChecks): ProvedExport {
  const { rows, manifest, proof, trust } = read;
  checkManifest(read, checks);
  const { checkpoint, witnesses, cosigners, signed } = openHead(proof.checkpoint, trust, checks);
  checkConsistency(manifest, proof, { checkpoint, checks });
  const quorum = trust?.quorum ?? 0;
  if (witnesses < quorum) {
    checks.fail('witnesses', 'WITNESS_QUORUM_NOT_MET', `expected ${quorum} witnesses, got ${witnesses}`);
  } else if (witnesses === 0) checks.skip('witnesses', 'the trust requires no witness');
  else checks.pass('witnesses', `${witnesses} cosigned`);
  const asked = checkRequest(read, checkpoint, checks);
  const unshown = checkErasures(rows, proof, { checkpoint, checks });
  const records = checkCompleteness(read, checkpoint, checks);
  return {
    ...asked,
    origin: signed.signatures.length === 0 ? null : (checkpoint?.origin ?? null),
    signed,
    deriving: { cosigners, records },
    notes: [
      ...missingNotes(signed),
      ...notesOf(read, { witnesses, unshown, isComplete: checks.passed('completeness') }),
    ],
  };
}

/** Step 3: the manifest has the numbers of these rows, and their leaves are in its tree. */
function checkManifest({ rows, manifest, proof }: ReadExport, checks: ExportChecks): void {
  const { treeSize, rootHash, firstSequence, lastSequence, rowCount } = manifest;
  const counts = rowCount === rows.count && firstSequence === rows.first && lastSequence === rows.last;
  if (!counts) {
    const detail = `expected ${rows.count} rows, leaves ${rows.first} to ${rows.last}, got ${rowCount} rows, leaves ${firstSequence} to ${lastSequence}`;
    checks.fail('manifest', 'MANIFEST_MISMATCH', detail);
  }
  const root = rows.root(treeSize, proof.gap);
  if (root === null || !equalHash(root, rootHash)) {
    checks.fail('manifest', 'NOT_INCLUDED', 'the leaves of the rows do not have the root of the manifest');
  }
  checks.pass('rows', `${rowCount} rows match their leaves`);
  checks.pass('manifest', `all in the tree of ${treeSize} leaves`);
}

/** Without these, the rows and the index are anybody's word. */
const anchors = ['rows', 'manifest', 'checkpoint_signatures', 'consistency', 'request'] as const;

/** Step 7: the index of the log has no more rows of the filters. Returns from how many records the caller derived it. */
function checkCompleteness(
  { head, rows, manifest, proof, derived }: ReadExport,
  checkpoint: Checkpoint | null,
  checks: ExportChecks,
): number | null {
  const { completeness: answer } = proof;
  const { prunedBelow, treeSize } = manifest;
  const skip = (why: string): void => checks.skip('completeness', `not shown: ${why}`);
  if (rows.lists === null) skip(`the index of a log has no list of ${head.resource} with these filters`);
  else if (answer === undefined && prunedBelow !== undefined)
    skip(`events below leaf ${prunedBelow} were pruned, and the file has no row of them`);
  else if (answer === undefined) skip('the file has no answer of the index of the log');
  else if (checkpoint === null || !anchors.every((id) => checks.passed(id)))
    skip('the checks before it did not pass');
  else {
    const judged = { answer, rows: rows.lists, asked: head.asked, treeSize, tree: checkpoint };
    const records = derivedFrom(answer.index, derived);
    const fault = records instanceof Fault ? records : judgeAnswer(judged);
    if (fault !== null) checks.fail('completeness', fault.code, fault.detail);
    else checks.pass('completeness', `${rows.count} of ${rows.count} rows below leaf ${treeSize}`);
    return records instanceof Fault ? null : records;
  }
  return null;
}

interface Head {
  readonly checkpoint: Checkpoint | null;
  readonly witnesses: number;
  readonly cosigners: IndexDerivation['cosigners'];
  readonly signed: SignatureFacts;
}

/** Step 4: opens the checkpoint. One with an invalid signature is still read, to find further errors. */
function openHead(note: string, trust: Trust | null, checks: ExportChecks): Head {
  const unverified = (): Head => ({
    checkpoint: unverifiedHeadOrNull(note),
    witnesses: 0,
    cosigners: null,
    signed: unsigned,
  });
  if (trust === null || trust.keys.length === 0) {
    checks.fail('checkpoint_signatures', 'NO_TRUSTED_KEY', 'expected a key or a trust file, got none');
    return unverified();
  }
  try {
    const opened = openTrustedCheckpoint(note, trust);
    const { checkpoint, witnessedBy, index: cosigners } = opened;
    const signed = signedBy([opened]);
    checks.pass('checkpoint_signatures', `of ${checkpoint.size} leaves, by ${signedByText(signed)}`);
    return { checkpoint, witnesses: witnessedBy.length, cosigners, signed };
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    checks.fail('checkpoint_signatures', signatureCode(error), error.message);
    return unverified();
  }
}

interface Against {
  readonly checkpoint: Checkpoint | null;
  readonly checks: ExportChecks;
}

function checkConsistency(
  manifest: ManifestOfRows,
  proof: ExportProof,
  { checkpoint, checks }: Against,
): void {
  const { treeSize, rootHash } = manifest;
  const isExtended =
    checkpoint !== null &&
    treeSize > 0 &&
    treeSize <= checkpoint.size &&
    verifyConsistency({
      first: treeSize,
      second: checkpoint.size,
      firstRoot: rootHash,
      secondRoot: checkpoint.root,
      path: proof.consistency,
    });
  if (isExtended) checks.pass('consistency', `${treeSize} to ${checkpoint.size} leaves`);
  else
    checks.fail(
      'consistency',
      'NOT_CONSISTENT',
      'the consistency proof from the tree of the rows to the signed tree is invalid',
    );
}

const isIncluded = ({ index, record, inclusion }: ProvedLeaf, checkpoint: Checkpoint | null): boolean =>
  checkpoint !== null &&
  verifyInclusion({
    index,
    size: checkpoint.size,
    leaf: leafHash(record),
    path: inclusion,
    root: checkpoint.root,
  });

/** Step 5: the log has the request for this export, with its time and its requester. */
function checkRequest(
  { head, manifest, proof }: ReadExport,
  checkpoint: Checkpoint | null,
  checks: ExportChecks,
): Pick<ProvedExport, 'exportId' | 'requestedBy'> {
  const { created } = proof;
  const nothing = { exportId: null, requestedBy: null };
  if (created.index < manifest.treeSize || !isIncluded(created, checkpoint)) {
    checks.fail(
      'request',
      'NOT_INCLUDED',
      `leaf ${created.index} has no valid inclusion proof in the signed tree`,
    );
    return nothing;
  }
  const event = openWhole(created);
  if (event === null) {
    checks.fail(
      'request',
      'EXPORT_MISMATCH',
      `leaf ${created.index} is not an event that requests an export`,
    );
    return nothing;
  }
  const exportId = text(event.metadata['exportId']);
  const asked = {
    exportId,
    resource: head.resource,
    format: 'json',
    filters: head.asked,
    includeProof: true,
    treeSize: manifest.treeSize,
  };
  const isThis =
    exportId !== null &&
    event.runId === systemRun &&
    event.eventType === exportCreatedType &&
    event.timestamp === head.generatedAt &&
    canonicalize(event.metadata) === canonicalize(asked);
  if (!isThis) {
    checks.fail('request', 'EXPORT_MISMATCH', `leaf ${created.index} requests another export`);
    return nothing;
  }
  checks.pass('request', `leaf ${created.index}, ${exportId}`);
  return { exportId, requestedBy: event.actor };
}

interface Request {
  readonly runId: string;
  readonly eventType: string;
  readonly timestamp: string;
  readonly actor: string | null;
  readonly metadata: JsonObject;
}

/** Returns the event if all of it is disclosed, else null. */
function openWhole({ index, record, disclosures }: ExportProof['created']): Request | null {
  const digests = recordDigests(record);
  const opened = storedDigests(disclosures);
  if (digests === null || opened === null || opened.length !== digests.length) return null;
  const unopened = new Set(digests);
  if (!opened.every((digest) => unopened.delete(digest))) return null;
  try {
    const { runId, eventType, timestamp, actor, metadata } = openEvent(index, record, disclosures);
    const id = typeof actor === 'object' ? text((actor as JsonObject)['id']) : text(actor);
    // The metadata of an event is JSON.
    return { runId, eventType, timestamp, actor: id, metadata: metadata as JsonObject };
  } catch {
    return null; // the leaf commits to these fields, but they are not an event
  }
}

const text = (value: Json | undefined): string | null => (typeof value === 'string' ? value : null);

/** Step 6. Returns the number of withdrawn results for which only the author of the file vouches. */
function checkErasures(
  rows: RowCheck,
  { erasures: enclosed, withdrawn }: Pick<ExportProof, 'erasures' | 'withdrawn'>,
  { checkpoint, checks }: Against,
): number {
  const { disclosed, erased, missing } = rows.counts;
  if (missing > 0) {
    checks.fail(
      'disclosures',
      'DISCLOSURE_MISSING',
      `${missing} committed fields are neither disclosed nor erased`,
    );
  }
  const unproved = new Map(rows.erased);
  for (const { by } of rows.withdrawn) if (!unproved.has(by)) unproved.set(by, []);
  for (const leaf of enclosed) {
    const fields = unproved.get(leaf.index);
    unproved.delete(leaf.index);
    if (fields === undefined || !isIncluded(leaf, checkpoint) || !namesAll(leaf.record, fields)) {
      const detail = `leaf ${leaf.index} is not proved to be the erasure that rows name`;
      checks.fail('disclosures', 'NOT_INCLUDED', detail);
    }
  }
  const [first] = unproved.keys();
  if (first !== undefined) {
    checks.fail(
      'disclosures',
      'DISCLOSURE_MISSING',
      `expected the erasure of leaf ${first} in the file, got none`,
    );
  }
  const unshown = checkWithdrawn(rows.withdrawn, { erasures: enclosed, withdrawn }, { checkpoint, checks });
  checks.pass('disclosures', `${disclosed} disclosed${erased === 0 ? '' : `, ${erased} erased`}`);
  return unshown;
}

function namesAll(record: string, fields: readonly ErasedField[]): boolean {
  const erasure = readErasure(record);
  const named = new Map(erasure?.targets.map(({ index, digests }) => [index, new Set(digests)]));
  return fields.every(({ index, digest }) => named.get(index)?.has(digest) === true);
}

/**
 * An erasure withdraws a missing result if it names a leaf of the same run, which the file contains too. A pruning leaves
 * no such leaf, and the erased leaf of a comparison may be of the other run, which the log does not name: those results
 * are counted for a note.
 */
function checkWithdrawn(
  withdrawals: readonly Withdrawal[],
  { erasures, withdrawn }: Pick<ExportProof, 'erasures' | 'withdrawn'>,
  { checkpoint, checks }: Against,
): number {
  const named = new Map<number, ReadonlySet<number> | 'pruning'>();
  for (const { index, record } of erasures) {
    const erasure = readErasure(record);
    if (erasure !== null) named.set(index, new Set(erasure.targets.map((target) => target.index)));
    else if (readPrune(record) !== null) named.set(index, 'pruning');
  }
  const runs = new Map<number, string | null>();
  for (const leaf of withdrawn) {
    if (isIncluded(leaf, checkpoint)) runs.set(leaf.index, runOf(leaf.record));
    else
      checks.fail(
        'disclosures',
        'NOT_INCLUDED',
        `leaf ${leaf.index} has no valid inclusion proof in the signed tree`,
      );
  }
  const runsBy = new Map<number, ReadonlySet<string | null>>();
  for (const [by, targets] of named) {
    const own = targets === 'pruning' ? [] : [...runs].filter(([leaf]) => targets.has(leaf));
    runsBy.set(by, new Set(own.map(([, run]) => run)));
  }
  let unshown = 0;
  for (const { index, by, runId, kind } of withdrawals) {
    const taken = runsBy.get(by);
    if (by > index && taken?.has(runId) === true) continue;
    const isUnshown = named.get(by) === 'pruning' || (kind === 'run' && (taken?.size ?? 0) > 0);
    if (by > index && isUnshown) unshown += 1;
    else {
      const detail = `leaf ${by} is not proved to have withdrawn the result of the replay of leaf ${index}`;
      checks.fail('disclosures', 'DISCLOSURE_MISSING', detail);
    }
  }
  return unshown;
}

const runOf = (record: string): string | null => text(strictObject(record)?.['runId']);

function notesOf(
  { rows, manifest }: ReadExport,
  {
    witnesses,
    unshown,
    isComplete,
  }: { readonly witnesses: number; readonly unshown: number; readonly isComplete: boolean },
): string[] {
  const others = manifest.treeSize - rows.count;
  return [
    ...(others > 0 && !isComplete
      ? [
          `NOT PROVED COMPLETE: each row of the file is in the log, but the file cannot show whether the other ${others} of its ${manifest.treeSize} leaves contain further matching rows`,
        ]
      : []),
    ...(manifest.prunedBelow === undefined
      ? []
      : [
          `PRUNED: events below leaf ${manifest.prunedBelow} were pruned before this export; the archives of the prunings have them`,
        ]),
    ...(rows.withdrawn.length > 0
      ? [
          `WITHDRAWN: ${rows.withdrawn.length} results of replays are withheld, because leaves of the log erased values that they contain`,
        ]
      : []),
    ...(unshown > 0
      ? [
          `NOT PROVED WITHDRAWN: only the author of this file states that a pruning, or an erasure in the compared run, withdrew ${unshown} of them`,
        ]
      : []),
    ...(witnesses === 0
      ? ['UNWITNESSED: no trusted witness cosigned; the owner of the log key could show another history']
      : []),
  ];
}
