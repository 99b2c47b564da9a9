/**
 * What is held of the calling data plane: a plane whose outbox is lost or older goes on behind it, once it has found the
 * report in its own log (contract B9). Proven by `test/service/telemetrynewest.test.ts`.
 */
import type { Handlers } from './call.ts';
import { callingPlane } from './telemetryenrol.ts';

export const newest: Pick<Handlers, 'newestReport'> = {
  async newestReport({ query, caller }, { store }) {
    const { projectId, planeId } = callingPlane(caller).stored;
    const epoch =
      query.epoch === undefined
        ? await store.newestEpoch(projectId, planeId)
        : await store.planeEpoch(projectId, planeId, query.epoch);
    const held =
      epoch === null
        ? null
        : await store.reportAt(projectId, planeId, { epoch: epoch.epoch, sequence: epoch.newestSequence });
    return {
      status: 200,
      body: {
        epoch: epoch?.epoch ?? query.epoch ?? 0,
        nextSequence: epoch?.nextSequence ?? 1,
        report: held?.body ?? null,
        cosignature: held?.cosignature ?? '',
      },
    };
  },
};
