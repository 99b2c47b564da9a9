/**
 * The leaf of the governance snapshot of a run, `gov.snapshot/1` (`docs/reference/proof-format.md`, contract G10): policies, model, tools
 * and configuration of the run. The first snapshot of a run is final.
 * Proven by `test/service/policies/snapshots.engines.test.ts`.
 */
import { draftLeaf, type OtherDraft } from '../events/record.ts';
import type { OpenLeaf } from './leaf.ts';

/** An empty text means that the client did not record the value. */
export type Snapshot = {
  readonly policyHash: string;
  readonly modelRoute: string;
  readonly toolRegistryHash: string;
  readonly configStateHash: string;
};
export const snapshotFields = ['policyHash', 'modelRoute', 'toolRegistryHash', 'configStateHash'] as const;

export function draftSnapshot(runId: string, snapshot: Snapshot, salt: () => string): OtherDraft {
  const { modelRoute, ...fields } = snapshot;
  return draftLeaf('gov.snapshot/1', fields, { runId, committed: [['/modelRoute', modelRoute]], salt });
}

export function openSnapshot({ clear, committed }: OpenLeaf): Snapshot {
  const { policyHash, toolRegistryHash, configStateHash } = clear as unknown as Snapshot;
  const modelRoute = (committed.get('modelRoute') ?? '') as string;
  return { policyHash, modelRoute, toolRegistryHash, configStateHash };
}
