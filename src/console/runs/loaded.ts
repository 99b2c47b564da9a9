/**
 * Reads a run for its page: the first events at once, so that the page opens with them, and the rest while the reader
 * looks. Bounded: `isCut` says that the run has more. Tested by `test/console/runs/page.long.test.ts`.
 */
import { useEffect, useState } from 'preact/hooks';
import type { ShownApproval } from '../../contract/approvals.ts';
import type { AuditEvent } from '../../contract/events.ts';
import type { PolicyEvaluationRecord } from '../../contract/governance.ts';
import { limits } from '../../contract/limits.ts';
import type { Client } from '../../client/create.ts';
import { readAll } from './read-all.ts';
import type { RunParts } from './timeline.ts';

export interface LoadedRun extends RunParts {
  readonly isComplete: boolean;
  /** Parts that the run has more of than the page reads. */
  readonly cut: readonly ('events' | 'decisions' | 'approvals')[];
  readonly error: unknown;
}

const firstEvents = 200;

const readEvents = (client: Client, { runId, signal, seen }: Reading<AuditEvent>): Promise<boolean> =>
  readAll(
    async (cursor, before) => {
      const page = before === 0 ? firstEvents : limits.eventPageMax;
      const limit = Math.min(page, limits.consoleRunEvents - before);
      const { body } = await client.listEvents({ query: { runId, limit, cursor }, signal });
      return { rows: body.events, nextCursor: body.nextCursor };
    },
    { most: limits.consoleRunEvents, seen },
  );

const readEvaluations = (
  client: Client,
  { runId, signal, seen }: Reading<PolicyEvaluationRecord>,
): Promise<boolean> =>
  readAll(
    async (cursor) => {
      const query = { runId, limit: limits.pageMax, cursor };
      const { body } = await client.listPolicyEvaluations({ query, signal });
      return { rows: body.data, nextCursor: body.nextCursor };
    },
    { most: limits.consoleRunDecisions, seen },
  );

interface Reading<Row> {
  readonly runId: string;
  readonly signal: AbortSignal;
  readonly seen: (rows: readonly Row[]) => void;
}

const start: LoadedRun = {
  events: [],
  evaluations: [],
  approvals: [],
  isComplete: false,
  cut: [],
  error: null,
};

export function useRun(client: Client, runId: string): LoadedRun & { readonly reload: () => void } {
  const [run, setRun] = useState<LoadedRun>(start);
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const add = (part: Partial<LoadedRun>): void => {
      if (!signal.aborted) setRun((before) => ({ ...before, ...part }));
    };
    setRun(start);
    Promise.all([
      readEvents(client, { runId, signal, seen: (events) => add({ events }) }),
      readEvaluations(client, { runId, signal, seen: (evaluations) => add({ evaluations }) }),
      client.listApprovals({ query: { runId, limit: limits.pageMax }, signal }).then(({ body }) => {
        const approvals: readonly ShownApproval[] = body.data;
        add({ approvals });
        return body.nextCursor !== null;
      }),
    ]).then(
      ([events, decisions, approvals]) =>
        add({
          isComplete: true,
          cut: [
            ...(events ? ['events' as const] : []),
            ...(decisions ? ['decisions' as const] : []),
            ...(approvals ? ['approvals' as const] : []),
          ],
        }),
      (error: unknown) => add({ error }),
    );
    return () => stop.abort();
  }, [client, runId, round]);
  return { ...run, reload: () => setRound((before) => before + 1) };
}
