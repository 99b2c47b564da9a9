/**
 * Which tool calls, results, refusals, prompts and calls of models others than the OTLP receiver have recorded in a run:
 * hooks, proxies, the SDK and transcripts. They are read from the log when a request reports calls of the run, so that recording events costs nothing
 * more. A process remembers the newest runs; each event is read once. A run that only telemetry writes costs one row a
 * request. Tested by `test/service/coverage/handlers.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { claimedKeys, sourceOf } from '../../core/coverage/report.ts';
import { Sightings } from '../../core/coverage/sightings.ts';
import { valuesAt } from '../../core/events/bodies.ts';
import { readRecord } from '../../core/events/run-entry.ts';
import type { ReceivedEvent } from '../../core/intake/receive.ts';
import type { LeafOutcome, Leaf, RunSummary, StoreReader } from '../../store/port/store.ts';
import type { Services } from '../port/services.ts';

export interface KnownCalls {
  has(runId: string, key: string | null): boolean;
  /** Prompts and calls of models that others recorded in the run. */
  sightings(runId: string): Sightings;
}

interface KnownRun {
  /** Events of the run that were read or that the receiver wrote itself. */
  events: number;
  /** The newest leaf that was read. */
  through: number;
  readonly keys: Set<string>;
  readonly sightings: Sightings;
}

const members =
  'content toolCallId importer timestampSource recordedBy evaluationId observed extra modelResponseId'.split(
    ' ',
  );
const wanted = new Set(['/actor/role', ...members.map((member) => `/metadata/${member}`)]);
const callTypes = ['tool.call', 'tool.result', 'tool.denied'];
const sightedTypes = ['prompt.submitted', 'x.prompt.observed', 'model.invoked', 'x.model.observed'];
const pageEvents = 500;

class RecordedCalls {
  readonly #runs = new Map<string, KnownRun>();

  /** Reads the calls of the runs of these events. */
  async of(
    { store, slices }: Pick<Services, 'store' | 'slices'>,
    projectId: string,
    events: readonly ReceivedEvent[],
  ): Promise<KnownCalls> {
    const found = new Map<string, KnownRun>();
    const slice = slices.of(projectId);
    for (const runId of new Set(events.map(({ event }) => event.runId))) {
      const run = await store.run(projectId, runId);
      const known = this.#known(projectId, runId);
      if (run !== null && known.events !== run.events) {
        await extend(known, { store, projectId, run, breathe: () => slice.next() });
      }
      found.set(runId, known);
    }
    return {
      has: (runId, key) => key !== null && found.get(runId)?.keys.has(key) === true,
      sightings: (runId) => found.get(runId)?.sightings ?? new Sightings(),
    };
  }

  #known(projectId: string, runId: string): KnownRun {
    const name = `${projectId} ${runId}`;
    const known = this.#runs.get(name) ?? {
      events: 0,
      through: -1,
      keys: new Set(),
      sightings: new Sightings(),
    };
    this.#runs.delete(name);
    this.#runs.set(name, known);
    for (const oldest of this.#runs.keys()) {
      if (this.#runs.size <= limits.otlpRunsKnown) break;
      this.#runs.delete(oldest);
    }
    return known;
  }

  /** Counts events that the receiver wrote itself, so that they are not read back. */
  appended(
    projectId: string,
    leaves: readonly { readonly runId: string }[],
    assigned: readonly LeafOutcome[],
  ): void {
    leaves.forEach(({ runId }, at) => {
      const known = this.#runs.get(`${projectId} ${runId}`);
      if (known !== undefined && assigned[at]?.outcome === 'appended') known.events += 1;
    });
  }
}

interface CallsRequest {
  readonly store: StoreReader;
  readonly projectId: string;
  readonly run: RunSummary;
  readonly breathe: () => Promise<void>;
}

/** Reads the calls since the last read, newest first and at most `limits.otlpCallsKnown` of each type. */
async function extend(known: KnownRun, { store, projectId, run, breathe }: CallsRequest): Promise<void> {
  const { runId, events, lastIndex } = run;
  for (const eventType of [...callTypes, ...sightedTypes]) {
    let after: number | undefined;
    for (let read = 0; read < limits.otlpCallsKnown; read += pageEvents) {
      const page = { ...(after === undefined ? {} : { after }), limit: pageEvents, order: 'desc' } as const;
      const fresh = { ...page, fromIndex: Math.max(known.through + 1, await store.prunedBelow(projectId)) };
      const leaves = await store.events(projectId, { runId, eventType }, fresh);
      for (const leaf of leaves) note(known, leaf);
      if (leaves.length < pageEvents) break;
      after = leaves.at(-1)?.index;
      await breathe();
    }
  }
  for (const oldest of known.keys) {
    if (known.keys.size <= callTypes.length * limits.otlpCallsKnown) break;
    known.keys.delete(oldest);
  }
  known.sightings.trim(sightedTypes.length * limits.otlpCallsKnown);
  known.events = events;
  known.through = lastIndex;
}

function note({ keys, sightings }: KnownRun, { record, disclosures }: Leaf): void {
  const values = disclosures === null ? new Map<string, never>() : valuesAt(disclosures, wanted);
  const metadata = Object.fromEntries(
    [...values].map(([pointer, value]) => [pointer.slice('/metadata/'.length), value]),
  );
  if (sourceOf(metadata) === 'otlp') return;
  const eventType = readRecord(record)?.eventType ?? '';
  for (const key of claimedKeys({ eventType, metadata })) keys.add(key);
  sightings.add({ eventType, metadata, actor: { role: values.get('/actor/role') } });
}

const byProcess = new WeakMap<Services['runs'], RecordedCalls>();

/** The calls that the process of these services remembers. */
export function recordedCalls({ runs }: Pick<Services, 'runs'>): RecordedCalls {
  const known = byProcess.get(runs) ?? new RecordedCalls();
  byProcess.set(runs, known);
  return known;
}
