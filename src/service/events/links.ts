/**
 * Events that lead from one run to another: from a conversation to the run in which its trace began, and from the run in
 * which `gov run` started a program to the conversations that the program names.
 * Proven by `test/http/otlp/receive.engines.test.ts`.
 */
import type { EventInput } from '../../contract/events.ts';
import { unnamedRun, type IntakeResult, type ReceivedEvent } from '../../core/intake/receive.ts';
import { sha256 } from '../../core/hash.ts';
import { formatTimestamp } from '../../core/time.ts';
import { factNames, type Facts } from './facts.ts';

/** A run that names another one, and the fact that says so. */
interface Start {
  readonly run: string;
  readonly conversation: string;
  readonly name: string;
}

export function startsOf({ events }: IntakeResult): Start[] {
  const starts = new Map<string, Start>();
  for (const { startedIn: run, event } of events) {
    if (run === null || run === event.runId) continue;
    const conversation = event.runId;
    const name = `${factNames.link}${sha256(JSON.stringify([run, conversation])).toString('hex', 0, 16)}`;
    starts.set(name, { run, conversation, name });
  }
  return [...starts.values()];
}

interface LinkContext {
  /** Runs by trace id, as earlier requests made them known. */
  readonly known: ReadonlyMap<string, string>;
  readonly atMs: number;
  readonly facts: Facts;
}

/** An event that the receiver adds to those of the records. */
export const ofNoRecord = (event: EventInput, source: string): ReceivedEvent => ({
  event,
  record: -1,
  source,
  call: null,
  report: null,
  isNumbered: false,
  startedIn: null,
});

export function linksOf(received: IntakeResult, { known, atMs, facts }: LinkContext): ReceivedEvent[] {
  const source = received.events[0]?.source ?? '';
  const link = (runId: string, to: string, key: string, metadata: Record<string, unknown>): ReceivedEvent =>
    ofNoRecord(
      {
        runId,
        eventType: 'run.linked',
        actor: { name: 'gov', role: 'system' },
        resource: { name: to, type: 'run' },
        action: 'link',
        timestamp: formatTimestamp(atMs),
        metadata: { importer: 'otlp', ...metadata, run: to, timestampSource: 'import' },
        clientEventId: `otlp:link.${key}`,
      },
      source,
    );
  const begun = [...received.traces].flatMap(([trace, run]) => {
    const before = known.get(trace);
    if (before === undefined || before === run || before !== unnamedRun(trace)) return [];
    return [link(run, before, trace, { traceId: trace })];
  });
  const started = startsOf(received).flatMap(({ run, conversation, name }) => {
    if (facts.get(name) !== null) return [];
    facts.set(name, conversation);
    return [link(run, conversation, name.slice(factNames.link.length), {})];
  });
  return [...begun, ...started];
}
