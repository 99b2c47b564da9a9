/** Exports as the suite makes them, with their jobs; all times are given. */
import type { ExportDone, ExportHoldings, Store, StoredExport } from '../../../src/store/port/store.ts';
import { request, startMs, stored } from './fixture.ts';

export const lease = 60_000;
export const unmetered = { op: 'none', units: 0 } as const;

const most = { open: 100, kept: 100, keptBytes: 2 ** 40 };

const asked = (id: string, more: Partial<StoredExport> = {}) => ({
  exportId: `exp_${id}`,
  projectId: 'prj_a',
  jobId: `job_${id}`,
  resource: 'audit_events' as const,
  format: 'json' as const,
  filters: '{"runId":"r\\u0000"}',
  includeProof: false,
  treeSize: 1,
  createdMs: startMs,
  ...more,
});

export const create = (store: Store, id: string, more: Partial<StoredExport> = {}) =>
  createWithin(store, id, { ...more, most });

export async function createWithin(
  store: Store,
  id: string,
  { most, ...more }: Partial<StoredExport> & { most: ExportHoldings },
) {
  const exported = asked(id, more);
  const { projectId, exportId, jobId, createdMs } = exported;
  const job = { jobId, type: 'export', runId: '', request: '{}', resultId: exportId, createdMs } as const;
  const effects = [
    { kind: 'createExport' as const, most, exported },
    { kind: 'enqueueJob' as const, job },
  ];
  await stored(store, request([], { projectId, meter: unmetered, effects }));
  return exported;
}

export const done = (more: Partial<ExportDone> = {}): ExportDone => ({
  artifact: 'a1',
  rowCount: 3,
  sizeBytes: 2 ** 33,
  digest: Buffer.alloc(32, 7),
  manifest: '{"treeSize":1}',
  completedMs: startMs + 20,
  expiresMs: startMs + 1000,
  ...more,
});

export const finish = (store: Store, id: string, token: string, made = done(), bound = most) =>
  store.append(
    request([], {
      meter: unmetered,
      effects: [
        { kind: 'finishExport', most: bound, exportId: `exp_${id}`, done: made },
        { kind: 'completeJob', jobId: `job_${id}`, lease: token, result: 'null', atMs: startMs + 20 },
      ],
    }),
  );

export const waiting = { status: 'pending', startedMs: null, errorSummary: null, done: null };
export const idsOf = (exports: readonly { readonly exportId: string }[]) =>
  exports.map(({ exportId }) => exportId);
