/**
 * Records that a stored leaf differs from the logged one, in the log of its project: one event for each finding, however
 * many processes find it. The store reports a finding in its condition. Proven by
 * `test/service/log/violations.test.ts`.
 */
import { sha256 } from '../../core/hash.ts';
import type { EventDraft } from '../../core/event/record.ts';
import { append, unmetered } from '../events/append.ts';
import type { Services } from '../dependencies.ts';
import { systemEvent } from '../system.ts';

const lookEveryMs = 5000;
const reported = /^integrity_violation: project (prj_[0-9a-z_]+): /;

const violated = (finding: string, context: { nowMs: number; salt: () => string }): EventDraft =>
  systemEvent(
    {
      eventType: 'integrity.violation',
      action: 'detect',
      actor: { id: 'gov', type: 'service' },
      resource: { id: 'audit', type: 'log' },
      metadata: {},
      clientEventId: `integrity/${finding}`,
    },
    context,
  );

/** Records the findings that `known` does not have. */
export async function recordViolations(services: Services, known: Set<string>): Promise<void> {
  const { store, now, salt } = services;
  for (const reason of store.condition().reasons) {
    const projectId = reported.exec(reason)?.[1];
    if (projectId === undefined || known.has(reason)) continue;
    // the id of the finding is the same in each process, and reveals nothing
    const finding = sha256(reason).toString('hex').slice(0, 32);
    const leaves = [violated(finding, { nowMs: now(), salt })];
    const fingerprints = new Map([[0, 'integrity.violation'] as const]);
    await append(services, { projectId, leaves, meter: unmetered, fingerprints });
    known.add(reason);
  }
}

/** The returned function stops it. */
export function startRecordingViolations(services: Services): () => void {
  const known = new Set<string>();
  let running = false;
  const timer = setInterval(() => {
    if (running) return;
    running = true;
    recordViolations(services, known)
      .catch((error: unknown) => services.log.warn({ err: error }, 'a violation could not be recorded yet'))
      .finally(() => (running = false));
  }, lookEveryMs).unref();
  return () => clearInterval(timer);
}
