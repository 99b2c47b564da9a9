/**
 * `GET /metrics` for Prometheus on a port of its own (contract N9), 127.0.0.1 by default. The first scrape
 * loads prom-client. Proven by `test/plane/data/init.test.ts`.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cpuUsage } from 'node:process';
import { limits } from '../../contract/limits.ts';
import { secondsBuckets, type OperationStats } from '../../http/answer/stats.ts';
import type { Counts } from '../../service/port/services.ts';
import { lostLeaves, type NotedLoss } from '../../store/acked/losses.ts';
import type { Store } from '../../store/port/store.ts';
import type { Address } from '../config/layers.ts';

export interface MetricsSource {
  readonly stats: readonly OperationStats[];
  readonly store: Store;
  /** The project whose log is measured. Null where the process has many. */
  readonly projectId: string | null;
  readonly startedMs: number;
  readonly counts: Counts;
  readonly losses: () => readonly NotedLoss[];
  /** Additional lines. */
  readonly more?: () => Promise<readonly string[]>;
}

export interface MetricsServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function serveMetrics(address: Address, source: MetricsSource): Promise<MetricsServer> {
  const render = renderer(source);
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url?.split('?', 1)[0] !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    render().then(
      ({ type, text }) => response.writeHead(200, { 'content-type': type }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  server.requestTimeout = 5000;
  server.maxConnections = limits.metricsConnections;
  await listen(server, address);
  const { port } = server.address() as AddressInfo;
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return {
    url: `http://${host}:${port}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const listen = (server: Server, { host, port }: Address): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });

/** Creates prom-client once, because its default metrics keep observers of the process. */
function renderer(source: MetricsSource): () => Promise<{ type: string; text: string }> {
  let process: Promise<{ contentType: string; metrics(): Promise<string> }> | undefined;
  return async () => {
    process ??= import('prom-client').then(({ Registry, Counter, collectDefaultMetrics }) => {
      const registry = new Registry();
      // prom-client counts from here on, but these counters start with the process
      const { user, system } = cpuUsage();
      collectDefaultMetrics({ register: registry });
      for (const [name, micros] of Object.entries({ user_: user, system_: system, '': user + system })) {
        const counter = registry.getSingleMetric(`process_cpu_${name}seconds_total`);
        if (counter instanceof Counter) counter.inc(micros / 1e6);
      }
      return registry;
    });
    const registry = await process;
    const lines = [
      await registry.metrics(),
      ...(await storeLines(source)),
      ...requestLines(source.stats),
      ...((await source.more?.()) ?? []),
      '',
    ];
    return { type: registry.contentType, text: lines.join('\n') };
  };
}

export const gauge = (name: string, help: string, value: number): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} gauge`,
  `${name} ${value}`,
];

async function storeLines({ store, projectId, startedMs, counts, losses }: MetricsSource): Promise<string[]> {
  const { writable, queued } = store.condition();
  return [
    ...gauge('gov_writable', '1 while the store accepts writes', writable ? 1 : 0),
    ...gauge('gov_write_queue', 'Requests that wait for a commit', queued),
    ...gauge(
      'gov_acknowledged_lost',
      'Acknowledged leaves that a database lost, until gov log losses ack',
      lostLeaves(losses()),
    ),
    ...gauge('gov_started_seconds', 'Unix time of the start', startedMs / 1000),
    '# HELP gov_skewed_events_total Events whose clock was off by more than five minutes',
    '# TYPE gov_skewed_events_total counter',
    `gov_skewed_events_total ${counts.skewedEvents}`,
    ...(projectId === null ? [] : await logLines(store, projectId)),
  ];
}

async function logLines(store: Store, projectId: string): Promise<string[]> {
  const [audit, metering, totals] = await Promise.all([
    store.head(projectId, 'audit'),
    store.head(projectId, 'metering'),
    store.totals(projectId),
  ]);
  return [
    ...gauge('gov_log_leaves', 'Leaves of the audit log', audit.size),
    ...gauge('gov_metering_leaves', 'Leaves of the metering log', metering.size),
    '# HELP gov_metered_units_total Metered units by type',
    '# TYPE gov_metered_units_total counter',
    ...Object.entries(totals).map(([type, units]) => `gov_metered_units_total{type="${type}"} ${units}`),
  ];
}

/** Writes counters and histograms by hand, because the server keeps them as plain numbers. */
function requestLines(stats: readonly OperationStats[]): string[] {
  const lines = [
    '# HELP gov_requests_total Requests by operation and status',
    '# TYPE gov_requests_total counter',
  ];
  for (const { operation, byStatus } of stats) {
    for (const [status, count] of byStatus) {
      lines.push(`gov_requests_total{operation="${operation}",status="${status}"} ${count}`);
    }
  }
  lines.push('# HELP gov_request_seconds Time to answer', '# TYPE gov_request_seconds histogram');
  for (const { operation, buckets, seconds } of stats) {
    const total = buckets.reduce((sum, count) => sum + count, 0);
    if (total === 0) continue;
    let below = 0;
    for (const [at, bound] of secondsBuckets.entries()) {
      below += buckets[at] ?? 0;
      lines.push(`gov_request_seconds_bucket{operation="${operation}",le="${bound}"} ${below}`);
    }
    lines.push(`gov_request_seconds_bucket{operation="${operation}",le="+Inf"} ${total}`);
    lines.push(`gov_request_seconds_sum{operation="${operation}"} ${seconds}`);
    lines.push(`gov_request_seconds_count{operation="${operation}"} ${total}`);
  }
  return lines;
}
