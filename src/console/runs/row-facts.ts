/**
 * What a row of the list of runs needs from further calls: its coverage, and its denials. A few rows at a time, so that a
 * list of fifty runs does not start a hundred calls at once.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Run } from '../../contract/events.ts';
import type { Session } from '../browser/session.tsx';
import { coverageWords, type CoverageWords } from './words.ts';

export interface RowFacts {
  readonly coverage: CoverageWords | null;
  /** Denied calls; `isMore`: at least so many. */
  readonly denied: { readonly count: number; readonly isMore: boolean } | null;
}

const atOnce = 4;
const deniedCounted = 100;

async function factsOf({ client }: Session, { runId }: Run, signal: AbortSignal): Promise<RowFacts> {
  const query = { runId, decision: 'deny', eventType: 'tool.evaluated', limit: deniedCounted } as const;
  const [coverage, denied] = await Promise.all([
    client.getRunCoverage({ params: { runId }, signal }).then(({ body }) => coverageWords(body)),
    client.searchEvents({ query, signal }).then(({ body }) => ({
      count: body.events.length,
      isMore: body.nextCursor !== null,
    })),
  ]);
  return { coverage, denied };
}

const failed: RowFacts = { coverage: null, denied: null };

/** By run id; absent while it loads. A run that has more events is asked about once more. A call that fails leaves a dash: the page of the run shows its error. */
export function useRowFacts(session: Session, runs: readonly Run[]): ReadonlyMap<string, RowFacts> {
  const [facts, setFacts] = useState<ReadonlyMap<string, RowFacts>>(new Map());
  /** How many events each run had. */
  const asked = useRef(new Map<string, number>());
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  useEffect(() => {
    const waiting = runs.filter(({ runId, events }) => asked.current.get(runId) !== events);
    for (const { runId, events } of waiting) asked.current.set(runId, events);
    const { signal } = stop.current;
    const work = async (): Promise<void> => {
      for (let run = waiting.shift(); run !== undefined && !signal.aborted; run = waiting.shift()) {
        const { runId } = run;
        const found = await factsOf(session, run, signal).catch(() => failed);
        if (!signal.aborted) setFacts((before) => new Map(before).set(runId, found));
      }
    };
    for (let at = 0; at < atOnce; at += 1) void work();
  }, [session, runs]);
  return facts;
}
