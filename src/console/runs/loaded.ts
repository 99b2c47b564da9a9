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
import { isLost, reportLoss, useBack } from '../browser/connection.tsx';
import { useRepeat } from '../browser/repeat.ts';
import { readAll, readNewer } from '../parts/read-all.ts';
import type { RunParts } from './timeline.ts';

const parts = ['events', 'decisions', 'approvals'] as const;
type Part = (typeof parts)[number];

export interface LoadedRun extends RunParts {
  readonly isComplete: boolean;
  /** Parts that the run has more of than the page reads. */
  readonly cut: readonly Part[];
  readonly error: unknown;
  /** How often the page found something new. */
  readonly news: number;
}

const firstEvents = 200;

/** Milliseconds between looks for what is new, and how many rows the first page of a look has. */
const [lookMs, lookRows] = [10_000, 10];

const readEvents = (client: Client, { runId, signal, seen }: PageRequest<AuditEvent>): Promise<boolean> =>
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
  { runId, signal, seen }: PageRequest<PolicyEvaluationRecord>,
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

function cutParts(isCut: Readonly<Record<Part, boolean>>): Part[] {
  return parts.filter((part) => isCut[part]);
}

interface PageRequest<Row> {
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

interface ReadOptions {
  readonly runId: string;
  readonly signal: AbortSignal;
  readonly seen: (part: Partial<RunParts>) => void;
}

/** Reads the run from its start, and calls `seen` with what is there so far. Returns what the run has more of. */
async function readRun(
  client: Client,
  { runId, signal, seen }: ReadOptions,
): Promise<Pick<LoadedRun, 'isComplete' | 'cut'>> {
  const [events, decisions, approvals] = await Promise.all([
    readEvents(client, { runId, signal, seen: (rows) => seen({ events: rows }) }),
    readEvaluations(client, { runId, signal, seen: (rows) => seen({ evaluations: rows }) }),
    readApprovals(client, runId, signal).then(({ rows, isCut }) => {
      seen({ approvals: rows });
      return isCut;
    }),
  ]);
  return { isComplete: true, cut: cutParts({ events, decisions, approvals }) };
}

interface NewsOptions {
  readonly run: LoadedRun;
  readonly signal: AbortSignal;
}

/** What was recorded since `run` was read whole; undefined for nothing. A part with too many new rows stays, and is cut. */
async function readNews(
  client: Client,
  runId: string,
  { run, signal }: NewsOptions,
): Promise<Partial<LoadedRun> | undefined> {
  const { events, evaluations } = run;
  const [newEvents, newEvaluations, approvals] = await Promise.all([
    readNewer(
      async (cursor) => {
        const limit = cursor === undefined ? lookRows : limits.eventPageMax;
        const { body } = await client.listEvents({ query: { runId, order: 'desc', limit, cursor }, signal });
        return { rows: body.events, nextCursor: body.nextCursor };
      },
      {
        isKnown: ({ sequence }) => sequence <= (events.at(-1)?.sequence ?? -1),
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
        isKnown: ({ sequence }) => sequence <= (evaluations[0]?.sequence ?? -1),
        most: limits.consoleRunDecisions - evaluations.length,
      },
    ),
    readApprovals(client, runId, signal),
  ]);
  const isSame =
    newEvents?.length === 0 &&
    newEvaluations?.length === 0 &&
    JSON.stringify(approvals.rows) === JSON.stringify(run.approvals);
  if (isSame) return undefined;
  return {
    events: [...events, ...(newEvents ?? []).toReversed()],
    evaluations: [...(newEvaluations ?? []), ...evaluations],
    approvals: approvals.isCut ? run.approvals : approvals.rows,
    cut: cutParts({
      events: newEvents === null,
      decisions: newEvaluations === null,
      approvals: approvals.isCut,
    }),
  };
}

export interface OpenRun extends LoadedRun {
  readonly reload: () => void;
}

export function useRun(client: Client, runId: string): OpenRun {
  const [run, setRun] = useState<LoadedRun>(start);
  const [round, setRound] = useState(0);
  const stop = useRef(new AbortController());
  const looking = useRef<AbortSignal | null>(null);
  const add = (part: Partial<LoadedRun>, signal: AbortSignal): void => {
    if (!signal.aborted) setRun((before) => ({ ...before, ...part }));
  };
  useEffect(() => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    setRun(start);
    readRun(client, { runId, signal, seen: (part) => add(part, signal) }).then(
      (end) => add(end, signal),
      (error: unknown) => add({ error }, signal),
    );
    return () => stop.current.abort();
  }, [client, runId, round]);
  const reload = (): void => setRound((before) => before + 1);
  const look = async (): Promise<void> => {
    const { signal } = stop.current;
    // of two looks at once, the older answer could come last
    if (looking.current === signal || !run.isComplete || run.cut.length > 0 || isLost()) return;
    looking.current = signal;
    try {
      const news = await readNews(client, runId, { run, signal });
      if (news !== undefined) add({ ...news, error: null, news: run.news + 1 }, signal);
      else if (run.error !== null) add({ error: null }, signal);
    } catch (error) {
      // the line above the page says that the server is gone
      if (!reportLoss(error)) add({ error }, signal);
    }
    if (looking.current === signal) looking.current = null;
  };
  useRepeat(look, lookMs);
  useBack(() => {
    if (!run.isComplete && run.error !== null) reload();
    else void look();
  });
  return { ...run, reload };
}
