/**
 * Benchmark of proofs of a run that is written to: tool calls are evaluated in the run at a fixed rate, and a client proves
 * it again and again. Each round has three phases, so that a noisy minute affects all: `rest`, nothing is written; `beside`,
 * the calls arrive in another run; `live`, they arrive in this one. On SQLite, and on PostgreSQL with two processes, of
 * which one takes the calls. The newest proofs are then verified online and offline.
 * `node bench/neighbours/live-proofs.ts [sqlite|postgres|both] [events:callsPerSecond …]`
 */
import { spawnSync } from 'node:child_process';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { parseTrust } from '../../src/core/note/trust.ts';
import { verifyBundle } from '../../src/core/proofs/verify.ts';
import { discard, entry, median, percentile, report, startPlane } from '../support/harness.ts';
import { openHosted } from '../support/hosted.ts';

const [engine = 'both', ...asked] = process.argv.slice(2);
const cases = (asked.length > 0 ? asked : ['9000:100', '2000:50', '8000:50']).map((text) => {
  const [events = 0, rate = 0] = text.split(':').map(Number);
  return { events, rate };
});
const rounds = 3;
/** Of a phase: few, so that the run stays below the size from which proofs are asynchronous. */
const proofsOfPhase = 3;
/** The newest ones. */
const proofsVerified = 6;
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

interface Target {
  readonly name: string;
  readonly key: string;
  /** Where proofs are made, and where calls go. */
  readonly ports: { readonly proofs: number; readonly calls: number };
  /** Stops it; returns whether fsck finds the log whole. */
  end(): Promise<boolean>;
}

interface Answer {
  readonly status: number;
  readonly ms: number;
  readonly bytes: Buffer;
}

function call({ key }: Target, port: number, path: string, body?: unknown): Promise<Answer> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const method = body === undefined ? 'GET' : 'POST';
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: `/api/v1${path}`, method, headers, agent };
    const made = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => {
        const { statusCode: status = 0 } = response;
        resolve({ status, ms: performance.now() - start, bytes: Buffer.concat(chunks) });
      });
    });
    made.once('error', reject);
    made.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

class Calls {
  readonly statuses = new Map<number, number>();
  readonly #target: Target;
  #made = 0;

  constructor(target: Target) {
    this.#target = target;
  }

  async evaluate(runId: string): Promise<void> {
    const body = { runId, tool: { name: 'ledger.pay' }, arguments: { at: this.#made++ } };
    const { status } = await call(this.#target, this.#target.ports.calls, '/mcp/tools/evaluate', body);
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }

  async fill(runId: string, events: number): Promise<void> {
    let left = events;
    const lane = async (): Promise<void> => {
      while (left-- > 0) await this.evaluate(runId);
    };
    await Promise.all(Array.from({ length: 32 }, lane));
  }

  /** Evaluates calls at a rate while `work` runs, however long the answers take. */
  async beside(runId: string, rate: number, work: () => Promise<void>): Promise<void> {
    const pending: Promise<void>[] = [];
    const start = performance.now();
    let sent = 0;
    const timer = setInterval(() => {
      for (; sent < ((performance.now() - start) * rate) / 1000; sent++) pending.push(this.evaluate(runId));
    }, 5);
    await work().finally(() => clearInterval(timer));
    await Promise.all(pending);
  }
}

async function measure(target: Target, { events, rate }: { events: number; rate: number }): Promise<void> {
  const runId = `run-${events}-${rate}`;
  const calls = new Calls(target);
  await calls.fill(runId, events);
  const times = { rest: [] as number[], beside: [] as number[], live: [] as number[] };
  const statuses = new Map<number, number>();
  const proofIds: string[] = [];
  const prove = (times: number[]) => async (): Promise<void> => {
    for (let made = 0; made < proofsOfPhase; made++) {
      const { status, ms, bytes } = await call(target, target.ports.proofs, '/proofs', { runId });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      times.push(ms);
      if (status === 201) proofIds.push((JSON.parse(bytes.toString()) as { proofId: string }).proofId);
    }
  };
  await prove([])();
  for (let round = 0; round < rounds; round++) {
    await prove(times.rest)();
    await calls.beside('other', rate, prove(times.beside));
    await calls.beside(runId, rate, prove(times.live));
  }
  const [rest, beside, live] = [median(times.rest), median(times.beside), median(times.live)];
  const row = (what: string, figure: number, all: readonly number[]) => ({
    ratio: `${(figure / rest).toFixed(2)} ×`,
    figure: `${figure.toFixed(0)} ms`,
    what: `${what}; p95 ${percentile(all, 0.95).toFixed(0)} ms, ${all.length} proofs`,
  });
  report(`proof of a run of ${events} events, ${rate} calls/s, ${target.name}`, [
    row('at rest', rest, times.rest),
    row('calls arrive in another run', beside, times.beside),
    row(`calls arrive in this run (reach: at most 2 ×)`, live, times.live),
  ]);
  console.log(
    `  proofs ${counts(statuses)}; calls ${counts(calls.statuses)}; ${await verified(target, proofIds.slice(-proofsVerified))}`,
  );
}

const counts = (by: ReadonlyMap<number, number>): string =>
  [...by].map(([status, count]) => `${count} × ${status}`).join(', ');

async function verified(target: Target, proofIds: readonly string[]): Promise<string> {
  const { proofs: port } = target.ports;
  const keys = (await call(target, port, '/log/key')).bytes.toString().trim().split('\n');
  const trust = parseTrust(`${keys.map((key) => `log ${key}\n`).join('')}quorum none\n`);
  let [offline, online, live] = [0, 0, 0];
  for (const proofId of proofIds) {
    const { bytes } = await call(target, port, `/proofs/${proofId}/bundle?events=disclosed`);
    const verdict = verifyBundle(bytes, trust);
    const layer = verdict.layers.find(({ name }) => name === 'causal_consistency');
    if (verdict.verified && layer?.basis === 'recomputed') offline++;
    if (bytes.includes('vnd.gov.proof.v3')) live++;
    const answer = await call(target, port, '/proofs/verify', { proofId });
    if ((JSON.parse(answer.bytes.toString()) as { verified?: boolean }).verified === true) online++;
  }
  const all = proofIds.length;
  return `verified offline ${offline} and online ${online} of ${all}, ${live} of them at S`;
}

const targets: Readonly<Record<string, () => Promise<Target>>> = {
  sqlite: async () => {
    const plane = await startPlane();
    const port = Number(new URL(plane.baseUrl).port);
    return {
      name: 'SQLite',
      key: plane.apiKey,
      ports: { proofs: port, calls: port },
      end: async () => {
        await plane.stop();
        const fsck = spawnSync(process.execPath, [entry, 'log', 'fsck', '--deep', '--data', plane.dataDir]);
        discard(join(plane.dataDir, '..'));
        return fsck.status === 0;
      },
    };
  },
  postgres: async () => {
    const hosted = await openHosted();
    const key = await hosted.makeProject('live');
    const [one, two] = [await hosted.start(), await hosted.start()];
    return {
      name: 'PostgreSQL',
      key,
      ports: { proofs: one.port, calls: two.port },
      end: async () => {
        for (const each of [one, two]) await each.stop();
        const whole = hosted.isWhole();
        await hosted.close();
        return whole;
      },
    };
  },
};

for (const [name, start] of Object.entries(targets)) {
  if (engine !== 'both' && engine !== name) continue;
  const target = await start();
  for (const each of cases) await measure(target, each);
  console.log(`  fsck: ${(await target.end()) ? 'whole' : 'problems'}`);
}
agent.destroy();
