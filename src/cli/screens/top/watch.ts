/**
 * `gov top` and `gov plane status --watch`: samples once a second, onto a screen or as one JSON object a line.
 * Tested by `test/cli/screens/top.test.ts`.
 */
import { pause } from '../../../client/retry.ts';
import { readRunFile } from '../../context/run-file.ts';
import type { Invocation } from '../../context/command.ts';
import { exit, usage } from '../../program/exit.ts';
import { plainView } from '../../terminal/view.ts';
import { yamlLines } from '../../terminal/yaml.ts';
import { canShow, showWith } from '../start.ts';
import { Store } from '../store.ts';
import { Sampler, whyNoSample, type TopSample } from './sample.ts';
import { reduceTop, topState } from './state.ts';

type Call = Pick<Invocation, 'io' | 'out' | 'settings' | 'session' | 'signal'>;

interface TopOptions {
  readonly intervalMs?: number | undefined;
  /** Samples of data, not of a screen; undefined: without end. */
  readonly count?: number | undefined;
  readonly ascii: boolean;
}

/** The default, and the least: a sample is several requests. */
const leastIntervalMs = 1000;
/** A sample that takes longer has failed. */
const patienceMs = 5000;

/** Exit 3 where the last sample shows an installation that is not ok. */
export async function watchTop(call: Call, watching: TopOptions): Promise<number> {
  const { session, io, out } = call;
  const { intervalMs = leastIntervalMs } = watching;
  if (intervalMs < leastIntervalMs) throw usage(`--interval: expected at least 1s, got ${intervalMs} ms`);
  const context = session.context();
  const dataDir = context?.context.kind === 'plane' ? context.context.dataDir : null;
  const address = session.baseUrl().value;
  const client = await session.client({ retries: 0, timeoutMs: patienceMs });
  const sampler = new Sampler({
    client,
    address,
    context: context?.name ?? null,
    metricsUrl: () => (dataDir === null ? null : readRunFile(dataDir).metricsUrl),
    env: io.env,
    now: io.now,
  });
  if (watching.count === undefined && (await canShow(call))) {
    const target = context === null ? address : `${context.name}  ${address}`;
    const store = new Store(topState(target, io.now()), reduceTop);
    await showWith(call, { name: 'top', store, ascii: watching.ascii }, (signal) =>
      sample({ sampler, store, intervalMs, now: io.now, signal }),
    );
    return exit.ok;
  }
  if (out.format === 'csv' || out.format === 'id')
    throw usage(`--output: expected ndjson, json or yaml for samples, got ${out.format}`);
  // -o json prints exactly one value
  const count = watching.count ?? (out.format === 'json' ? 1 : Infinity);
  return asData(call, { sampler, intervalMs, count });
}

async function asData(
  { out, signal }: Call,
  { sampler, intervalMs, count }: { sampler: Sampler; intervalMs: number; count: number },
): Promise<number> {
  if (out.format === 'json' && count !== 1)
    throw usage('--output json: expected --count 1', 'give -o ndjson');
  for (let taken = 1; ; taken += 1) {
    const sample = await sampler.take();
    out.verdict = sample.status === 'ok' ? exit.ok : exit.checkFailed;
    await print(sample, out);
    if (taken >= count) return out.verdict;
    await pause(intervalMs, signal);
  }
}

async function print(sample: TopSample, out: Call['out']): Promise<void> {
  if (out.format === 'json') return out.one(sample, plainView(Object.keys(sample)));
  if (out.format === 'yaml') return out.lines(yamlLines(sample));
  return out.json(sample, 0);
}

interface SamplePump {
  readonly sampler: Pick<Sampler, 'take'>;
  readonly store: Store<ReturnType<typeof topState>, Parameters<typeof reduceTop>[1]>;
  readonly intervalMs: number;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/** Samples until the signal. A failure is shown, and does not end it; only a bug rejects. */
async function sample({ sampler, store, intervalMs, now, signal }: SamplePump): Promise<void> {
  while (!signal.aborted) {
    if (!store.get().isPaused) {
      try {
        store.dispatch({ kind: 'sample', sample: await sampler.take(), atMs: now() });
      } catch (cause) {
        if (signal.aborted) return;
        store.dispatch({ kind: 'failed', why: whyNoSample(cause) });
      }
    }
    await pause(intervalMs, signal).catch(() => undefined);
  }
}
