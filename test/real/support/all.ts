/**
 * The whole evidence by hand, a few minutes: `node test/real/support/all.ts`. Every recorded run is imported, proved,
 * exported and verified by commands of the tool alone, the log is checked deeply, and all 8 bits of every byte of
 * a bundle are flipped. Prints figures; any answer other than the expected one ends it with 1.
 */
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseTrust, type Trust } from '../../../src/core/note/checkpoint.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { hasData } from '../../paths.ts';
import { flipped, meaningOf } from './mutations.ts';
import { eachOf, type PlaneProcess, smallBundle, startPlaneProcess } from './plane.ts';
import { sources } from './sources.ts';

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const started = performance.now();
const seconds = (): string => `${((performance.now() - started) / 1000).toFixed(1)} s`;

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;
}

async function importAll(plane: PlaneProcess): Promise<string[]> {
  const runIds = new Set<string>();
  for (const { format, files, runs, items, events } of Object.values(sources).map((source) => source())) {
    const words = ['events', 'push', '--from', format, ...files.map(({ path }) => path), '-o', 'json'];
    const { accepted, rejected, imports } = JSON.parse((await plane.run(words)).stdout) as {
      accepted: number;
      rejected: number;
      imports: { runId: string; items: number }[];
    };
    for (const { runId } of imports) runIds.add(runId);
    const read = imports.reduce((sum, each) => sum + each.items, 0);
    say(`${format}: ${runs} runs, ${items} items (read ${read}), ${events} events, ${accepted} accepted`);
    if (rejected > 0 || read !== items) throw new Error(`${format}: not all was imported`);
  }
  return [...runIds];
}

interface Proved {
  readonly events: number;
  readonly bytes: number;
  readonly verifyMs: number;
}

/** One run by commands: proofs create, proofs get --bundle, proofs verify. */
async function prove(plane: PlaneProcess, runId: string, at: number): Promise<Proved> {
  const layers = 'event_integrity,causal_consistency,policy_compliance,log_inclusion';
  const created = await plane.run(['proofs', 'create', '--run', runId, '--layers', layers, '-o', 'id']);
  const file = join(plane.folder, `${at}.govproof.json`);
  const proofId = created.stdout.trim();
  await plane.run(['proofs', 'get', proofId, '--bundle', '--events', 'disclosed', '--out', file]);
  const { stdout } = await plane.run(['proofs', 'verify', file, '--offline', '-o', 'json']);
  const verdict = JSON.parse(stdout) as {
    verified: boolean;
    runId: string;
    digests: { disclosed: number; withheld: number; missing: number };
    checks: { id: string; result: string; detail?: string }[];
  };
  const derivation = verdict.checks.find(({ id }) => id === 'graph_derivation');
  if (!verdict.verified || verdict.runId !== runId || derivation?.result !== 'passed') {
    throw new Error(`${runId}: ${stdout}`);
  }
  const bytes = readFileSync(file);
  const before = performance.now();
  verifyBundle(bytes, parseTrust(plane.trust));
  const verifyMs = performance.now() - before;
  const { events = [] } = JSON.parse(bytes.toString()) as { events?: unknown[] };
  return { events: events.length, bytes: statSync(file).size, verifyMs };
}

/** All bits of all bytes, by a trust; prints how many changes verified and checks that they say the same. */
function flipAll(bytes: Buffer, trust: Trust, name: string): void {
  const said = meaningOf(bytes);
  let survivors = 0;
  for (const at of bytes.keys()) {
    for (let bit = 0; bit < 8; bit++) {
      const changed = flipped(bytes, at, bit);
      if (!verifyBundle(changed, trust).verified) continue;
      survivors += 1;
      if (meaningOf(changed) !== said) throw new Error(`${name}: byte ${at}, bit ${bit} says something else`);
    }
  }
  say(
    `${name}: ${bytes.length * 8} flipped bits, ${survivors} in signature lines of keys that are then unknown`,
  );
}

async function main(): Promise<void> {
  if (!hasData) throw new Error('expected the recorded runs in GOV_DATA');
  const plane = await startPlaneProcess();
  try {
    const runIds = await importAll(plane);
    say(`imported ${runIds.length} runs after ${seconds()}`);
    const proved = await eachOf(runIds, (runId) => prove(plane, runId, runIds.indexOf(runId)), 2);
    const sum = (of: (each: Proved) => number): number => proved.reduce((total, each) => total + of(each), 0);
    say(
      `proved and verified ${proved.length} runs by three commands each after ${seconds()}: ` +
        `${sum((each) => each.events)} events, ${(sum((each) => each.bytes) / 2 ** 20).toFixed(1)} MiB of bundles, ` +
        `median verification ${median(proved.map(({ verifyMs }) => verifyMs)).toFixed(1)} ms`,
    );
    const small = readFileSync(await smallBundle(plane));
    const trust = parseTrust(plane.trust);
    flipAll(small, trust, 'both keys trusted');
    flipAll(small, { ...trust, keys: trust.keys.slice(0, 1) }, 'Ed25519 trusted');
    say(`flipped after ${seconds()}`);
  } finally {
    await plane.stop();
  }
  const fsck = await plane.run(['log', 'fsck', '--data', plane.dataDir, '--deep', '-o', 'json']);
  const { leaves, checkpoints, found } = JSON.parse(fsck.stdout) as Record<string, number>;
  say(`log fsck --deep: ${leaves} leaves, ${checkpoints} checkpoints, ${found} faults; ${seconds()}`);
  rmSync(plane.folder, { recursive: true });
}

await main();
