/**
 * Counts what became of the records of each source of telemetry: in all (contract P18), and on this day.
 * Proven by `test/service/events/sources.engines.test.ts` and `test/http/otlp/day-balance.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { isObservation } from '../../core/coverage/join.ts';
import { extendDay, inheritMore, type DayBalance } from '../../core/intake/otlp/day-balance.ts';
import {
  extendSequence,
  extendService,
  extendSource,
  serviceId,
  type SequenceState,
  type ServiceState,
  type SourceActivity,
  type SourceState,
} from '../../core/intake/otlp/sources.ts';
import type { Batch, IntakeResult, ReceivedEvent } from '../../core/intake/receive.ts';
import type { Services } from '../port/services.ts';
import { append } from '../writes/append.ts';
import { dayFact } from './day-balances.ts';
import { factNames, Facts } from './facts.ts';
import { rejection, type JudgedEvent } from './judge.ts';

const attempts = 5;

interface NoteInput {
  readonly received: IntakeResult;
  readonly events: readonly ReceivedEvent[];
  readonly judged: readonly JudgedEvent[];
  readonly facts: Facts;
  readonly atMs: number;
}

/** Counts the records of each source, and the numbers that are missing from its sessions. */
export function noteSources(batch: Batch, { received, events, judged, facts, atMs }: NoteInput): void {
  const added = new Map([...batch.sources].map(([id, counted]) => [id, { ...counted }]));
  for (const [id, count] of received.filtered) bump(added, id, 'filtered', count);
  const rejected = new Set(events.flatMap(({ record }, at) => (isFault(judged[at]) ? [record] : [])));
  const isKept = (at: number): boolean => !rejected.has(events[at]?.record ?? -1);
  const recorded = ownRecords(events);
  for (const [id, records] of recordsBy(events, isKept)) {
    bump(added, id, 'kept', records.size);
    bump(added, id, 'observed', [...records].filter((record) => !recorded.has(record)).length);
  }
  for (const [id, records] of recordsBy(events, (at) => !isKept(at))) {
    bump(added, id, 'rejected', records.size);
    const counted = added.get(id);
    const first = judged.find(isFault);
    if (counted !== undefined && first !== undefined && 'fault' in first)
      counted.rejectedWhy ??= rejection(first.fault);
  }
  for (const [id, records] of recordsBy(received.events, () => true)) {
    const kept = new Set(events.map(({ record }) => record));
    bump(added, id, 'repeated', [...records].filter((record) => !kept.has(record)).length);
  }
  for (const [id, { source, numbers }] of batch.sequences) {
    const before = facts.json<SequenceState>(factNames.sequence + id);
    const { state, missing } = extendSequence(before, numbers);
    facts.set(factNames.sequence + id, JSON.stringify(state));
    bump(added, source, 'missing', missing);
  }
  for (const [id, counted] of added) {
    const before = facts.json<SourceState>(factNames.source + id);
    facts.set(factNames.source + id, JSON.stringify(extendSource(before, counted, atMs)));
    const name = factNames.service + serviceId(counted.service);
    facts.set(name, JSON.stringify(extendService(facts.json<ServiceState>(name), counted.service, atMs)));
    const today = dayFact(id, atMs);
    facts.set(today, JSON.stringify(extendDay(facts.json<DayBalance>(today), counted, atMs)));
  }
}

type Count = 'kept' | 'observed' | 'repeated' | 'filtered' | 'rejected' | 'missing';

function bump(added: ReadonlyMap<string, SourceActivity>, id: string, count: Count, more: number): void {
  const counted = added.get(id);
  if (counted !== undefined) counted[count] += more;
}

/** Records with an event that is no observation. */
const ownRecords = (events: readonly ReceivedEvent[]): ReadonlySet<number> =>
  new Set(events.flatMap(({ event, record }) => (isObservation(event.eventType) ? [] : [record])));

/** Records of chosen events, by source. A link of a run is no record. */
function recordsBy(
  events: readonly ReceivedEvent[],
  isChosen: (at: number) => boolean,
): Map<string, Set<number>> {
  const found = new Map<string, Set<number>>();
  events.forEach(({ record, source }, at) => {
    if (record < 0 || !isChosen(at)) return;
    found.set(source, (found.get(source) ?? new Set()).add(record));
  });
  return found;
}

export const isFault = (judged: JudgedEvent | undefined): boolean =>
  judged !== undefined && 'fault' in judged;

/** Moves repeated records from one count to the other. A crash before it leaves them counted as kept. */
export async function countRepeated(
  services: Services,
  projectId: string,
  { events, repeated }: { readonly events: readonly ReceivedEvent[]; readonly repeated: ReadonlySet<number> },
): Promise<void> {
  const own = ownRecords(events);
  const sources = recordsBy(events, (at) => repeated.has(events[at]?.record ?? -1));
  for (let attempt = 0; attempt < attempts; attempt++) {
    const atMs = services.now();
    const facts = new Facts(services, { projectId, atMs });
    await facts.load([...sources.keys()].flatMap((id) => [factNames.source + id, dayFact(id, atMs)]));
    for (const [id, records] of sources) {
      const { size } = records;
      const before = facts.json<SourceState>(factNames.source + id);
      if (before === null) continue;
      const after = { ...before, kept: before.kept - size, repeated: before.repeated + size };
      facts.set(factNames.source + id, JSON.stringify(after));
      const today = facts.json<DayBalance>(dayFact(id, atMs));
      const recorded = [...records].filter((record) => own.has(record)).length;
      // a request of the day before, at midnight, stays counted as it was
      if (today !== null)
        facts.set(
          dayFact(id, atMs),
          JSON.stringify(inheritMore(today, { recorded, observed: size - recorded })),
        );
    }
    try {
      await append(services, { projectId, leaves: [], effects: facts.effects() });
      return;
    } catch (error) {
      if (!(error instanceof GovError && error.code === 'CONFLICT')) throw error;
    }
  }
}
