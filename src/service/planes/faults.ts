/**
 * What of a data plane does not hold together: told in the log of its project, then refused. Each fault has an id of its
 * own, so that a plane that tries again and again is told once; and no project gets more than
 * `limits.telemetryFaultsPerMinute` of them. Proven by `test/service/planes/reports.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { EventDraft } from '../../core/event/record.ts';
import type { Fault } from '../../core/plane/usage-report.ts';
import type { Store, StoredPlane } from '../../store/port/store.ts';
import { append, unmetered } from '../events/append.ts';
import type { Services } from '../dependencies.ts';

interface Refusal {
  readonly plane: StoredPlane;
  readonly fault: Fault;
  readonly code: 'REPORT_INVALID';
  readonly event: EventDraft;
}

/** REPORT_INVALID, with the fault as `reason` and where it is. */
export async function refuseFault(
  services: Services,
  { plane, fault, code, event }: Refusal,
): Promise<never> {
  await tellOnce(services, plane.projectId, event);
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

/** Appends an event with a clientEventId, unless it is known, or too many were told this minute. */
export async function tellOnce(services: Services, projectId: string, event: EventDraft): Promise<void> {
  const minutes = told.get(services.store) ?? new Map<string, Minute>();
  told.set(services.store, minutes);
  const minute = Math.floor(services.now() / 60_000);
  const before = minutes.get(projectId);
  const count = before?.minute === minute ? before.count : 0;
  if (count >= limits.telemetryFaultsPerMinute) return;
  if (minutes.size >= projectsHeld) minutes.clear();
  minutes.set(projectId, { minute, count: count + 1 });
  try {
    // one text for all: whatever else is in the event, its id names the same fact
    const fingerprints = new Map([[0, 'telemetry'] as const]);
    await append(services, { projectId, leaves: [event], meter: unmetered, fingerprints });
  } catch (error) {
    services.log.warn({ err: error, projectId }, 'what a data plane did wrong could not be recorded');
  }
}

interface Minute {
  readonly minute: number;
  readonly count: number;
}
const told = new WeakMap<Store, Map<string, Minute>>();
const projectsHeld = 10_000;
