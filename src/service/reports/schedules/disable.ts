/**
 * Takes a receiver that answered 410 Gone out of its schedule (contract L10). Proven by
 * `test/service/reports/deliveries/due.test.ts`.
 */
import { targetOf, type KeptInput } from '../deliveries/document.ts';
import type { Services } from '../../port/services.ts';
import { dataOf } from '../stored.ts';
import { scheduleKind, type StoredSchedule } from './stored.ts';

const attempts = 5;

export async function disableScheduleTarget(
  { store, now, log, seal }: Services,
  of: {
    readonly projectId: string;
    readonly scheduleId: string;
    readonly delivery: Pick<KeptInput, 'channel' | 'target' | 'sealedTarget'>;
  },
): Promise<void> {
  const { projectId, scheduleId, delivery } = of;
  const target = targetOf(delivery, seal);
  if (target === null) return;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const found = await store.document(projectId, scheduleKind, scheduleId);
    if (found === null) return;
    const stored = dataOf<StoredSchedule>(found);
    const deliveries = stored.deliveries.map((each) =>
      each.channel === delivery.channel && targetOf(each, seal) === target && each.disabledMs === null
        ? { ...each, disabledMs: now() }
        : each,
    );
    const { projectId: _own, ...document } = { ...found, data: JSON.stringify({ ...stored, deliveries }) };
    // a worker or a person may change it at the same time
    if ((await store.saveDocuments(projectId, [{ save: document }])) === 'saved') return;
  }
  log.warn({ scheduleId }, 'a receiver that is gone stays in its schedule until its next answer');
}
