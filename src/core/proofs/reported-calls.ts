/**
 * Calls that telemetry or a transcript reports: which of them no event of a run decided. A report may come before the event
 * that decides its call, and before telemetry says that two reports are of one call, so each answer judges all of them.
 * Proven by `test/core/proofs/compliance.test.ts`.
 */

/** A report of a call from elsewhere, without a decision of its own. */
export interface CallReport {
  readonly index: number;
  readonly callId: string;
}

export class ReportedCalls {
  readonly #reports: CallReport[] = [];
  /** Ids of reports that are those of another call, by id; each other call takes one. */
  readonly #joins = new Map<string, string>();
  readonly #joined = new Set<string>();

  /** Entries in memory. */
  get size(): number {
    return this.#reports.length + 2 * this.#joins.size;
  }

  /** In log order. */
  add(report: CallReport): void {
    this.#reports.push(report);
  }

  /** Telemetry says that the call which it reported as `from` is the call `to`. */
  join({ from, to }: { readonly from: string; readonly to: string }): void {
    if (from === to || this.#joined.has(to) || this.#joins.has(from)) return;
    this.#joins.set(from, to);
    this.#joined.add(to);
  }

  /**
   * The reports of calls without a decision, in log order; of a call that others report as well, those of the call.
   * `decided`: ids of calls that an event decided. Cost: linear in reports and joins.
   */
  undecided(decided: ReadonlySet<string>): readonly CallReport[] {
    const reported = new Set(this.#reports.map(({ callId }) => callId));
    return this.#reports.filter(({ callId }) => {
      const call = this.#callOf(callId);
      return !decided.has(call) && (call === callId || !reported.has(call));
    });
  }

  /** The id of the call of a report; a circle joins nothing. */
  #callOf(id: string): string {
    const seen = new Set([id]);
    let call = id;
    for (let to = this.#joins.get(id); to !== undefined; to = this.#joins.get(to)) {
      if (seen.has(to)) return id;
      seen.add(to);
      call = to;
    }
    return call;
  }
}
