/**
 * Records inconsistent messages of data planes in the project's log, then refuses them. Each fault has an id
 * of its own, so repeated attempts make one event, and a project gets at most
 * `limits.telemetryFaultsPerMinute` events a minute. Proven by `test/service/planes/reports.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { EventDraft } from '../../core/events/record.ts';
import type { Fault } from '../../core/planes/usage-report.ts';
import type { Store, StoredPlane } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import type { Services } from '../port/services.ts';

interface Refusal {
  readonly plane: StoredPlane;
  readonly fault: Fault;
  readonly code: 'REPORT_INVALID';
  readonly event: EventDraft;
}

/** Throws REPORT_INVALID with the fault as `reason`, and its place. */
export async function refuseFault(
  services: Services,
  { plane, fault, code, event }: Refusal,
): Promise<never> {
  await recordOnce(services, plane.projectId, event);
  throw faultError(code, fault);
}

export function faultError(
  code: 'REPORT_INVALID' | 'ATTESTATION_FAILED' | 'CHALLENGE_EXPIRED',
  fault: Fault,
): GovError {
  const { pointer, detail, fault: reason } = fault;
  return new GovError(code, `body ${pointer === '' ? '/' : pointer}: ${detail}`, {
    errors: [{ pointer, in: 'body', code: reason, detail }],
    extensions: { reason },
  });
}

/** Appends an event with a clientEventId, unless it is known or this minute's limit is reached. */
export async function recordOnce(services: Services, projectId: string, event: EventDraft): Promise<void> {
  const minutes = minutesOf.get(services.store) ?? new Map<string, Minute>();
  minutesOf.set(services.store, minutes);
  const minute = Math.floor(services.now() / 60_000);
  const before = minutes.get(projectId);
  const count = before?.minute === minute ? before.count : 0;
  if (count >= limits.telemetryFaultsPerMinute) return;
  if (minutes.size >= projectsHeld) minutes.clear();
  minutes.set(projectId, { minute, count: count + 1 });
  try {
    // a constant fingerprint: the id alone identifies the fact, whatever else the event contains
    const fingerprints = new Map([[0, 'telemetry'] as const]);
    await append(services, { projectId, leaves: [event], fingerprints });
  } catch (error) {
    services.log.warn({ err: error, projectId }, 'the fault of a data plane could not be recorded');
  }
}

interface Minute {
  readonly minute: number;
  readonly count: number;
}
const minutesOf = new WeakMap<Store, Map<string, Minute>>();
const projectsHeld = 10_000;
