/**
 * System events of exports (contract O8): which data left the system, and who asked for it. Proven by
 * `test/service/exports/handlers.test.ts`.
 */
import type { ExportManifest } from '../../contract/exports.ts';
import { readJson, type JsonObject } from '../../core/json/parse.ts';
import type { EventDraft } from '../../core/events/record.ts';
import type { StoredExport } from '../../store/port/store.ts';
import type { Caller } from '../call/caller.ts';
import { systemEvent } from '../writes/system.ts';

interface Context {
  readonly nowMs: number;
  readonly salt: () => string;
}

type By = Pick<Caller, 'id' | 'type'>;
type ExportRequest = Pick<
  StoredExport,
  'exportId' | 'resource' | 'format' | 'filters' | 'includeProof' | 'treeSize' | 'createdMs'
>;

/**
 * An export was created. These members bind a proven artifact to its request; verifiers rely on each of them.
 */
export const exportCreated = (
  exported: ExportRequest,
  { salt, by }: Pick<Context, 'salt'> & { by: By },
): EventDraft => {
  const { exportId, resource, format, filters, includeProof, treeSize, createdMs } = exported;
  return systemEvent(
    {
      eventType: 'export.created',
      action: 'create',
      actor: { id: by.id, type: by.type },
      resource: { id: exportId, type: 'export' },
      metadata: { exportId, resource, format, filters: readJson(filters), includeProof, treeSize },
    },
    { nowMs: createdMs, salt },
  );
};

/** An export is complete. */
export const exportCompleted = (
  made: {
    readonly exported: Pick<StoredExport, 'exportId' | 'resource' | 'format'>;
    readonly rowCount: number;
    readonly sizeBytes: number;
    readonly sha256: string;
    readonly manifest: ExportManifest;
  },
  context: Context,
): EventDraft => {
  const { exported, rowCount, sizeBytes, sha256, manifest } = made;
  const { exportId, resource, format } = exported;
  return systemEvent(
    {
      eventType: 'export.completed',
      action: 'complete',
      actor: { id: 'gov', type: 'service' },
      resource: { id: exportId, type: 'export' },
      // a manifest is JSON
      metadata: {
        resource,
        format,
        rowCount,
        sizeBytes,
        sha256,
        manifest: manifest as unknown as JsonObject,
      },
    },
    context,
  );
};

/**
 * An export failed for good. A client's own id contains no `/` (contract A2), so these ids never collide with
 * one.
 */
export const exportFailed = (
  { exportId, errorSummary }: { readonly exportId: string; readonly errorSummary: string },
  context: Context,
): EventDraft =>
  systemEvent(
    {
      eventType: 'export.failed',
      action: 'fail',
      actor: { id: 'gov', type: 'service' },
      resource: { id: exportId, type: 'export' },
      metadata: { errorSummary },
      // where several processes fail it, the id lets one event through
      clientEventId: `export/${exportId}/failed`,
    },
    context,
  );

/** An artifact was downloaded, whole or in part: one event for each export, caller and day (UTC). */
export const exportDownloaded = (
  exported: Pick<StoredExport, 'exportId' | 'resource' | 'format'>,
  { by, ...context }: Context & { by: By },
): EventDraft => {
  const { exportId, resource, format } = exported;
  const day = new Date(context.nowMs).toISOString().slice(0, 10);
  return systemEvent(
    {
      eventType: 'export.downloaded',
      action: 'download',
      actor: { id: by.id, type: by.type },
      resource: { id: exportId, type: 'export' },
      metadata: { resource, format },
      clientEventId: `export/${exportId}/downloaded/${by.id}/${day}`,
    },
    context,
  );
};

/** The service removed an artifact early, because recording needed its room. */
export const exportEnded = (
  { exportId, reason }: { readonly exportId: string; readonly reason: 'disk_low' },
  context: Context,
): EventDraft =>
  systemEvent(
    {
      eventType: 'export.expired',
      action: 'expire',
      actor: { id: 'gov', type: 'service' },
      resource: { id: exportId, type: 'export' },
      metadata: { reason },
      // where several processes end it, the id lets one event through
      clientEventId: `export/${exportId}/expired`,
    },
    context,
  );

/** A caller deleted an artifact early. Concurrent requests record one event. */
export const exportDeleted = (exported: ExportName, context: Context & { readonly by: By }): EventDraft =>
  endedBy(exported, context, {
    eventType: 'export.deleted',
    action: 'delete',
    clientEventId: `export/${exported.exportId}/deleted`,
  });

/** A caller cancelled an export. */
export const exportCancelled = (exported: ExportName, context: Context & { readonly by: By }): EventDraft =>
  endedBy(exported, context, { eventType: 'export.cancelled', action: 'cancel' });

type ExportName = Pick<StoredExport, 'exportId' | 'resource' | 'format'>;

const endedBy = (
  { exportId, resource, format }: ExportName,
  { by, ...context }: Context & { readonly by: By },
  what: { readonly eventType: string; readonly action: string; readonly clientEventId?: string },
): EventDraft =>
  systemEvent(
    {
      ...what,
      actor: { id: by.id, type: by.type },
      resource: { id: exportId, type: 'export' },
      metadata: { resource, format },
    },
    context,
  );
