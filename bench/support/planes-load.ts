/**
 * A sender of signed usage reports of many data planes, in a process of its own, so that its CPU is separate from that
 * of the service. It uses keep-alive sockets and signs each report just before it leaves. At a fixed rate, reports leave
 * when they are due, with or without earlier responses. Without a rate, each socket sends the next report after a
 * response.
 *
 *   node bench/support/planes-load.ts '{"port":7470,"file":"reports.json","connections":64,"perSecond":170}'
 *
 * Prints one JSON line: { requests, seconds, failed, p50, p99, max, late, cpuSeconds } (ms; `late`: of the last one).
 */
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { percentile } from './harness.ts';

export interface PlanesLoad {
  readonly port: number;
  /** A JSON file with an array of `PlaneReport`. */
  readonly file: string;
  readonly connections: number;
  readonly perSecond?: number;
}

export interface PlaneReport {
  readonly key: string;
  /** Hex. */
  readonly secret: string;
  readonly body: string;
}

export interface PlanesLoaded {
  readonly requests: number;
  readonly seconds: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly late: number;
  readonly cpuSeconds: number;
}

async function run({ port, file, connections, perSecond }: PlanesLoad): Promise<PlanesLoaded> {
  const reports = JSON.parse(readFileSync(file, 'utf8')) as PlaneReport[];
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const latencies: number[] = [];
  let failed = 0;
  const send = (report: PlaneReport): Promise<void> =>
    new Promise((resolve, reject) => {
      const timestamp = String(Math.floor(Date.now() / 1000));
      const secret = Buffer.from(report.secret, 'hex');
      const mac = createHmac('sha256', secret).update(`${timestamp}.${report.body}`).digest('hex');
      const sent = performance.now();
      const post = request(
        {
          port,
          host: '127.0.0.1',
          agent,
          method: 'POST',
          path: '/api/v1/telemetry/usage',
          headers: {
            authorization: `Bearer ${report.key}`,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(report.body),
            'x-telemetry-timestamp': timestamp,
            'x-telemetry-signature': mac,
          },
        },
        (response) => {
          if (response.statusCode !== 202) failed += 1;
          response.resume();
          response.once('end', () => {
            latencies.push(performance.now() - sent);
            resolve();
          });
        },
      );
      post.once('error', reject);
      post.end(report.body);
    });
  const start = performance.now();
  let late = 0;
  if (perSecond === undefined) {
    let next = 0;
    const drive = async (): Promise<void> => {
      for (let report = reports[next++]; report !== undefined; report = reports[next++]) await send(report);
    };
    await Promise.all(Array.from({ length: connections }, drive));
  } else {
    const open: Promise<void>[] = [];
    for (const [at, report] of reports.entries()) {
      const wait = start + (at * 1000) / perSecond - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      late = Math.max(0, -wait);
      open.push(send(report));
    }
    await Promise.all(open);
  }
  const seconds = (performance.now() - start) / 1000;
  agent.destroy();
  const { user, system } = process.cpuUsage();
  return {
    requests: latencies.length,
    seconds,
    failed,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    max: percentile(latencies, 1),
    late,
    cpuSeconds: (user + system) / 1e6,
  };
}

console.log(JSON.stringify(await run(JSON.parse(process.argv[2] ?? '{}') as PlanesLoad)));
