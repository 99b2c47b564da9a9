/**
 * Events that a recorder could not keep, by reason and by run. Each run with losses gets one event that says so, so that
 * its record shows the gap. Tested by `test/client/recorder.test.ts`.
 */
import type { EventInput } from '../contract/events.ts';
import { limits } from '../contract/limits.ts';

/**
 * `full`: too many events in memory. `invalid`: no JSON, or too large. `spoolFull`, `disk`: the spool took no more.
 * `unsent`: the recorder closed before the service took them. `closed`: given to a closed recorder.
 */
export type DropReason = 'full' | 'invalid' | 'spoolFull' | 'disk' | 'unsent' | 'closed';

interface Loss {
  events: number;
  readonly reasons: Set<DropReason>;
  readonly since: string;
}

export class Losses {
  readonly #byReason: Record<DropReason, number> = {
    full: 0,
    invalid: 0,
    spoolFull: 0,
    disk: 0,
    unsent: 0,
    closed: 0,
  };
  /** Of each run, since its last event about losses. */
  readonly #byRun = new Map<string, Loss>();

  counts(): Readonly<Record<DropReason, number>> {
    return { ...this.#byReason };
  }

  /** `runId` is empty where it is unknown. */
  add(reason: DropReason, runId: string, events: number): void {
    this.#byReason[reason] += events;
    if (runId === '') return;
    const loss = this.#byRun.get(runId);
    if (loss === undefined && this.#byRun.size >= limits.recorderDroppedRuns) return;
    const {
      events: before,
      reasons,
      since,
    } = loss ?? {
      events: 0,
      reasons: new Set<DropReason>(),
      since: new Date().toISOString(),
    };
    this.#byRun.set(runId, { events: before + events, reasons: reasons.add(reason), since });
  }

  /** Returns one event for each run with losses, and forgets them. */
  take(): EventInput[] {
    const events = [...this.#byRun].map(([runId, { events: dropped, reasons, since }]) => ({
      runId,
      eventType: 'recorder.dropped',
      actor: { name: 'gov-recorder', type: 'recorder' },
      action: 'drop',
      timestamp: new Date().toISOString(),
      metadata: { dropped, reasons: [...reasons], since },
    }));
    this.#byRun.clear();
    return events;
  }
}
