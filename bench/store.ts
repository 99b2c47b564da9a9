/**
 * Benchmark of the append path over recorded runs. The floor is a bare better-sqlite3 insert of the same final
 * rows and indexes with the same durability. Then measures commits of 1, 64 and 500 events, latencies, checked
 * reads, and bytes on disk. `node bench/store.ts`
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Bare } from './support/floor.ts';
import { saltPool } from '../src/core/events/disclosure.ts';
import { draftEvent, draftLeaf, type EventDraft } from '../src/core/events/record.ts';
import type { EventInput } from '../src/contract/events.ts';
import type { AppendRequest } from '../src/store/port/store.ts';
import { openStore, type SqliteStore } from '../src/store/sqlite/store.ts';
import { storeFiles } from '../src/store/file/paths.ts';
import {
  alternate,
  dataRoot,
  discard,
  milliseconds,
  percentile,
  report,
  scratch,
  share,
} from './support/harness.ts';

interface Message {
  role: string;
  content: string | null;
  name?: string;
  tool_call_id?: string;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
}
interface Recorded {
  task_id: number;
  trial: number;
  traj: Message[];
}

const recorded = JSON.parse(
  readFileSync(join(dataRoot, 'tau-bench/gpt-4o-airline.json'), 'utf8'),
) as Recorded[];

/** Recorded messages as an importer sends them. `round` makes ids new. */
function eventsOf(round: number): EventInput[] {
  let seconds = 0;
  return recorded.flatMap(({ task_id: task, trial, traj }) => {
    const runId = `tau-${task}-${trial}-${round}`;
    let step = 0;
    const event = (eventType: string, who: string, metadata: Record<string, unknown>): EventInput => ({
      runId,
      eventType,
      actor: { name: who, role: who === 'customer' ? 'user' : 'agent' },
      ...(eventType.startsWith('tool.') ? { resource: { name: who, type: 'tool' } } : {}),
      action: eventType.split('.')[1] ?? 'do',
      timestamp: new Date(Date.UTC(2026, 0, 1) + (seconds += 1) * 1000).toISOString(),
      metadata: { ...metadata, timestampSource: 'import' },
      clientEventId: `${runId}:${step++}`,
    });
    return traj.flatMap((message) => {
      if (message.role === 'user')
        return [event('prompt.submitted', 'customer', { content: message.content })];
      if (message.role === 'tool') {
        const { tool_call_id: toolCallId, content, name = 'tool' } = message;
        return [event('tool.result', name, { toolCallId, result: content, status: 'ok' })];
      }
      if (message.role === 'system') return [event('run.started', 'tau-bench', { prompt: message.content })];
      const calls = message.tool_calls ?? [];
      const toolCallIds = calls.map(({ id }) => id);
      return [
        event('model.invoked', 'gpt-4o', { model: 'gpt-4o', content: message.content, toolCallIds }),
        ...calls.map(({ id, function: { name, arguments: given } }) =>
          event('tool.call', name, { toolCallId: id, arguments: JSON.parse(given) as unknown }),
        ),
      ];
    });
  });
}

const projectId = 'prj_bench';
const salt = saltPool(randomBytes);
const draft = (event: EventInput): EventDraft => {
  const drafted = draftEvent(event, Date.parse(event.timestamp), salt);
  if ('code' in drafted) throw new Error(drafted.detail);
  return drafted;
};
const request = (events: readonly EventInput[]): AppendRequest => ({
  projectId,
  leaves: events.map(draft),
  meter: { op: 'audit_event', units: 'accepted' },
  fingerprints: new Map(events.map((_, at) => [at, 'f'.repeat(43)])),
});

async function newStore(folder: string): Promise<SqliteStore> {
  const store = openStore({ dataDir: folder, clock: Date, randomBytes, reserveBytes: 0 });
  await store.createProject(
    {
      projectId,
      organizationId: 'org_bench',
      environment: 'production',
      auditOrigin: 'bench/audit',
      meteringOrigin: 'bench/metering/0',
    },
    draftLeaf('gov.genesis/1', {}),
  );
  return store;
}

const batches = (events: readonly EventInput[], size: number): EventInput[][] =>
  Array.from({ length: Math.ceil(events.length / size) }, (_, at) =>
    events.slice(at * size, (at + 1) * size),
  );

/** A store that grows over the rounds, so that its files are as warm as those of a running plane. */
class Ours {
  readonly folder = scratch();
  readonly #opened = newStore(this.folder);

  /** Events a second. Several callers take turns. */
  async append(options: {
    batch: number;
    callers?: number;
    count?: number;
    drafted?: boolean;
  }): Promise<number> {
    const { batch, callers = 1, drafted = false } = options;
    const store = await this.#opened;
    const events = eventsOf(round++).slice(0, options.count);
    const works = batches(events, Math.ceil(events.length / callers)).map((own) =>
      batches(own, batch).map((part) => (drafted ? request(part) : part)),
    );
    const ms = await milliseconds(() =>
      Promise.all(
        works.map(async (own) => {
          for (const work of own) await store.append(Array.isArray(work) ? request(work) : work);
        }),
      ),
    );
    return (events.length / ms) * 1000;
  }

  async close(): Promise<void> {
    await (await this.#opened).close();
    discard(this.folder);
  }
}

/** Makes ids new. */
let round = 0;

const rounds = Number(process.argv[2] ?? 7);
const filledFolder = scratch();
const filled = await newStore(filledFolder);
const sample = eventsOf(round++);
for (const batch of batches(sample, 500)) await filled.append(request(batch));
await filled.close();
const filledPath = storeFiles(filledFolder).main;

const bare = new Bare(filledPath);
const stores = Array.from({ length: 5 }, () => new Ours());
const [whole, alone, small, many, single] = stores as [Ours, Ours, Ours, Ours, Ours];
const variants = {
  'bare insert of the same rows, 500 a transaction': () => bare.insert(500),
  'bare insert of the same rows, 64 a transaction': () => bare.insert(64),
  'bare insert of the same rows, one event a transaction': () => bare.insert(1, 1500),
  'draft + append, batches of 500': () => whole.append({ batch: 500 }),
  'append alone (drafted before), batches of 500': () => alone.append({ batch: 500, drafted: true }),
  'draft + append, batches of 64': () => small.append({ batch: 64 }),
  'draft + append, 64 callers of single events': () => many.append({ batch: 1, callers: 64 }),
  'draft + append, one event at a time': () => single.append({ batch: 1, count: 1500 }),
};
await alternate(variants, 3); // warms code and files
const rates = await alternate(variants, rounds);
bare.close();
for (const each of stores) await each.close();
const floor = rates['bare insert of the same rows, 500 a transaction'];
report(
  `append: ${sample.length} events, medians of ${rounds}`,
  Object.entries(rates).map(([what, rate]) => ({
    ratio: share(rate, floor),
    figure: `${rate.toFixed(0)}/s`,
    what,
  })),
);

const store = openStore({ dataDir: filledFolder, clock: Date, randomBytes, reserveBytes: 0 });
const commits: number[] = [];
for (let more = 0; more < 12; more += 1) {
  for (const batch of batches(eventsOf(round++), 500)) {
    const drafted = request(batch);
    commits.push(await milliseconds(() => store.append(drafted)));
  }
}
const { size } = await store.head(projectId, 'audit');
const runId = `tau-0-0-0`;
const reads = await alternate(
  {
    'one leaf with its body, checked': () =>
      milliseconds(async () => {
        for (let at = 1; at < size; at += 100) await store.leaf(projectId, at);
      }).then((ms) => (ms * 1000) / (size / 100)),
    'a leaf of a page of 1000, checked': () =>
      milliseconds(() => store.leaves(projectId, 'audit', { from: 1000, to: 2000 })),
    'a page of one run, per event': () =>
      milliseconds(() => store.events(projectId, { runId }, { limit: 1000, order: 'asc' })).then(
        (ms) => (ms * 1000) / 30,
      ),
  },
  5,
);
report(
  'reads',
  Object.entries(reads).map(([what, us]) => ({ ratio: '', figure: `${us.toFixed(1)} µs`, what })),
);
await store.close();
report('on the disk, and commits of 500', [
  {
    ratio: '',
    figure: `${(statSync(filledPath).size / size).toFixed(0)} B`,
    what: 'database bytes per event',
  },
  ...[0.5, 0.9, 0.99, 1].map((p) => ({
    ratio: '',
    figure: `${percentile(commits, p).toFixed(1)} ms`,
    what: `p${p * 100} of ${commits.length} appends of 500 drafted events`,
  })),
]);
discard(filledFolder);
