/** What store tests share: a clock that is moved by hand, seeded randomness, projects, drafts, folders. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import type { EventInput } from '../../../src/contract/events.ts';
import { saltPool } from '../../../src/core/events/disclosure.ts';
import { draftEvent, draftLeaf, type EventDraft } from '../../../src/core/events/record.ts';
import type { AppendOutcome, AppendRequest, LeafOutcome, Store } from '../../../src/store/port/store.ts';
import type { Project } from '../../../src/store/port/store.ts';

export const startMs = Date.UTC(2026, 0, 1);

export class HandClock {
  ms = startMs;
  now = (): number => this.ms;
}

/** Bytes that look random and are the same in every run. */
export function seededBytes(seed: string): (size: number) => Buffer {
  let block = 0;
  return (size) => {
    const parts: Buffer[] = [];
    for (let got = 0; got < size; got += 32) {
      parts.push(createHash('sha256').update(`${seed} ${block++}`).digest());
    }
    return Buffer.concat(parts).subarray(0, size);
  };
}

export const salt = saltPool(seededBytes('salts'));

export const projectOf = (name: string): Project => ({
  projectId: `prj_${name}`,
  organizationId: 'org_test',
  environment: 'production',
  auditOrigin: `test/${name}/audit`,
  meteringOrigin: `test/${name}/metering/0`,
});

export const genesis = (name: string) => draftLeaf('gov.genesis/1', { projectId: `prj_${name}` });

/** An event of run `r1`, with what a test cares about. */
export function event(more: Partial<EventInput> = {}): EventDraft {
  const input: EventInput = {
    runId: 'r1',
    eventType: 'tool.call',
    actor: { name: 'agent', role: 'agent' },
    action: 'execute',
    timestamp: '2026-01-01T00:00:00Z',
    metadata: { step: 1, text: 'grüße 🚀' },
    ...more,
  };
  const draft = draftEvent(input, Date.parse(input.timestamp), salt);
  if ('code' in draft) throw new Error(draft.detail);
  return draft;
}

/** A request of events; fingerprints are the events' own content where they have client ids. */
export function request(leaves: AppendRequest['leaves'], more: Partial<AppendRequest> = {}): AppendRequest {
  const fingerprints = new Map<number, string>();
  leaves.forEach((draft, at) => {
    if (draft.kind === 'event' && draft.clientEventId !== null) fingerprints.set(at, 'same content');
  });
  return {
    projectId: 'prj_a',
    leaves,
    meter: { op: 'audit_event', units: 'accepted' },
    fingerprints,
    ...more,
  };
}

export type Stored = Extract<AppendOutcome, { outcome: 'stored' }>;
export type Appended = Extract<LeafOutcome, { outcome: 'appended' }>;

/** Appends and insists that it was stored. */
export async function stored(store: Store, made: AppendRequest): Promise<Stored> {
  const outcome = await store.append(made);
  if (outcome.outcome !== 'stored') throw new Error(`expected stored, got ${outcome.outcome}`);
  return outcome;
}

/** Appends and insists that every leaf was. */
export async function appended(store: Store, made: AppendRequest): Promise<Appended[]> {
  const { assigned } = await stored(store, made);
  return assigned.map((each) => {
    if (each.outcome !== 'appended') throw new Error(`expected appended, got ${each.outcome}`);
    return each;
  });
}

export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'gov-store-'));
export const dropFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true });

/** The code of the GovError that a promise rejects with. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'none';
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

/** Retries a job of prj_a that failed, or was cancelled, in the attempt in which it is. */
export async function retryJob(store: Store, jobId: string, atMs: number): Promise<string> {
  const job = await store.job('prj_a', jobId);
  const from = {
    status: job?.status === 'cancelled' ? 'cancelled' : 'failed',
    attempt: job?.attempt ?? 1,
  } as const;
  const effects = [{ kind: 'retryJob', jobId, from, atMs }] as const;
  return codeOf(store.append(request([], { meter: { op: 'none', units: 0 }, effects })));
}
