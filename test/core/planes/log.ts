/**
 * A data plane in memory that reports and answers as the real one does, from fixed seeds, and can be made to cheat. Its
 * trees keep every complete subtree and follow RFC 6962 §2.1 for the rest, apart from src/core/merkle/tree.ts and src/core/merkle/tile.ts.
 */
import { createHash } from 'node:crypto';
import { meteredTypes } from '../../../src/contract/operation.ts';
import {
  attestSchema,
  usageSchema,
  type AttestationProof,
  type Challenge,
  type UsageReport,
} from '../../../src/contract/telemetry.ts';
import { attestationText } from '../../../src/core/planes/attestation.ts';
import { challengeId, crossIndexes, sampledUnits } from '../../../src/core/planes/challenge.ts';
import { signCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { canonicalize, type Json } from '../../../src/core/json/parse.ts';
import {
  addUnits,
  meterRecord,
  meterRef,
  sumOf,
  zeroTotals,
  type MeterOp,
  type Totals,
} from '../../../src/core/planes/metering.ts';
import { ed25519Signer, signNote } from '../../../src/core/note/signed.ts';
import { formatTimestamp } from '../../../src/core/time.ts';
import { type PlaneIdentity, reportHash } from '../../../src/core/planes/usage-report.ts';
import { naiveLeaf } from '../merkle/naive.ts';
import { privateKey, seeded } from '../proofs/log.ts';

const node = (left: Buffer, right: Buffer): Buffer =>
  createHash('sha256').update('\x01').update(left).update(right).digest();

export class Tree {
  readonly #levels: Buffer[][] = [[]];

  get size(): number {
    return this.#levels[0]!.length;
  }

  append(leaf: Buffer): void {
    this.#levels[0]!.push(leaf);
    for (let height = 0; this.#levels[height]!.length % 2 === 0; height++) {
      const [left, right] = this.#levels[height]!.slice(-2);
      (this.#levels[height + 1] ??= []).push(node(left!, right!));
    }
  }

  leaf(index: number): Buffer {
    return this.#levels[0]![index]!;
  }

  root(size = this.size): Buffer {
    return size === 0 ? createHash('sha256').digest() : this.#range(0, size);
  }

  /** PATH(index, D[size]). */
  path(index: number, size = this.size): string[] {
    const hashes: Buffer[] = [];
    let [start, end] = [0, size];
    while (end - start > 1) {
      const middle = start + split(end - start);
      hashes.push(index < middle ? this.#range(middle, end) : this.#range(start, middle));
      if (index < middle) end = middle;
      else start = middle;
    }
    return hashes.toReversed().map(text);
  }

  /** PROOF(first, D[size]). */
  consistency(first: number, size = this.size): string[] {
    const hashes: Buffer[] = [];
    let [start, end] = [0, size];
    while (end !== first) {
      const middle = start + split(end - start);
      hashes.push(first <= middle ? this.#range(middle, end) : this.#range(start, middle));
      if (first <= middle) end = middle;
      else start = middle;
    }
    return [...(start === 0 ? [] : [this.#range(start, end)]), ...hashes.toReversed()].map(text);
  }

  #range(start: number, end: number): Buffer {
    const height = Math.log2(end - start);
    if (Number.isInteger(height)) return this.#levels[height]![start / 2 ** height]!;
    const middle = start + split(end - start);
    return node(this.#range(start, middle), this.#range(middle, end));
  }
}

/** The largest power of two below `size`. */
const split = (size: number): number => 2 ** Math.ceil(Math.log2(size) - 1);
const text = (hash: Buffer): string => hash.toString('base64');

export const origin = 'gov.local/prj_00000000000000000000000001/metering';
export const auditOrigin = 'gov.local/prj_00000000000000000000000001/audit';
const planeKey = privateKey('plane');
export const signerOf = (name: string) => ed25519Signer(name, planeKey);
export const plane: PlaneIdentity = {
  origin,
  auditOrigin,
  verifierKey: signerOf(`${origin}/0`).verifierKey,
  auditVerifierKey: signerOf(auditOrigin).verifierKey,
};

const id = (prefix: string, n: number): string => `${prefix}_${String(n).padStart(26, '0')}`;
const startMs = Date.UTC(2026, 10, 20, 9);

interface Meter {
  readonly record: string;
  readonly totals: Totals;
  readonly atMs: number;
  readonly firstIndex: number;
  readonly count: number;
  readonly nonce: Buffer;
}

export interface Operation {
  readonly op: MeterOp;
  readonly units: number;
  /** Audit leaves that it appends. */
  readonly leaves: number;
  /** A cheat: what the totals rise by, where it is not `op`. */
  readonly counted?: MeterOp;
  /** A cheat: the totals after it. */
  readonly totals?: Totals;
  /** A cheat: no leaf of the metering log covers it. */
  readonly dropped?: boolean;
}

export class TestPlane {
  readonly audit = new Tree();
  readonly meter = new Tree();
  readonly leaves: Meter[] = [];
  readonly reports: UsageReport[] = [];
  nowMs = startMs;
  readonly epoch: number;
  readonly #seed: string;

  constructor({
    seed = 'log',
    epoch = 0,
    empty = false,
  }: { seed?: string; epoch?: number; empty?: boolean } = {}) {
    this.#seed = seed;
    this.epoch = epoch;
    if (!empty) this.append({ op: 'none', units: 0, leaves: 1 });
  }

  get totals(): Totals {
    return this.leaves.at(-1)?.totals ?? zeroTotals;
  }

  append(operation: Operation): this {
    const { op, units, leaves, counted = op } = operation;
    const firstIndex = this.audit.size;
    const hashes = Array.from({ length: leaves }, (_, at) =>
      naiveLeaf(seeded(`${this.#seed} ${firstIndex + at}`, 8)),
    );
    for (const hash of hashes) this.audit.append(hash);
    if (operation.dropped === true) return this;
    const nonce = seeded(`nonce ${this.leaves.length}`, 16);
    const ref = meterRef(nonce, firstIndex, hashes);
    const totals = operation.totals ?? addUnits(this.totals, counted, units);
    const record = meterRecord({
      op,
      units: op === 'none' ? 0 : units,
      at: formatTimestamp(this.nowMs),
      ref,
      totals,
    });
    this.leaves.push({ record, totals, atMs: this.nowMs, firstIndex, count: leaves, nonce });
    this.meter.append(naiveLeaf(Buffer.from(record)));
    this.nowMs += 1000;
    return this;
  }

  /** Many operations of all types, as `seed` says. */
  work(operations: number): this {
    const random = seeded(`${this.#seed} work ${this.leaves.length}`, operations);
    for (const byte of random) {
      const op = ([...meteredTypes, 'audit_event', 'none'] as const)[byte % 6]!;
      const leaves = op === 'audit_event' ? 1 + (byte % 7) : 1;
      this.append({ op, units: op === 'none' ? 0 : leaves, leaves });
    }
    return this;
  }

  get origin(): string {
    return `${origin}/${this.epoch}`;
  }

  get auditOrigin(): string {
    return this.epoch === 0 ? auditOrigin : `${auditOrigin}/${this.epoch}`;
  }

  checkpoint(tree: Tree, name: string, size = tree.size): string {
    return signCheckpoint({ origin: name, size, root: tree.root(size), extensions: [] }, [signerOf(name)]);
  }

  /** The next report, over all that was appended. */
  report(): UsageReport {
    const previous = this.reports.at(-1);
    const [fromSize, treeSize] = [previous?.log.treeSize ?? 0, this.meter.size];
    const last = this.leaves.at(-1);
    const earlier = previous?.totals ?? zeroTotals;
    const report: UsageReport = {
      schemaVersion: usageSchema,
      reportId: id('urp', this.reports.length + 1),
      dataPlaneId: id('dpl', 1),
      projectId: id('prj', 1),
      environment: 'production',
      sequence: this.reports.length + 1,
      periodStart: previous?.periodEnd ?? formatTimestamp(startMs),
      periodEnd: formatTimestamp(this.nowMs),
      operations: Object.fromEntries(
        meteredTypes.map((type) => [type, this.totals[type] - earlier[type]]),
      ) as UsageReport['operations'],
      totals: { ...this.totals },
      unmetered: this.leaves.slice(fromSize).filter(({ record }) => record.includes('"op":"none"')).length,
      log: {
        origin: this.origin,
        epoch: this.epoch,
        fromSize,
        treeSize,
        checkpoint: this.checkpoint(this.meter, this.origin),
        consistency: fromSize === 0 ? [] : this.meter.consistency(fromSize),
      },
      lastLeaf:
        last === undefined
          ? null
          : { index: treeSize - 1, record: last.record, inclusion: this.meter.path(treeSize - 1) },
      auditLog: { treeSize: this.audit.size, checkpoint: this.checkpoint(this.audit, this.auditOrigin) },
      previousReportHash: previous === undefined ? null : hashOf(previous),
      runtime: { planeVersion: '0.1.0', nodeVersion: 'v24.0.0' },
      sentAt: formatTimestamp(this.nowMs),
    };
    this.reports.push(report);
    this.nowMs += 1000;
    return report;
  }

  /** Answers honestly, as far as its log lets it. */
  answer(challenge: Challenge): AttestationProof {
    const report = this.reports.find(({ reportId }) => reportId === challenge.reportId)!;
    const { treeSize } = challenge;
    const samples = sampledUnits(challenge).map((unit) => {
      const index = this.leaves.findIndex(({ totals }) => sumOf(totals) >= unit);
      return { unit, index, ...this.shown(index, treeSize), ...this.#before(index, treeSize) };
    });
    const consistency = challenge.consistencySizes.map((fromSize) => ({
      fromSize,
      toSize: treeSize,
      path: fromSize === 0 ? [] : this.meter.consistency(fromSize, treeSize),
    }));
    const cross = crossIndexes(challenge).map((auditIndex) => this.#cross(auditIndex, report));
    const generatedAt = formatTimestamp(this.nowMs);
    return this.signed(challenge, {
      schemaVersion: attestSchema,
      challengeId: challenge.challengeId,
      reportId: challenge.reportId,
      dataPlaneId: challenge.dataPlaneId,
      log: { origin: this.origin, epoch: this.epoch, treeSize, checkpoint: report.log.checkpoint },
      samples,
      consistency,
      cross,
      generatedAt,
      signature: '',
    });
  }

  /** An answer with a signature over what it says now. */
  signed(challenge: Challenge, proof: AttestationProof): AttestationProof {
    return { ...proof, signature: signNote(attestationText(challenge, proof), [signerOf(this.origin)]) };
  }

  shown(index: number, treeSize: number): { record: string; inclusion: string[] } {
    return { record: this.leaves[index]!.record, inclusion: this.meter.path(index, treeSize) };
  }

  #before(index: number, treeSize: number) {
    return index === 0 ? {} : { previous: this.shown(index - 1, treeSize) };
  }

  #cross(auditIndex: number, report: UsageReport): AttestationProof['cross'][number] {
    const covering = this.leaves.findIndex(
      ({ firstIndex, count }) => firstIndex <= auditIndex && auditIndex < firstIndex + count,
    );
    // a plane that does not count the leaf has no better answer than a batch of another one
    const meterIndex =
      covering < 0 ? this.leaves.findLastIndex(({ firstIndex }) => firstIndex <= auditIndex) : covering;
    const { nonce, firstIndex, count } = this.leaves[meterIndex]!;
    const first = covering < 0 ? auditIndex : firstIndex;
    const batch = new Tree();
    for (let at = first; at < first + count; at++) batch.append(this.audit.leaf(at));
    const meter = this.shown(meterIndex, report.log.treeSize);
    return {
      auditIndex,
      auditLeafHash: text(this.audit.leaf(auditIndex)),
      auditInclusion: this.audit.path(auditIndex, report.auditLog.treeSize),
      meterIndex,
      meterRecord: meter.record,
      meterInclusion: meter.inclusion,
      refNonce: nonce.toString('base64url'),
      firstAuditIndex: first,
      count,
      batchInclusion: batch.path(auditIndex - first),
    };
  }
}

export const hashOf = (report: UsageReport): string => reportHash(canonicalize(report as unknown as Json));

/** What the service asks about a report, drawn by `seed`. */
export function challengeFor(
  report: UsageReport,
  asked: { seed: string; samples?: number; cross?: number; sizes?: number[]; from?: number },
): Challenge {
  const to = sumOf(report.totals);
  return {
    challengeId: challengeId(seeded(`challenge ${asked.seed}`, 32)),
    reportId: report.reportId,
    dataPlaneId: report.dataPlaneId,
    origin: report.log.origin,
    epoch: report.log.epoch,
    treeSize: report.log.treeSize,
    rootHash: report.log.checkpoint.split('\n')[2]!,
    seed: seeded(asked.seed, 32).toString('hex'),
    sampleSize: asked.samples ?? 64,
    unitRange: { from: asked.from ?? to - sumOf(report.operations), to },
    consistencySizes: asked.sizes ?? [],
    auditTreeSize: report.auditLog.treeSize,
    crossSampleSize: asked.cross ?? 8,
    issuedAt: '2026-11-20T10:00:00.000Z',
    expiresAt: '2026-11-21T10:00:00.000Z',
  };
}
