/**
 * Reads a run for its page: the first events at once, so that the page opens with them, the rest while the reader looks,
 * and then what is recorded meanwhile. Bounded: `cut` says of what the run has more. Tested by
 * `test/console/runs/page.long.test.ts` and `test/console/runs/open.test.ts`.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ShownApproval } from '../../contract/approvals.ts';
import type { AuditEvent } from '../../contract/events.ts';
import type { PolicyEvaluationRecord } from '../../contract/governance.ts';
import { limits } from '../../contract/limits.ts';
import type { Client } from '../../client/create.ts';
import { isLost, reportLoss, useBack } from '../app/connection.tsx';
import { useRepeat } from '../app/repeat.ts';
import { readAll, readNewer } from './read-all.ts';
import type { RunParts } from './timeline.ts';

export interface LoadedRun extends RunParts {
  readonly isComplete: boolean;
  /** Parts that the run has more of than the page reads. */
  readonly cut: readonly ('events' | 'decisions' | 'approvals')[];
  readonly error: unknown;
  /** How often the page found something new. */
  readonly news: number;
}

const firstEvents = 200;

/** Milliseconds between looks for what is new, and how many rows the first page of a look has. */
const [lookMs, lookRows] = [10_000, 10];

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

async function readApprovals(client: Client, runId: string, signal: AbortSignal): Promise<Approvals> {
  const { body } = await client.listApprovals({ query: { runId, limit: limits.pageMax }, signal });
  return { rows: body.data, isCut: body.nextCursor !== null };
}

interface Approvals {
  readonly rows: readonly ShownApproval[];
  readonly isCut: boolean;
}

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
  news: 0,
};

/** What was recorded since `run` was read whole: undefined for nothing, null for more than the page reads. */
async function readNews(
  client: Client,
  runId: string,
  { run, signal }: { readonly run: LoadedRun; readonly signal: AbortSignal },
): Promise<Partial<LoadedRun> | null | undefined> {
  const { events, evaluations } = run;
  const [newEvents, newEvaluations, approvals] = await Promise.all([
    readNewer(
      async (cursor) => {
        const limit = cursor === undefined ? lookRows : limits.eventPageMax;
        const { body } = await client.listEvents({ query: { runId, order: 'desc', limit, cursor }, signal });
        return { rows: body.events, nextCursor: body.nextCursor };
      },
      {
        isKnown: ({ eventId }) => eventId === events.at(-1)?.eventId,
        most: limits.consoleRunEvents - events.length,
      },
    ),
    readNewer(
      async (cursor) => {
        const query = { runId, limit: cursor === undefined ? lookRows : limits.pageMax, cursor };
        const { body } = await client.listPolicyEvaluations({ query, signal });
        return { rows: body.data, nextCursor: body.nextCursor };
      },
      {
        isKnown: ({ id }) => id === evaluations[0]?.id,
        most: limits.consoleRunDecisions - evaluations.length,
      },
    ),
    readApprovals(client, runId, signal),
  ]);
  if (newEvents === null || newEvaluations === null) return null;
  const isSame = JSON.stringify(approvals.rows) === JSON.stringify(run.approvals);
  if (newEvents.length === 0 && newEvaluations.length === 0 && isSame) return undefined;
  return {
    events: [...events, ...newEvents.toReversed()],
    evaluations: [...newEvaluations, ...evaluations],
    approvals: approvals.rows,
    cut: approvals.isCut ? ['approvals'] : [],
  };
}

export interface OpenRun extends LoadedRun {
  readonly reload: () => void;
}

export function useRun(client: Client, runId: string): OpenRun {
  const [run, setRun] = useState<LoadedRun>(start);
  const [round, setRound] = useState(0);
  const stop = useRef(new AbortController());
  const add = (part: Partial<LoadedRun>, signal: AbortSignal): void => {
    if (!signal.aborted) setRun((before) => ({ ...before, ...part }));
  };
  useEffect(() => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    setRun(start);
    Promise.all([
      readEvents(client, { runId, signal, seen: (events) => add({ events }, signal) }),
      readEvaluations(client, { runId, signal, seen: (evaluations) => add({ evaluations }, signal) }),
      readApprovals(client, runId, signal).then(({ rows: approvals, isCut }) => {
        add({ approvals }, signal);
        return isCut;
      }),
    ]).then(
      ([events, decisions, approvals]) =>
        add(
          {
            isComplete: true,
            cut: [
              ...(events ? ['events' as const] : []),
              ...(decisions ? ['decisions' as const] : []),
              ...(approvals ? ['approvals' as const] : []),
            ],
          },
          signal,
        ),
      (error: unknown) => add({ error }, signal),
    );
    return () => stop.current.abort();
  }, [client, runId, round]);
  const reload = (): void => setRound((before) => before + 1);
  const look = async (): Promise<void> => {
    const { signal } = stop.current;
    if (!run.isComplete || run.cut.length > 0 || isLost()) return;
    try {
      const news = await readNews(client, runId, { run, signal });
      if (news === null) reload();
      else if (news !== undefined) add({ ...news, error: null, news: run.news + 1 }, signal);
      else if (run.error !== null) add({ error: null }, signal);
    } catch (error) {
      // the line above the page says that the server is gone
      if (!reportLoss(error)) add({ error }, signal);
    }
  };
  useRepeat(look, lookMs);
  useBack(() => void look());
  return { ...run, reload };
}
