/**
 * One reading of a plane or a service, from operations that exist: health, integrity, jobs, sources, approvals, and the
 * metrics of a plane on this machine. A part that this key may not read, or that the service lacks, is null and named in
 * `unread`. Tested by `test/cli/screens/top.test.ts`.
 */
import type { Answer, Client } from '../../../client/create.ts';
import { GovApiError, GovNetworkError } from '../../../client/errors.ts';
import { limits } from '../../../contract/limits.ts';
import type { Table } from '../../../contract/table.ts';
import type { Integrity } from '../../../contract/operations.ts';
import { between, fetchMetrics, quantile, type Metrics } from '../../operations/metrics.ts';
import type { Io } from '../../terminal/io.ts';

/** `isCut`: there are more than one page has. */
interface Count {
  readonly count: number;
  readonly isCut: boolean;
}

interface TopJob {
  readonly jobId: string;
  readonly type: string;
  readonly runId: string;
  readonly status: string;
  readonly createdAt: string;
  readonly errorSummary: string | null;
}
interface TopSource {
  readonly service: string;
  readonly instance: string | null;
  readonly lastSeenAt: string;
  readonly silent: boolean;
  readonly missing: number;
  readonly rejected: number;
}
interface TopApproval {
  readonly approvalId: string;
  readonly tool: string | null;
  readonly runId: string;
  readonly requestedAt: string;
  readonly expiresAt: string;
}

/** Read at every sample. */
interface Fast {
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly reasons: readonly string[];
  readonly version: string | null;
  /** Time of the health request. */
  readonly answerMs: number;
  readonly ingest: {
    readonly leaves: number | null;
    /** Null for the first sample. */
    readonly leavesPerSecond: number | null;
    /** Upper bound of the histogram's bucket, in the last interval; null without requests or metrics. */
    readonly p99Ms: number | null;
    readonly queue: number | null;
    /** Requests that were refused or failed in the last interval. */
    readonly failed: number | null;
  };
  readonly checkpoint: {
    readonly size: number;
    readonly signedAt: string | null;
    readonly ageSeconds: number | null;
    readonly witnesses: number | null;
  } | null;
  readonly integrity: Pick<Integrity, 'scrub' | 'fsck' | 'backup' | 'disk'> | null;
}
/** Read at every fifth sample, because they are lists. */
interface Slow {
  readonly jobs: {
    readonly pending: Count;
    readonly processing: Count;
    /** Of the last 24 hours. */
    readonly failed: Count;
    /** Failed ones first, then running, then waiting ones. */
    readonly shown: readonly TopJob[];
  } | null;
  readonly sources: {
    readonly known: Count;
    readonly silent: number;
    readonly missing: number;
    readonly rejected: number;
    readonly shown: readonly TopSource[];
  } | null;
  readonly approvals: {
    readonly waiting: Count;
    /** The longest waiting first. */
    readonly shown: readonly TopApproval[];
  } | null;
}

export interface TopSample extends Fast, Slow {
  readonly time: string;
  readonly address: string;
  readonly context: string | null;
  /** Parts that this key may not read, or that the service does not have. */
  readonly unread: readonly string[];
}

export interface SamplerOptions {
  readonly client: Client;
  readonly address: string;
  readonly context: string | null;
  readonly metricsUrl: () => string | null | undefined;
  readonly env: Io['env'];
  readonly now: () => number;
}

const slowEvery = 5;
const shownRows = 50;
const dayMs = 86_400_000;

interface Measurement {
  /** On `performance.now()`'s clock. */
  readonly atMs: number;
  readonly leaves: number | null;
  readonly metrics: Metrics | null;
}

/** Samples of one installation. Rates are the difference of two samples. */
export class Sampler {
  readonly #of: SamplerOptions;
  readonly #unread = new Set<string>();
  #before: Measurement | undefined;
  #slow: Slow = { jobs: null, sources: null, approvals: null };
  #taken = 0;

  constructor(of: SamplerOptions) {
    this.#of = of;
  }

  /** Rejects where the service cannot be reached. */
  async take(): Promise<TopSample> {
    const { now, address, context } = this.#of;
    const isSlow = this.#taken % slowEvery === 0;
    if (isSlow) this.#unread.clear();
    const [fast, slow] = await Promise.all([this.#fast(), isSlow ? this.#lists() : this.#slow]);
    this.#slow = slow;
    this.#taken += 1;
    const time = new Date(now()).toISOString();
    return { time, address, context, ...fast, ...slow, unread: [...this.#unread] };
  }

  async #fast(): Promise<Fast> {
    const { client, env, metricsUrl } = this.#of;
    const askedAt = performance.now();
    const overall = await client.getHealth();
    const answerMs = Math.round(performance.now() - askedAt);
    const [ready, metrics, integrity] = await Promise.all([
      client.getReadiness(),
      fetchMetrics(metricsUrl(), env),
      this.#part('integrity', () => client.getIntegrity()),
    ]);
    const audit = integrity?.checkpoints.find(({ tree }) => tree === 'audit');
    const reasons = [overall.body.reasons, ready.body.reasons, integrity?.reasons].flatMap(
      (each) => each ?? [],
    );
    const isBlocked = ready.status === 503 || overall.body.status === 'unavailable';
    const reading = { atMs: askedAt, leaves: metrics?.leaves ?? audit?.leaves ?? null, metrics };
    return {
      status: isBlocked ? 'unavailable' : overall.body.status,
      reasons: [...new Set(reasons)],
      version: overall.body.version ?? null,
      answerMs,
      ingest: this.#ingest(reading),
      checkpoint: checkpointOf(audit),
      integrity:
        integrity === null
          ? null
          : { scrub: integrity.scrub, fsck: integrity.fsck, backup: integrity.backup, disk: integrity.disk },
    };
  }

  #ingest(reading: Measurement): Fast['ingest'] {
    const before = this.#before;
    this.#before = reading;
    const { leaves, metrics, atMs } = reading;
    const seconds = before === undefined ? 0 : (atMs - before.atMs) / 1000;
    const [leavesBefore, earlier] = [before?.leaves ?? null, before?.metrics ?? null];
    const grown = leaves === null || leavesBefore === null ? null : Math.max(0, leaves - leavesBefore);
    const p99 =
      metrics === null || earlier === null
        ? null
        : quantile(between(earlier.ingestBySeconds, metrics.ingestBySeconds), 0.99);
    return {
      leaves,
      leavesPerSecond: grown === null || seconds <= 0 ? null : Math.round(grown / seconds),
      p99Ms: p99 === null || p99 === Infinity ? null : p99 * 1000,
      queue: metrics?.queue ?? null,
      failed:
        metrics === null || earlier === null
          ? null
          : Math.max(0, metrics.ingestFailed - earlier.ingestFailed),
    };
  }

  async #lists(): Promise<Slow> {
    const { client, now } = this.#of;
    const startTime = new Date(now() - dayMs).toISOString();
    const limit = limits.pageMax;
    const jobs = (status: 'pending' | 'processing' | 'failed') =>
      this.#part('jobs', () =>
        client.listJobs({ query: { status, limit, ...(status === 'failed' ? { startTime } : {}) } }),
      );
    const [failed, processing, pending, sources, approvals] = await Promise.all([
      jobs('failed'),
      jobs('processing'),
      jobs('pending'),
      this.#part('sources', () => client.listSources({ query: { limit } })),
      this.#part('approvals', () => client.listApprovals({ query: { status: 'pending', limit } })),
    ]);
    return {
      jobs: failed && processing && pending && jobsOf({ failed, processing, pending }),
      sources: sources && sourcesOf(sources),
      approvals: approvals && approvalsOf(approvals),
    };
  }

  /** Null for a part that the service refuses; rejects where it cannot be reached. */
  async #part<Body>(name: string, ask: () => Promise<{ readonly body: Body }>): Promise<Body | null> {
    try {
      return (await ask()).body;
    } catch (cause) {
      if (!(cause instanceof GovApiError)) throw cause;
      this.#unread.add(`${name}: ${cause.status === 403 ? 'this key may not read it' : cause.message}`);
      return null;
    }
  }
}

/** The failure of a sample in one line; other errors are bugs, and rejected. */
export function whyNoSample(cause: unknown): string {
  if (cause instanceof GovNetworkError || cause instanceof GovApiError) return cause.message;
  throw cause;
}

function checkpointOf(audit: Integrity['checkpoints'][number] | undefined): Fast['checkpoint'] {
  if (!audit?.signed) return null;
  const { size, signedAt, ageSeconds } = audit.signed;
  return { size, signedAt, ageSeconds, witnesses: audit.witnessed?.witnesses ?? null };
}

type Page<Id extends keyof Table> = Answer<Table[Id]>['body'];

const countOf = ({
  data,
  nextCursor,
}: {
  readonly data: readonly unknown[];
  readonly nextCursor: string | null;
}) => ({
  count: data.length,
  isCut: nextCursor !== null,
});

function jobsOf(of: Record<'failed' | 'processing' | 'pending', Page<'listJobs'>>): Slow['jobs'] {
  const shown = [...of.failed.data, ...of.processing.data, ...of.pending.data].slice(0, shownRows);
  return {
    pending: countOf(of.pending),
    processing: countOf(of.processing),
    failed: countOf(of.failed),
    shown: shown.map(({ jobId, type, runId, status, createdAt, errorSummary }) => {
      return { jobId, type, runId, status, createdAt, errorSummary };
    }),
  };
}

function sourcesOf(page: Page<'listSources'>): Slow['sources'] {
  const rank = ({ silent, missing, rejected }: TopSource): number =>
    silent ? 2 : missing + rejected > 0 ? 1 : 0;
  const all = page.data.map(({ service, instance, lastSeenAt, silent, missing, rejected }) => {
    return { service, instance, lastSeenAt, silent, missing, rejected };
  });
  return {
    known: countOf(page),
    silent: all.filter(({ silent }) => silent).length,
    missing: all.reduce((sum, { missing }) => sum + missing, 0),
    rejected: all.reduce((sum, { rejected }) => sum + rejected, 0),
    shown: all.toSorted((one, other) => rank(other) - rank(one)).slice(0, shownRows),
  };
}

function approvalsOf(page: Page<'listApprovals'>): Slow['approvals'] {
  const shown = page.data.toReversed().slice(0, shownRows);
  return {
    waiting: countOf(page),
    shown: shown.map(({ approvalId, tool, runId, requestedAt, expiresAt }) => {
      return { approvalId, tool: tool?.name ?? null, runId, requestedAt, expiresAt };
    }),
  };
}
