/**
 * Events that a recorder or a governed call could not record, by reason and by run. Each run with losses gets one event
 * that says so, so that its record shows the gap. Tested by `test/client/recorder.test.ts` and
 * `test/client/governed.test.ts`.
 */
import type { EventInput } from '../contract/events.ts';
import { limits } from '../contract/limits.ts';
import type { Client } from './create.ts';

/**
 * `full`: too many events in memory. `invalid`: no JSON, or too large. `spoolFull`, `disk`: the spool took no more.
 * `unsent`: the service did not confirm them before the recorder closed, or while a governed call waited. `closed`: given
 * to a closed recorder.
 */
export type DropReason = 'full' | 'invalid' | 'spoolFull' | 'disk' | 'unsent' | 'closed';

interface Loss {
  events: number;
  readonly reasons: Set<DropReason>;
  readonly since: string;
}

/** An event about losses. */
type LossEvent = EventInput & {
  readonly metadata: {
    readonly dropped: number;
    readonly reasons: readonly DropReason[];
    readonly since: string;
  };
};

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

  /** Returns one event for each run with losses, at most `most`, and forgets them. */
  take(most = Number.POSITIVE_INFINITY): LossEvent[] {
    const taken = [...this.#byRun].slice(0, most);
    for (const [runId] of taken) this.#byRun.delete(runId);
    return taken.map(([runId, { events: dropped, reasons, since }]) => ({
      runId,
      eventType: 'recorder.dropped',
      actor: { name: 'gov-recorder', type: 'recorder' },
      action: 'drop',
      timestamp: new Date().toISOString(),
      metadata: { dropped, reasons: [...reasons], since },
    }));
  }

  /** Remembers the losses of events that could not be recorded either. */
  putBack(events: readonly LossEvent[]): void {
    for (const { runId, metadata } of events) {
      const later = this.#byRun.get(runId);
      this.#byRun.set(runId, {
        events: metadata.dropped + (later?.events ?? 0),
        reasons: new Set([...metadata.reasons, ...(later?.reasons ?? [])]),
        since: metadata.since,
      });
    }
  }
}

const ofClients = new WeakMap<Client, Losses>();

/** What governed calls of a client could not record. */
export function lossesOf(client: Client): Losses {
  const losses = ofClients.get(client) ?? new Losses();
  ofClients.set(client, losses);
  return losses;
}
