/**
 * The metrics of a plane on this machine, as far as people look at them: `GET /metrics` in the text format of Prometheus.
 * Tested by `test/cli/operations/metrics.test.ts`.
 */
import type { Io } from '../terminal/io.ts';

export interface Metrics {
  /** Requests that wait for a commit; null if the metrics lack it. */
  readonly queue: number | null;
  /** Leaves of the audit log; null if the process has many projects. */
  readonly leaves: number | null;
  /** Requests that record events, since the start, by upper bound of their seconds; not cumulative. */
  readonly ingestBySeconds: ReadonlyMap<number, number>;
  /** Requests that record events and were refused or failed, since the start. */
  readonly ingestFailed: number;
}

/** Operations that record events. */
const ingest = new Set(['createEvent', 'createEvents', 'receiveTraces', 'receiveLogs']);

const sample = /^(\w+)(?:\{([^}]*)\})? (\S+)$/;

export function readMetrics(text: string): Metrics {
  let [queue, leaves, ingestFailed] = [null as number | null, null as number | null, 0];
  const bySeconds = new Map<number, number>();
  for (const line of text.split('\n')) {
    if (!line.startsWith('gov_')) continue;
    const [, name, labels = '', value] = sample.exec(line) ?? [];
    const label = (key: string): string => new RegExp(`(?:^|,)${key}="([^"]*)"`).exec(labels)?.[1] ?? '';
    if (name === 'gov_write_queue') queue = Number(value);
    else if (name === 'gov_log_leaves') leaves = Number(value);
    else if (!ingest.has(label('operation'))) continue;
    else if (name === 'gov_requests_total' && Number(label('status')) >= 400) ingestFailed += Number(value);
    else if (name === 'gov_request_seconds_bucket')
      addTo(bySeconds, Number(label('le').replace('+Inf', 'Infinity')), Number(value));
  }
  return { queue, leaves, ingestFailed, ingestBySeconds: apart(bySeconds) };
}

const addTo = (map: Map<number, number>, key: number, value: number): void =>
  void map.set(key, (map.get(key) ?? 0) + value);

/** Prometheus counts each bucket with all smaller ones. */
function apart(cumulative: ReadonlyMap<number, number>): Map<number, number> {
  let below = 0;
  return new Map(
    [...cumulative]
      .toSorted(([one], [other]) => one - other)
      .map(([bound, total]) => {
        const own = total - below;
        below = total;
        return [bound, own];
      }),
  );
}

/** The upper bound of the bucket that has the share; null without requests. Infinity: above all bounds. */
export function quantile(counts: ReadonlyMap<number, number>, share: number): number | null {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  let below = 0;
  for (const [bound, count] of counts) {
    below += count;
    if (total > 0 && below >= total * share) return bound;
  }
  return null;
}

/** Requests between two readings. After a restart of the plane, the later reading alone. */
export function between(
  earlier: ReadonlyMap<number, number>,
  later: ReadonlyMap<number, number>,
): Map<number, number> {
  const counts = [...later].map(([bound, count]) => [bound, count - (earlier.get(bound) ?? 0)] as const);
  return new Map(counts.some(([, count]) => count < 0) ? later : counts);
}

/** Null where the plane has no metrics, or they cannot be read: they are optional. */
export async function fetchMetrics(url: string | null | undefined, env: Io['env']): Promise<Metrics | null> {
  if (typeof url !== 'string') return null;
  const { Connection } = await import('../../client/transport.ts');
  const { origin, pathname } = new URL(url);
  const connection = new Connection({ baseUrl: origin, env });
  try {
    const shape = { headers: {}, body: undefined, timeoutMs: 2000, maxBytes: 2 ** 22, signal: undefined };
    const { bytes } = await connection.exchange({ ...shape, method: 'GET', path: pathname });
    return readMetrics(Buffer.from(bytes).toString());
  } catch {
    return null;
  } finally {
    connection.close();
  }
}
