/**
 * The system event of an altered leaf (contract O8, N1): one for each place, however often and by how many processes it is
 * found. Proven by `test/service/operations/events.test.ts`.
 */
import type { TreeName } from '../../store/port/store.ts';
import type { Services } from '../port/services.ts';
import { append } from '../writes/append.ts';
import { systemEvent } from '../writes/system.ts';

export interface AlteredPlace {
  readonly tree: TreeName;
  /** Leaf; for a root, the size of the tree. */
  readonly index: number;
  readonly detail: string;
}

/** Appends `integrity.violation` unless the log has it. Rejects where the log takes no writes. */
export async function recordViolation(
  services: Services,
  projectId: string,
  { tree, index, detail }: AlteredPlace,
): Promise<void> {
  const { now, salt, fingerprint } = services;
  const event = systemEvent(
    {
      eventType: 'integrity.violation',
      action: 'detect',
      actor: { id: 'gov', type: 'service' },
      resource: { id: `${tree}/${index}`, type: 'leaf' },
      metadata: { tree, index, detail },
      // a client's own id contains no `/` (contract A2), so it never takes this one
      clientEventId: `integrity/${tree}/${index}`,
    },
    { nowMs: now(), salt },
  );
  const fingerprints = new Map([[0, fingerprint(event.clientEventId ?? '')]]);
  await append(services, { projectId, leaves: [event], fingerprints });
}
