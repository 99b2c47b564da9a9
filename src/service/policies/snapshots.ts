/**
 * Governance snapshots (contract G10): the configuration that a run was made with, recorded as leaf
 * `gov.snapshot/1`. The first snapshot of a run is final. Proven by
 * `test/service/policies/snapshots.engines.test.ts`.
 */
import { refuseSystemRun } from '../writes/system-run.ts';
import { GovError } from '../../contract/problems.ts';
import { draftSnapshot, snapshotFields, type Snapshot } from '../../core/decided/snapshot.ts';
import { append } from '../writes/append.ts';
import { notFound } from '../call/answer.ts';
import type { Handlers } from '../port/handler.ts';
import { snapshotOf } from './run-snapshot.ts';
import { fieldError, refuseReadOnly } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import type { RunOf } from '../call/work.ts';

export const snapshots: Pick<Handlers, 'getSnapshot' | 'putSnapshot'> = {
  async getSnapshot({ params, caller }, { store }) {
    const { runId } = params;
    const snapshot = await snapshotOf(store, { projectId: caller.project.projectId, runId });
    if (snapshot === null) throw notFound('snapshot');
    return { status: 200, body: { runId, ...snapshot } };
  },

  async putSnapshot({ params, body: { runId: sent = params.runId, ...body }, caller }, services) {
    const { runId } = params;
    refuseSystemRun(runId, 'path');
    refuseReadOnly({ runId: sent }, { runId });
    if (snapshotFields.every((field) => body[field] === '')) {
      const detail = 'expected at least one member, got none: the first snapshot of a run is final';
      throw fieldError({ pointer: '', in: 'body', code: 'TOO_SHORT', detail });
    }
    const kept = await claimSnapshot(services, { projectId: caller.project.projectId, runId }, body);
    const other = snapshotFields.filter((field) => kept[field] !== body[field]);
    if (other.length === 0) return { status: 200, body: { runId, ...kept } };
    const detail = `expected the snapshot that run ${runId} already has; got another ${other.join(', ')}`;
    throw new GovError('CONFLICT', detail, { extensions: { fields: other } });
  },
};

/** Records a snapshot for a run without one. Returns the snapshot that the run then has. */
async function claimSnapshot(services: Services, of: RunOf, snapshot: Snapshot): Promise<Snapshot> {
  const { projectId, runId } = of;
  const known = await snapshotOf(services.store, of);
  if (known !== null) return known;
  try {
    await append(services, {
      projectId,
      leaves: [draftSnapshot(runId, snapshot, services.salt)],
      effects: [{ kind: 'claimSnapshot', runId }],
    });
    return snapshot;
  } catch (error) {
    const claimed = error instanceof GovError && error.code === 'CONFLICT';
    const other = claimed ? await snapshotOf(services.store, of) : null;
    if (other === null) throw error;
    return other;
  }
}
