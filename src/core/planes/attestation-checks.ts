/**
 * Checks the samples of an attestation one by one against the heads that the plane reported.
 * Every member is attacker controlled within its schema. Proven by `test/core/planes/attestation.test.ts`.
 */
import { meteredTypes } from '../../contract/operation.ts';
import type { AttestationProof } from '../../contract/telemetry.ts';
import { decodeBase64 } from '../json/base64.ts';
import type { Checkpoint } from '../note/checkpoint.ts';
import { emptyRoot, inclusionRoot, leafHash, verifyConsistency, verifyInclusion } from '../merkle/tree.ts';
import { type MeterLeaf, meterRefOf, parseMeterRecord, sumOf, type Totals, zeroTotals } from './metering.ts';
import { type Fault, faultAt } from './identity.ts';
import { decodePath, malformedRecord } from './reported-head.ts';

/** The heads of the report of the challenge. */
export interface Heads {
  readonly log: Checkpoint;
  readonly audit: Checkpoint;
}

/** The head of an earlier report. */
export interface EarlierHead {
  readonly size: number;
  /** 32 bytes. */
  readonly root: Uint8Array;
}

type Sample = AttestationProof['samples'][number];
type Cross = AttestationProof['cross'][number];

/** Checks that each unit is first reached by its leaf, which adds its units to the totals of the previous leaf. */
export function checkSamples(samples: readonly Sample[], heads: Heads): Fault | null {
  return firstFault(samples, (sample, at) => checkSample(sample, heads.log, `/samples/${at}`));
}

function checkSample(sample: Sample, head: Checkpoint, pointer: string): Fault | null {
  const { index, record, inclusion, previous } = sample;
  const leaf = leafOf({ index, record, inclusion }, head, membersOf(pointer));
  if ('fault' in leaf) return leaf;
  let before: Totals = zeroTotals;
  if (index === 0) {
    if (previous !== undefined)
      return faultAt(
        'inclusion_invalid',
        `${pointer}/previous`,
        'expected nothing before leaf 0, got a leaf',
      );
  } else {
    if (previous === undefined)
      return faultAt('inclusion_invalid', `${pointer}/previous`, `expected leaf ${index - 1}, got nothing`);
    const found = leafOf({ index: index - 1, ...previous }, head, membersOf(`${pointer}/previous`));
    if ('fault' in found) return found;
    before = found.totals;
  }
  return checkStep(leaf, before, { unit: sample.unit, pointer });
}

interface ProofLeaf {
  readonly index: number;
  readonly record: string;
  readonly inclusion: readonly string[];
}

interface Pointers {
  readonly record: string;
  readonly inclusion: string;
}

const membersOf = (pointer: string): Pointers => ({
  record: `${pointer}/record`,
  inclusion: `${pointer}/inclusion`,
});

/** Returns the leaf of a record that is in the tree. */
function leafOf({ index, record, inclusion }: ProofLeaf, head: Checkpoint, at: Pointers): MeterLeaf | Fault {
  if (!isIncluded(inclusion, { index, leaf: leafHash(record), head }))
    return notIncluded(at.inclusion, index, head);
  return parseMeterRecord(record) ?? malformedRecord(at.record);
}

function checkStep(
  { op, units, totals }: MeterLeaf,
  before: Totals,
  { unit, pointer }: { unit: number; pointer: string },
): Fault | null {
  for (const type of meteredTypes) {
    if (totals[type] >= before[type]) continue;
    const detail = `expected ${before[type]} ${type} or more, as in the previous leaf, got ${totals[type]}`;
    return faultAt('totals_not_monotonic', `${pointer}/record`, detail);
  }
  const [after, reached] = [sumOf(before), sumOf(totals)];
  if (unit <= after || unit > reached) {
    const detail = `expected the leaf that first reaches unit ${unit}, got one with units ${after + 1} to ${reached}`;
    return faultAt('sample_set_mismatch', `${pointer}/index`, detail);
  }
  if (op === 'none') {
    const detail = 'expected an op of a metered type where the totals increase, got none';
    return faultAt('op_type_invalid', `${pointer}/record`, detail);
  }
  if (totals[op] - before[op] === units && reached - after === units) return null;
  const rises = meteredTypes.map((type) => `${totals[type] - before[type]} ${type}`).join(', ');
  const detail = `expected totals that increase by ${units} ${op}, the units of the leaf, got ${rises}`;
  return faultAt('totals_sum_mismatch', `${pointer}/record`, detail);
}

/** Checks that the reported tree extends every earlier one; every tree extends the empty one. */
export function checkConsistency(
  shown: AttestationProof['consistency'],
  { log }: Heads,
  earlier: readonly EarlierHead[],
): Fault | null {
  return firstFault(shown, ({ fromSize, path }, at) => {
    const firsts =
      fromSize === 0 ? [{ size: 0, root: emptyRoot }] : earlier.filter(({ size }) => size === fromSize);
    if (firsts.length === 0) throw new Error(`expected an earlier head of ${fromSize} leaves, got none`);
    const hashes = decodePath(path);
    const extended = (firstRoot: Uint8Array): boolean =>
      hashes !== null &&
      (fromSize === 0 ? hashes.length === 0 : consistent({ fromSize, firstRoot, log, hashes }));
    if (firsts.every(({ root }) => extended(root))) return null;
    const detail = `expected a path from the tree of ${fromSize} leaves, as reported, to the tree of ${log.size}, got another`;
    return faultAt('consistency_invalid', `/consistency/${at}/path`, detail);
  });
}

const consistent = (claim: {
  fromSize: number;
  firstRoot: Uint8Array;
  log: Checkpoint;
  hashes: Buffer[];
}): boolean =>
  verifyConsistency({
    first: claim.fromSize,
    second: claim.log.size,
    firstRoot: claim.firstRoot,
    secondRoot: claim.log.root,
    path: claim.hashes,
  });

/** Checks that each audit leaf is in the audit log and in the batch of a metering leaf, which counts all its events. */
export function checkCross(cross: readonly Cross[], heads: Heads): Fault | null {
  return firstFault(cross, (each, at) => checkCovered(each, heads, `/cross/${at}`));
}

function checkCovered(cross: Cross, heads: Heads, pointer: string): Fault | null {
  const { auditIndex, firstAuditIndex, count } = cross;
  const leaf = decodeBase64(cross.auditLeafHash);
  if (leaf === null || !isIncluded(cross.auditInclusion, { index: auditIndex, leaf, head: heads.audit }))
    return notIncluded(`${pointer}/auditInclusion`, auditIndex, heads.audit);
  const meter = leafOf(
    { index: cross.meterIndex, record: cross.meterRecord, inclusion: cross.meterInclusion },
    heads.log,
    { record: `${pointer}/meterRecord`, inclusion: `${pointer}/meterInclusion` },
  );
  if ('fault' in meter) return meter;
  const fault = (detail: string, member: string): Fault =>
    faultAt('cross_reference_invalid', `${pointer}/${member}`, detail);
  if (auditIndex < firstAuditIndex || auditIndex >= firstAuditIndex + count) {
    const detail = `expected a batch with audit leaf ${auditIndex}, got ${count} from ${firstAuditIndex}`;
    return fault(detail, 'firstAuditIndex');
  }
  if (firstAuditIndex + count > heads.audit.size)
    return fault(
      `expected a batch within ${heads.audit.size} leaves, got ${count} from ${firstAuditIndex}`,
      'count',
    );
  const path = decodePath(cross.batchInclusion);
  const root = path && inclusionRoot({ index: auditIndex - firstAuditIndex, size: count, leaf, path });
  if (root === null)
    return fault(`expected a path in a tree of ${count} leaves, got another`, 'batchInclusion');
  const nonce = Buffer.from(cross.refNonce, 'base64url');
  const same =
    nonce.toString('base64url') === cross.refNonce &&
    meterRefOf({ nonce, firstIndex: firstAuditIndex, count, root }) === meter.ref;
  if (!same)
    return fault('expected the ref of the metering leaf over this batch, got another', 'meterRecord');
  // One unit of another type can append several leaves; each event is one leaf.
  if (meter.op !== 'audit_event' || meter.units === count) return null;
  const detail = `expected ${count} units of audit_event, one for each leaf of the batch, got ${meter.units}`;
  return faultAt('totals_sum_mismatch', `${pointer}/meterRecord`, detail);
}

interface ClaimedLeaf {
  readonly index: number;
  readonly leaf: Uint8Array;
  readonly head: Checkpoint;
}

function isIncluded(inclusion: readonly string[], { index, leaf, head }: ClaimedLeaf): boolean {
  const path = decodePath(inclusion);
  return path !== null && verifyInclusion({ index, size: head.size, leaf, path, root: head.root });
}

const notIncluded = (pointer: string, index: number, { size }: Checkpoint): Fault =>
  faultAt(
    'inclusion_invalid',
    pointer,
    `expected a path from leaf ${index} to the root of ${size} leaves, got another`,
  );

/** Returns the first fault of the items. */
function firstFault<Item>(
  items: readonly Item[],
  check: (item: Item, at: number) => Fault | null,
): Fault | null {
  for (const [at, item] of items.entries()) {
    const fault = check(item, at);
    if (fault !== null) return fault;
  }
  return null;
}
