/** Refuses clients that write to the run of the service itself. Proven by `test/service/events/handlers.engines.test.ts`. */
import { isReservedRun, reservedRunRefusal } from '../../contract/system-runs.ts';
import { fieldError } from '../call/schema.ts';

/** VALIDATION_ERROR for a run of the service itself, at `/runId` in the path or the body. */
export function refuseSystemRun(runId: string, place: 'path' | 'body'): void {
  if (!isReservedRun(runId)) return;
  throw fieldError({ pointer: '/runId', in: place, code: 'NOT_ALLOWED', detail: reservedRunRefusal });
}
