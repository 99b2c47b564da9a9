/**
 * Returns the newest stored report of the calling data plane. A plane whose outbox is lost or outdated
 * continues after it, once it finds the report in its own log (contract B9). Proven by
 * `test/service/planes/newest.test.ts`.
 */
import type { NewestReport } from '../../contract/telemetry.ts';
import type { Store, StoredPlane } from '../../store/port/store.ts';
import type { Handlers } from '../port/handler.ts';
import { callingPlane } from './enrol.ts';

export const newest: Pick<Handlers, 'newestReport'> = {
  async newestReport({ query, caller }, { store }) {
    return { status: 200, body: await newestHeld(store, callingPlane(caller).stored, query.epoch) };
  },
};

/** The newest report of an epoch, or of the newest epoch. Cost: two reads. */
export async function newestHeld(
  store: Store,
  { projectId, planeId }: Pick<StoredPlane, 'projectId' | 'planeId'>,
  wanted?: number,
): Promise<NewestReport> {
  const epoch =
    wanted === undefined
      ? await store.newestEpoch(projectId, planeId)
      : await store.planeEpoch(projectId, planeId, wanted);
  const held =
    epoch === null
      ? null
      : await store.reportAt(projectId, planeId, { epoch: epoch.epoch, sequence: epoch.newestSequence });
  return {
    epoch: epoch?.epoch ?? wanted ?? 0,
    nextSequence: epoch?.nextSequence ?? 1,
    report: held?.body ?? null,
    cosignature: held?.cosignature ?? '',
  };
}
