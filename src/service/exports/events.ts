/** Events of exports in the run of the service itself (contract O8; reliability S41): what left the system, and to whom. */
import type { ExportManifest } from '../../contract/exports.ts';
import { readJson, type JsonObject } from '../../core/json/parse.ts';
import type { EventDraft } from '../../core/event/record.ts';
import type { StoredExport } from '../../store/port/store.ts';
import type { Caller } from '../call/handler.ts';
import { systemEvent } from '../system.ts';

interface Context {
  readonly nowMs: number;
  readonly salt: () => string;
}

type By = Pick<Caller, 'id' | 'type'>;
type Asked = Pick<
  StoredExport,
  'exportId' | 'resource' | 'format' | 'filters' | 'includeProof' | 'treeSize' | 'createdMs'
>;

/** Asked for. With these members a proven artifact is bound to what was asked: verifiers rely on each of them. */
export const exportCreated = (
  exported: Asked,
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

/** Complete. */
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

/** Failed for good. A client's own id has no `/` (contract A2), so none of these was used before. */
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
      // of several processes that fail it, one tells
      clientEventId: `export/${exportId}/failed`,
    },
    context,
  );

/** Downloaded, in whole or in part: told once for each export, caller and day (UTC). */
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

/** Its artifact went before its time, because the service needed what it took. */
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
      // of several processes that end it, one tells
      clientEventId: `export/${exportId}/expired`,
    },
    context,
  );

/** Its artifact went before its time, because somebody wanted that. Whoever asks at the same time tells it too, once. */
export const exportDeleted = (
  exported: Pick<StoredExport, 'exportId' | 'resource' | 'format'>,
  { by, ...context }: Context & { by: By },
): EventDraft => {
  const { exportId, resource, format } = exported;
  return systemEvent(
    {
      eventType: 'export.deleted',
      action: 'delete',
      actor: { id: by.id, type: by.type },
      resource: { id: exportId, type: 'export' },
      metadata: { resource, format },
      clientEventId: `export/${exportId}/deleted`,
    },
    context,
  );
};
