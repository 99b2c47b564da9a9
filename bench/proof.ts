/**
 * Benchmark of the cost of a proof: derive the graph of a run, check its integrity, verify a bundle, walk
 * lineage. The floor of each is the inevitable work: parse the same text once and hash the same bytes once.
 * `node bench/proof.ts [events]`
 */
import { hash } from 'node:crypto';
import { bundleText } from '../src/core/proofs/bundle.ts';
import { GraphBuilder } from '../src/core/graphs/builder.ts';
import { GraphUnion } from '../src/core/graphs/union.ts';
import { IntegrityJudge } from '../src/core/proofs/integrity.ts';
import { RunGraph } from '../src/core/graphs/lineage.ts';
import { readRunEvent, type RunEvent, type RunLeaf } from '../src/core/events/run-entry.ts';
import { verifyBundle } from '../src/core/proofs/verify.ts';
import { ProofLog, trust } from '../test/core/proofs/log.ts';
import { alternate, milliseconds, report } from './support/harness.ts';

const events = Number(process.argv[2] ?? 20_000);
const rounds = 7;
const enclosed = 1000;

function recordRun(count: number): { log: ProofLog; leaves: RunLeaf[] } {
  const log = new ProofLog();
  const leaves: RunLeaf[] = [];
  for (let at = 0; at < count; at++) {
    const kind = at % 3;
    const call = `call_${at - kind}`;
    const { index, record, disclosures } = log.record({
      runId: 'run',
      clientEventId: `run:${at}`,
      eventType: ['model.invoked', 'tool.call', 'tool.result'][kind] ?? '',
      ...(kind === 1 ? { resource: { name: 'search', type: 'tool' } } : {}),
      ...(at > 3 ? { causedBy: [`run:${at - 1}`] } : {}),
      metadata: {
        tokens: 123,
        note: 'a few words',
        ...(kind === 0 ? { toolCallIds: [call] } : { toolCallId: call }),
      },
    });
    leaves.push({ index, record, disclosures });
  }
  return { log, leaves };
}

const { leaves } = recordRun(events);
const read = leaves.map(readRunEvent);
const bundle = Buffer.from(bundleText(recordRun(enclosed).log.prove('run')));

const derive = (list: readonly RunEvent[]): void => {
  const builder = new GraphBuilder('run');
  for (const event of list) {
    builder.add(event);
    builder.drain();
  }
  builder.at();
};

const judge = (list: readonly RunEvent[]): void => {
  const integrity = new IntegrityJudge('run', events + 1);
  for (const event of list) integrity.add(event, event.hash);
  integrity.finish();
};

const graph = new RunGraph();
const union = new GraphUnion('run', graph);
for (const event of read) union.add(event);
union.end();
const last = read.at(-1)?.clear?.eventId ?? '';

const figures = await alternate(
  {
    floor: () =>
      milliseconds(() => {
        for (const { record, disclosures } of leaves) {
          hash('sha256', record, 'hex');
          JSON.parse(disclosures ?? 'null');
        }
      }),
    read: () => milliseconds(() => leaves.map(readRunEvent)),
    derive: () => milliseconds(() => derive(read)),
    judge: () => milliseconds(() => judge(read)),
    lineage: () => milliseconds(() => graph.lineage(last)),
    bundleFloor: () =>
      milliseconds(() => {
        JSON.parse(bundle.toString());
        hash('sha256', bundle, 'hex');
      }),
    verify: () => milliseconds(() => verifyBundle(bundle, trust)),
  },
  rounds,
);

const row = (
  name: keyof typeof figures,
  floor: keyof typeof figures,
  of: { count: number; what: string },
) => ({
  ratio: `${(figures[name] / figures[floor]).toFixed(1)}×`,
  figure: `${((1000 * figures[name]) / of.count).toFixed(2)} µs`,
  what: of.what,
});
const perEvent = (what: string) => ({ count: events, what: `${what}, per event` });

report(`A run of ${events} events`, [
  row('floor', 'floor', perEvent('floor: parse the bodies, hash the record')),
  row('read', 'floor', perEvent('read the record')),
  row('derive', 'floor', perEvent('derive and commit the graph')),
  row('judge', 'floor', perEvent('judge integrity')),
  row('lineage', 'floor', { count: 1, what: `lineage in ${graph.size} nodes, as a whole` }),
]);
report(`A bundle of ${enclosed} events, ${bundle.length} bytes`, [
  row('bundleFloor', 'bundleFloor', { count: 1, what: 'floor: parse it, hash it, as a whole' }),
  row('verify', 'bundleFloor', { count: 1, what: 'verify it, as a whole' }),
]);
