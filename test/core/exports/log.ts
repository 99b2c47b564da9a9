/** Artifacts of a small log in memory, made as a service makes them. */
import { draftErasure } from '../../../src/core/decided/erasure.ts';
import {
  exportHead,
  exportRowText,
  exportTail,
  type ExportProof,
  type ProvedLeaf,
} from '../../../src/core/exports/artifact.ts';
import type { MapFunction } from '../../../src/core/completeness/map-function.ts';
import type { FilterAnswer } from '../../../src/core/exports/answer.ts';
import { appendIndex, mapOf } from '../completeness/indexed.ts';
import { answerOf, selected, type Exported } from './answers.ts';
import { exportRow, leafTypes, type LoggedResource } from '../../../src/core/exports/row.ts';
import { canonicalize, type JsonObject } from '../../../src/core/json/parse.ts';
import { subtreesOf } from '../../../src/core/merkle/multi-proof.ts';
import { systemRun } from '../../../src/core/events/record.ts';
import { erasuresOf } from '../../../src/core/events/erased.ts';
import { verifyExport, type ExportVerdict } from '../../../src/core/exports/verify.ts';
import type { NoteSigner } from '../../../src/core/note/signed.ts';
import { formatTimestamp } from '../../../src/core/time.ts';
import { ProofLog, startMs, trust } from '../proofs/log.ts';

export interface Asked {
  readonly resource?: LoggedResource;
  readonly filters?: JsonObject;
  /** Leaves that are shown; those of the resource where not given. */
  readonly rows?: readonly number[];
  /** What stands beside the log, by leaf. */
  readonly stored?: ReadonlyMap<number, string>;
  /** Leaves recorded behind the request. */
  readonly later?: number;
  readonly signers?: readonly NoteSigner[];
  readonly isProved?: boolean;
  /** Leaves that are enclosed beside those that rows name. */
  readonly enclosed?: { readonly erasures: readonly number[]; readonly withdrawn: readonly number[] };
  /** With the answer of the index for the filters, or what this makes of it. */
  readonly completed?: (answer: FilterAnswer, log: ProofLog, exported: Exported) => FilterAnswer | undefined;
  /** With an index leaf that covers fewer leaves. */
  readonly indexSize?: number;
  readonly fn?: MapFunction;
  /** Where the metadata of the request is to differ. */
  readonly request?: JsonObject;
}

const exportId = 'exp_01kfn3v5k8hf7wb3c9x2m4n6p8';

/** `gap` between the leaves [from, to). */
const gapOf = (log: ProofLog, from: number, to: number): Buffer[] =>
  subtreesOf(from, to).map(({ level, index }) => log.hash(index * 2 ** level, (index + 1) * 2 ** level));

export function artifactOf(log: ProofLog, asked: Asked = {}): string {
  const { resource = 'audit_events', filters = {}, isProved = true } = asked;
  const treeSize = log.leaves.length;
  const timestamp = formatTimestamp(startMs + treeSize * 1000);
  const metadata = {
    exportId,
    resource,
    format: 'json',
    filters,
    includeProof: isProved,
    treeSize,
    ...asked.request,
  };
  const created = log.record({
    runId: systemRun,
    eventType: 'export.created',
    action: 'create',
    actor: { id: 'key_1', type: 'api_key' },
    timestamp,
    metadata,
  }).index;
  for (let other = 0; other < (asked.later ?? 0); other++) log.record({ runId: 'later' });
  const map = asked.completed && mapOf(log.leaves.slice(0, asked.indexSize), log.hashes, asked.fn);
  const indexLeaf = map && appendIndex(log, map);
  const rows =
    asked.rows ??
    (asked.completed === undefined
      ? leavesOf(log, leafTypes[resource], treeSize)
      : selected(log, filters, treeSize));
  const pieces = [exportHead({ resource, generatedAt: timestamp, filters: canonicalize(filters) })];
  let next = 0;
  for (const [at, index] of rows.entries()) {
    const stored = asked.stored?.get(index);
    const leaf = { ...log.leaves[index]!, ...(stored === undefined ? {} : { stored }) };
    const evidence = { leaf, gap: gapOf(log, next, index) };
    pieces.push(exportRowText(exportRow(resource, leaf), at === 0, isProved ? evidence : undefined));
    next = index + 1;
  }
  const manifest = {
    treeSize,
    rootHash: log.root(treeSize),
    firstSequence: rows[0] ?? null,
    lastSequence: rows.at(-1) ?? null,
    rowCount: rows.length,
  };
  const proof = isProved
    ? proofOf(log, { treeSize, created, next, rows, signers: asked.signers, enclosed: asked.enclosed })
    : undefined;
  if (proof !== undefined && map !== undefined && indexLeaf !== undefined) {
    const exported = { filters, rows, treeSize, map, index: indexLeaf };
    const completeness = asked.completed?.(answerOf(log, exported), log, exported);
    return [...pieces, exportTail(manifest, { ...proof, completeness })].join('');
  }
  return [...pieces, exportTail(manifest, proof)].join('');
}

function proofOf(
  log: ProofLog,
  of: {
    readonly treeSize: number;
    readonly created: number;
    readonly next: number;
    readonly rows: readonly number[];
    readonly signers: readonly NoteSigner[] | undefined;
    readonly enclosed: Asked['enclosed'];
  },
): ExportProof {
  const size = log.leaves.length;
  const proved = (index: number): ProvedLeaf => ({
    index,
    record: log.leaves[index]!.record,
    inclusion: log.path(index, size),
  });
  const erasures = new Set(of.rows.flatMap((index) => erasuresOf(log.leaves[index]!.erased ?? null)));
  for (const index of of.enclosed?.erasures ?? []) erasures.add(index);
  return {
    checkpoint: log.checkpoint(size, of.signers),
    consistency: log.consistency(of.treeSize, size),
    created: { ...proved(of.created), disclosures: log.leaves[of.created]!.disclosures! },
    erasures: [...erasures].sort((one, other) => one - other).map(proved),
    withdrawn: (of.enclosed?.withdrawn ?? []).map(proved),
    gap: gapOf(log, of.next, of.treeSize),
  };
}

const leavesOf = (log: ProofLog, type: string, below: number): number[] =>
  log.leaves
    .slice(0, below)
    .filter(({ record }) => record.includes(`"type":"${type}"`))
    .map(({ index }) => index);

export async function* inChunks(bytes: Uint8Array, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export const verifyText = (
  text: string | Uint8Array,
  chunk?: number,
  under = trust,
): Promise<ExportVerdict> => verifyExport(inChunks(Buffer.from(text), chunk), under);

/** Five events of two runs, with leaves of other types between. */
export function events(log = new ProofLog()): ProofLog {
  log.record({
    runId: 'r',
    metadata: { cost: 0.1, note: 'ü "quoted" \\ \u2028', nested: { b: 1, 10: 2, 9: 3 } },
  });
  log.append(draftErasure(erasure([{ index: 99, digests: ['x'] }])));
  log.record({
    runId: 's',
    eventType: 'tool.call',
    resource: 'db',
    metadata: { '","disclosures":': '","disclosures":[' },
  });
  log.record({ runId: 'r', actor: 'me', metadata: { evidence: '{"evidence":{"index":1' } });
  log.record({ runId: 's' });
  return log;
}

export const erasure = (targets: { index: number; digests: string[] }[]) => ({
  erasureId: 'era_1',
  targets,
  reasonCode: 'subject_request',
  requestedAt: '2026-01-05T09:00:00.000Z',
  executedAt: '2026-01-05T09:00:00.000Z',
  keyDestroyed: false,
});

export const faults = ({ checks }: ExportVerdict): string[] =>
  checks.flatMap(({ id, result, code }) => (result === 'failed' ? [`${id}: ${code}`] : []));
