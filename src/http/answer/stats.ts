/**
 * Request counts and times per operation, kept as plain numbers so that the hot path allocates nothing; the
 * metrics page reads them. Buckets are upper bounds in seconds, as Prometheus has them.
 */
export const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10] as const;

export class OperationStats {
  readonly operation: string;
  readonly byStatus = new Map<number, number>();
  /** One count per bucket and one for slower ones; not cumulative. */
  readonly buckets: number[] = Array.from({ length: secondsBuckets.length + 1 }, () => 0);
  seconds = 0;

  constructor(operation: string) {
    this.operation = operation;
  }

  answered(status: number, milliseconds: number): void {
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1);
    const seconds = milliseconds / 1000;
    this.seconds += seconds;
    let bucket = 0;
    while (bucket < secondsBuckets.length && seconds > (secondsBuckets[bucket] ?? 0)) bucket++;
    this.buckets[bucket] = (this.buckets[bucket] ?? 0) + 1;
  }
}
