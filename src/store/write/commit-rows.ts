/**
 * The rows of one commit, for both engines. A crash before COMMIT leaves none of them.
 * Proven by `test/store/suite/log/append.ts`.
 */
import type { BodySeal } from '../erasure/body-seal.ts';
import { idsText, type SubjectKey } from '../erasure/subject-keys.ts';
import type { PendingLeaf, MeterRow, PendingCommit } from '../append/pending.ts';
import { baseText, type Period } from '../append/period.ts';
import { typeNumber } from '../rules/decided.ts';
import type { CommitSinks } from './commit-tables.ts';

/** How bodies are sealed: `keysOf` returns the keys of subjects. */
export interface BodySealer {
  readonly seal: Pick<BodySeal, 'seal'>;
  keysOf(project: number, subjects: readonly string[]): readonly SubjectKey[];
}

const none: readonly string[] = [];

export function addEntry(
  to: CommitSinks,
  project: number,
  { draft, index, record, event }: PendingLeaf,
  { seal, keysOf }: BodySealer,
): void {
  const position = { project, index };
  to.leaf.add({ position, record });
  const subjects = draft.subjects ?? none;
  if (draft.disclosures !== null) {
    const keys = keysOf(project, subjects);
    to.body.add({ position, disclosures: seal.seal(draft.disclosures, keys), keys: idsText(keys) || null });
  }
  for (const subject of subjects) to.subject.add({ project, subject, index });
  if (draft.kind === 'other') {
    const type = typeNumber(draft.type);
    if (type !== null) to.decided.add({ project, type, index, runId: draft.runId, id: draft.id });
  } else if (event !== null) {
    const { run, runSeq, typeNo } = event;
    to.runEvent.add({ project, runNo: run.no, runSeq, index, typeNo, atMs: draft.timestampMs });
  }
}

export function addMeter(to: CommitSinks, project: number, { index, ...row }: MeterRow): void {
  to.meter.add({ position: { project, index }, ...row });
}

export function addPeriod(to: CommitSinks, project: number, period: Period): void {
  to.period.add({ project, month: period.month, base: baseText(period) });
}

/** Adds the runs and counters that the requests of a commit changed. */
export function addRuns(
  to: CommitSinks,
  { ledger: { no: project }, runs, types, typeEvents, runTypeEvents }: PendingCommit,
): void {
  for (const [name, no] of types) to.type.add({ project, no, name });
  for (const run of runs.values()) to.run.add({ ...run, project });
  for (const [typeNo, events] of typeEvents) to.typeTotal.add({ project, typeNo, events });
  for (const [runNo, byType] of runTypeEvents) {
    for (const [typeNo, events] of byType) to.runType.add({ project, runNo, typeNo, events });
  }
}
