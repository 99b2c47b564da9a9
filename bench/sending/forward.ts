/**
 * Forwards a backlog over each transport, and records beside it: `scripts/with-node node bench/sending/forward.ts [EVENTS]`.
 * The plane is a process of its own; receivers are in this one. Prints records a second, and the times of single
 * `POST /events` at 25 a second, without and with forwarding.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';
import { planeInit } from '../../plane/data/init.ts';
import type { TargetFile } from '../../src/host/forwards/config.ts';
import { addTarget, removeTarget } from '../../src/host/data/forwards.ts';
import { startSyslog } from '../../test/host/forwards/support/receivers.ts';
import { makeAuthority } from '../../test/support/certificates.ts';
import { serveProcess, type ServingProcess } from '../../test/support/process.ts';
import { event, send } from '../../test/support/serving.ts';

const events = Number(process.argv[2] ?? 100_000);
const folder = mkdtempSync(join(tmpdir(), 'gov-bench-forward-'));
const dataDir = join(folder, 'plane');
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let key = '';
const post = (baseUrl: string, path: string, body: unknown) =>
  send('POST', `${baseUrl}${path}`, { key, body });

/** Milliseconds of single requests until `isOver`. */
async function record(baseUrl: string, isOver: () => boolean): Promise<number[]> {
  const times: number[] = [];
  while (!isOver()) {
    const from = performance.now();
    const { status } = await post(baseUrl, '/events', event());
    // a loaded machine refuses some with 503
    if (status === 201) times.push(performance.now() - from);
    await wait(40);
  }
  return times.toSorted((a, b) => a - b);
}

const at = (times: readonly number[], share: number): string =>
  (times[Math.floor(times.length * share)] ?? 0).toFixed(1);
const shown = (times: readonly number[]): string =>
  `p50 ${at(times, 0.5)} ms, p99 ${at(times, 0.99)} ms (${times.length} requests)`;

async function stop({ child, ended }: ServingProcess): Promise<void> {
  child.kill('SIGTERM');
  await ended;
}

async function run(name: string, target: Omit<TargetFile, 'name'>): Promise<void> {
  addTarget(dataDir, { name, from: 'start', ...target });
  const serving = await serveProcess('plane', dataDir, { env: { BENCH_SECRET: 'S3RVER' } });
  const from = performance.now();
  let isCurrent = false;
  const recording = record(serving.baseUrl, () => isCurrent);
  let records = 0;
  while (!isCurrent) {
    await wait(200);
    const { body } = await send('GET', `${serving.baseUrl}/operations/forwards`, { key });
    const status = body?.data?.[0]; // none where the loaded plane refused the question
    records = status?.records ?? 0;
    isCurrent = records >= events;
    if (performance.now() - from > 240_000) throw new Error(JSON.stringify(status));
  }
  const seconds = (performance.now() - from) / 1000;
  console.log(`${name}: ${Math.round(records / seconds)} records/s; recording ${shown(await recording)}`);
  await stop(serving);
  removeTarget(dataDir, name);
}

try {
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  const first = await serveProcess('plane', dataDir);
  for (let done = 0; done < events; done += 500)
    await post(first.baseUrl, '/events/batch', { events: Array.from({ length: 500 }, () => event()) });
  let isOver = false;
  setTimeout(() => (isOver = true), 8000);
  console.log(`no target: recording ${shown(await record(first.baseUrl, () => isOver))}`);
  await stop(first);

  const authority = makeAuthority(folder);
  const issued = authority.issue('server');
  const [tcp, tls] = [await startSyslog(), await startSyslog({ cert: issued.cert, key: issued.key })];
  const drop = (): void => void ([tcp.messages.length, tls.messages.length] = [0, 0]);
  await run('syslog-tcp', { to: `syslog+tcp://127.0.0.1:${tcp.port}` });
  drop();
  await run('syslog-tls-cef', {
    to: `syslog+tls://localhost:${tls.port}`,
    ca: authority.certFile,
    format: 'cef',
  });
  drop();
  const http = createHttp((request, response) => {
    request.resume();
    request.on('end', () => response.end());
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  await run('http-json', { to: `http://127.0.0.1:${port}/in` });
  await run('http-ocsf', { to: `http://127.0.0.1:${port}/in`, format: 'ocsf' });
  const s3 = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: join(folder, 's3'),
    configureBuckets: [{ name: 'siem', configs: [] }],
  });
  const address = await s3.run();
  await run('s3-json', {
    to: 's3://siem/audit',
    endpoint: `http://127.0.0.1:${address.port}`,
    region: 'eu-central-1',
    accessKeyId: 'S3RVER',
    secretEnv: 'BENCH_SECRET',
    everySeconds: 1,
  });
  await s3.close();
  http.close();
  await Promise.all([tcp.close(), tls.close()]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
