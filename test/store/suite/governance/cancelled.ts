/** Cancelled jobs: against every other transition, in any order and at the same time; all times are given. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { isOpen } from '../../../../src/contract/job-words.ts';
import type { OpenJob, Store } from '../../../../src/store/port/store.ts';
import { codeOf, request, retryJob, startMs, stored } from '../../support/fixture.ts';
import { create, finish, lease as leaseMs, unmetered } from '../../support/exporting.ts';
import { open } from '../../support/engine.ts';

const dayMs = 86_400_000;

async function enqueue(store: Store, jobId: string, more: { createdMs?: number; request?: string } = {}) {
  const job = { jobId, type: 'proof', runId: 'r1', request: '{}', createdMs: startMs, ...more } as const;
  await stored(store, request([], { meter: unmetered, effects: [{ kind: 'enqueueJob', job }] }));
}

const cancelFrom = (store: Store, jobId: string, from: OpenJob, atMs = startMs + 7) =>
  codeOf(
    store.append(request([], { meter: unmetered, effects: [{ kind: 'cancelJob', jobId, from, atMs }] })),
  );

/** Cancels it in the state in which it is; `ended` where it has ended. */
async function cancel(store: Store, jobId: string): Promise<string> {
  for (;;) {
    const { status, startedMs } = (await store.job('prj_a', jobId))!;
    if (!isOpen(status)) return 'ended';
    const code = await cancelFrom(store, jobId, { status, startedMs });
    if (code !== 'CONFLICT') return code;
  }
}

const complete = (store: Store, jobId: string, lease: string) =>
  codeOf(
    store.append(
      request([], {
        meter: unmetered,
        effects: [{ kind: 'completeJob', jobId, lease, result: '{"ok":1}', atMs: startMs + 5 }],
      }),
    ),
  );

const fail = (store: Store, jobId: string, lease: string, retryAtMs: number | null) =>
  store.failJob('prj_a', jobId, { lease, errorSummary: 'broken', atMs: startMs + 6, retryAtMs });

describe('a cancelled job', () => {
  it('a waiting job that is cancelled is never claimed, and is listed as cancelled', async () => {
    const { store, reopen, drop } = await open();
    await enqueue(store, 'job_1');
    expect(await cancel(store, 'job_1')).toBe('none');
    const again = await reopen();
    expect(await again.claimJob(startMs + dayMs, leaseMs)).toBeNull();
    const [listed] = await again.jobs('prj_a', { status: 'cancelled' }, { limit: 9 });
    const ended = { jobId: 'job_1', status: 'cancelled', completedMs: startMs + 7, startedMs: null };
    expect(listed).toMatchObject({ ...ended, attempt: 1, errorSummary: null });
    expect(await again.job('prj_a', 'job_1')).toMatchObject(ended);
    await drop();
  });

  it('a running job that is cancelled accepts nothing from its worker any more', async () => {
    const { store, drop } = await open();
    await enqueue(store, 'job_1');
    const claim = await store.claimJob(startMs, leaseMs);
    expect(await cancel(store, 'job_1')).toBe('none');
    expect(await store.renewJob('prj_a', 'job_1', claim!.lease, startMs + dayMs)).toBe(false);
    expect(await complete(store, 'job_1', claim!.lease)).toBe('CONFLICT');
    expect(await fail(store, 'job_1', claim!.lease, null)).toBe(false);
    expect(await fail(store, 'job_1', claim!.lease, startMs + 1)).toBe(false);
    expect(await store.claimJob(startMs + dayMs, leaseMs)).toBeNull();
    expect(await store.job('prj_a', 'job_1')).toMatchObject({ status: 'cancelled', result: null });
    await drop();
  });

  it('only work that has not ended can be cancelled, and only once', async () => {
    const { store, drop } = await open();
    for (const id of ['job_1', 'job_2', 'job_3']) await enqueue(store, id);
    const waiting = { status: 'pending', startedMs: null } as const;
    expect(await cancelFrom(store, 'job_none', waiting)).toBe('CONFLICT');
    for (const other of [
      { ...waiting, startedMs: 1 },
      { ...waiting, status: 'processing' as const },
    ]) {
      expect(await cancelFrom(store, 'job_1', other)).toBe('CONFLICT');
    }
    const both = [1, 2].map((at) => cancelFrom(store, 'job_1', waiting, startMs + at));
    expect((await Promise.all(both)).toSorted()).toEqual(['CONFLICT', 'none']);
    const [second, third] = [await store.claimJob(startMs, leaseMs), await store.claimJob(startMs, leaseMs)];
    expect(await complete(store, second!.jobId, second!.lease)).toBe('none');
    expect(await fail(store, third!.jobId, third!.lease, null)).toBe(true);
    for (const { jobId } of [second!, third!]) {
      expect(await cancel(store, jobId)).toBe('ended');
      const running = { status: 'processing', startedMs: startMs } as const;
      expect(await cancelFrom(store, jobId, running)).toBe('CONFLICT');
    }
    await drop();
  });

  it('a cancelled job is retried under its id, with new attempts', async () => {
    const { store, drop } = await open();
    await enqueue(store, 'job_1', { request: '{"n":1}' });
    await store.claimJob(startMs, leaseMs);
    await cancel(store, 'job_1');
    expect(await retryJob(store, 'job_1', startMs + 9)).toBe('none');
    expect(await store.job('prj_a', 'job_1')).toMatchObject({
      status: 'pending',
      attempt: 2,
      completedMs: null,
    });
    const claim = await store.claimJob(startMs + 9, leaseMs);
    expect(claim).toMatchObject({ attempt: 2, tries: 1, request: '{"n":1}' });
    expect(await complete(store, 'job_1', claim!.lease)).toBe('none');
    await drop();
  });

  it('a cancelled job loses a large request at once, and any other after 30 days', async () => {
    const { store, drop } = await open();
    await enqueue(store, 'job_1');
    await enqueue(store, 'job_2', { request: `"${'x'.repeat(limits.jobRequestBytes)}"` });
    for (const id of ['job_1', 'job_2']) await cancel(store, id);
    expect(await retryJob(store, 'job_2', startMs)).toBe('CONFLICT');
    await store.sweep(startMs + 7 + limits.jobRequestDays * dayMs);
    expect((await store.job('prj_a', 'job_1'))?.request).toBe('{}');
    await store.sweep(startMs + 8 + limits.jobRequestDays * dayMs);
    expect((await store.job('prj_a', 'job_1'))?.request).toBeNull();
    await drop();
  });
});

describe('a cancellation at the same time', () => {
  it('beside a completion, exactly one of the two happens', async () => {
    const { store, drop } = await open();
    const ends = new Set<string>();
    for (let at = 0; at < 20; at++) {
      const jobId = `job_${at}`;
      await enqueue(store, jobId);
      const { lease } = (await store.claimJob(startMs, leaseMs))!;
      const running = { status: 'processing', startedMs: startMs } as const;
      const acts = [() => complete(store, jobId, lease), () => cancelFrom(store, jobId, running)];
      const [first, second] = at % 2 === 0 ? acts : acts.toReversed();
      const codes = await Promise.all([first!(), second!()]);
      expect(codes.filter((code) => code === 'none')).toHaveLength(1);
      const { status, result } = (await store.job('prj_a', jobId))!;
      expect(result).toBe(status === 'completed' ? '{"ok":1}' : null);
      ends.add(status);
    }
    expect(ends).toEqual(new Set(['completed', 'cancelled']));
    await drop();
  });

  it('beside a takeover of the lease or a failure, the job ends as cancelled or failed and stays so', async () => {
    const { store, drop } = await open();
    for (let at = 0; at < 20; at++) {
      const jobId = `job_${at}`;
      await enqueue(store, jobId);
      const first = (await store.claimJob(startMs, leaseMs))!;
      const [code, second] = await Promise.all([
        cancel(store, jobId),
        store.claimJob(startMs + leaseMs, leaseMs),
        fail(store, jobId, first.lease, at % 2 === 0 ? null : startMs),
      ]);
      const ended = (await store.job('prj_a', jobId))!.status;
      expect(ended).toBe(code === 'none' ? 'cancelled' : 'failed');
      for (const lease of [first.lease, second?.lease ?? 'none']) {
        expect(await complete(store, jobId, lease)).toBe('CONFLICT');
      }
      expect(await store.claimJob(startMs + dayMs, leaseMs)).toBeNull();
      expect((await store.job('prj_a', jobId))!.status).toBe(ended);
    }
    await drop();
  });
});

describe('a cancelled export', () => {
  it('is never completed, counts as nothing, and is removed once its worker has stopped', async () => {
    const { store, drop } = await open();
    await create(store, '1');
    const claim = await store.claimJob(startMs + 5, leaseMs);
    const running = { status: 'processing', startedMs: startMs + 5 } as const;
    expect(await cancelFrom(store, 'job_1', running)).toBe('none');
    expect(await codeOf(finish(store, '1', claim!.lease))).toBe('CONFLICT');
    expect(await store.exported('prj_a', 'exp_1', startMs)).toMatchObject({
      status: 'cancelled',
      done: null,
    });
    expect(await store.heldExports('prj_a')).toEqual({ open: 0, kept: 0, keptBytes: 0 });
    const end = startMs + 5 + leaseMs;
    expect(await store.removableExports(end - 1, 9)).toEqual([]);
    expect(await store.removableExports(end, 9)).toEqual([{ projectId: 'prj_a', exportId: 'exp_1' }]);
    await store.markExportRemoved('prj_a', 'exp_1');
    expect(await store.removableExports(end, 9)).toEqual([]);
    const [listed] = await store.exports('prj_a', { status: 'cancelled', atMs: end }, { limit: 9 });
    expect(listed?.exportId).toBe('exp_1');
    await drop();
  });
});

interface Model {
  status: 'pending' | 'processing' | 'completed' | 'failed' | 'cancelled';
  lease: string | null;
  dueMs: number;
  attempt: number;
  before: number;
}

const acts = ['claim', 'renew', 'putBack', 'fail', 'complete', 'cancel', 'retry', 'late', 'wait'] as const;
type Act = (typeof acts)[number];

/** One job, beside the simplest description of its life. */
class Life {
  readonly #store: Store;
  readonly #jobId: string;
  readonly #former: string[] = [];
  readonly model: Model = { status: 'pending', lease: null, dueMs: startMs, attempt: 1, before: 0 };
  #nowMs = startMs;

  constructor(store: Store, jobId: string) {
    this.#store = store;
    this.#jobId = jobId;
  }

  #give(lease: string | null): void {
    if (this.model.lease !== null) this.#former.push(this.model.lease);
    this.model.lease = lease;
  }

  async act(act: Act): Promise<void> {
    const { model } = this;
    const lease = model.lease ?? 'none';
    const isHeld = model.status === 'processing';
    switch (act) {
      case 'wait':
        this.#nowMs += leaseMs;
        return;
      case 'claim':
        return this.#claim();
      case 'renew': {
        const untilMs = this.#nowMs + leaseMs;
        expect(await this.#store.renewJob('prj_a', this.#jobId, lease, untilMs)).toBe(isHeld);
        if (isHeld) model.dueMs = untilMs;
        return;
      }
      case 'putBack':
      case 'fail': {
        const retryAtMs = act === 'fail' ? null : this.#nowMs;
        expect(await fail(this.#store, this.#jobId, lease, retryAtMs)).toBe(isHeld);
        if (!isHeld) return;
        this.#give(null);
        if (act === 'fail') model.status = 'failed';
        else Object.assign(model, { status: 'pending', dueMs: this.#nowMs, attempt: model.attempt + 1 });
        return;
      }
      case 'complete':
        expect(await complete(this.#store, this.#jobId, lease)).toBe(isHeld ? 'none' : 'CONFLICT');
        if (!isHeld) return;
        this.#give(null);
        model.status = 'completed';
        return;
      case 'cancel': {
        const mayEnd = isOpen(model.status);
        expect(await cancel(this.#store, this.#jobId)).toBe(mayEnd ? 'none' : 'ended');
        if (!mayEnd) return;
        this.#give(null);
        model.status = 'cancelled';
        return;
      }
      case 'retry': {
        const may = model.status === 'failed' || model.status === 'cancelled';
        const code = await retryJob(this.#store, this.#jobId, this.#nowMs);
        expect(code).toBe(may ? 'none' : 'CONFLICT');
        if (!may) return;
        const { attempt } = model;
        Object.assign(model, {
          status: 'pending',
          dueMs: this.#nowMs,
          attempt: attempt + 1,
          before: attempt,
        });
        return;
      }
      case 'late':
        for (const former of this.#former) {
          expect(await complete(this.#store, this.#jobId, former)).toBe('CONFLICT');
          expect(await fail(this.#store, this.#jobId, former, null)).toBe(false);
        }
    }
  }

  async #claim(): Promise<void> {
    const { model } = this;
    const claim = await this.#store.claimJob(this.#nowMs, leaseMs);
    const isDue = isOpen(model.status) && model.dueMs <= this.#nowMs;
    if (!isDue) {
      expect(claim).toBeNull();
      return;
    }
    const next = model.attempt + (model.status === 'processing' ? 1 : 0);
    const tries = next - model.before;
    const attempt = tries > limits.jobAttempts ? model.attempt : next;
    expect(claim).toMatchObject({ jobId: this.#jobId, attempt, tries });
    this.#give(claim!.lease);
    Object.assign(model, { status: 'processing', attempt, dueMs: this.#nowMs + leaseMs });
  }
}

describe('the life of a job', () => {
  it('follows the same states as its description, whatever happens in whatever order', async () => {
    const { store, drop } = await open();
    let count = 0;
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...acts), { minLength: 4, maxLength: 14 }), async (list) => {
        const jobId = `job_${++count}`;
        await enqueue(store, jobId);
        const life = new Life(store, jobId);
        for (const act of list) {
          await life.act(act);
          const { status, attempt } = life.model;
          seen.add(status);
          expect(await store.job('prj_a', jobId)).toMatchObject({ status, attempt });
        }
        await cancel(store, jobId); // the next job is alone
      }),
      { numRuns: 60, seed: 11 },
    );
    expect(seen.size).toBe(5);
    await drop();
  });
});
