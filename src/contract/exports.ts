/** Exports: files of whole resources that can be verified outside the system (contract K1-K14). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { resource } from './resource.ts';
import { clientId, exact, nullable, oneOf, paging, serviceId, sha256Hash, timestamp } from './shapes.ts';

export const exportResources = [
  'audit_events',
  'compliance_proofs',
  'risk_decisions',
  'replays',
  'causal_graphs',
  'policy_evaluations',
  'jobs',
] as const;
export type ExportResource = (typeof exportResources)[number];
export const exportFormats = ['json', 'csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];
const exportStatuses = ['pending', 'processing', 'completed', 'failed', 'cancelled', 'expired'] as const;
export type ExportStatus = (typeof exportStatuses)[number];

const Filters = exact({
  runId: Type.Optional(clientId('Only rows of this run')),
  eventType: Type.Optional(
    Type.String({ minLength: 1, maxLength: limits.eventTypeChars, description: 'audit_events only' }),
  ),
  status: Type.Optional(Type.String({ maxLength: 32, description: 'jobs and replays only' })),
  startTime: Type.Optional(timestamp('Inclusive, to the millisecond')),
  endTime: Type.Optional(timestamp('Inclusive, to the millisecond')),
});
export type ExportFilters = Static<typeof Filters>;

const ExportInput = exact({
  resource: oneOf(exportResources),
  format: oneOf(exportFormats),
  filters: Type.Optional(Filters),
  includeProof: Type.Optional(
    Type.Boolean({ description: 'JSON only: add to each row the proof of its inclusion in the checkpoint' }),
  ),
});
export type ExportInput = Static<typeof ExportInput>;

const Manifest = Type.Object({
  treeSize: Type.Integer({ minimum: 0, description: 'Size of the audit log when the export was requested' }),
  rootHash: Type.String({ description: 'RFC 6962 root at treeSize, base64' }),
  firstSequence: nullable(Type.Integer({ minimum: 0 })),
  lastSequence: nullable(Type.Integer({ minimum: 0 })),
  prunedBelow: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'For events: the events below this leaf were pruned, and no row has them',
    }),
  ),
});
export type ExportManifest = Static<typeof Manifest>;

const exportId = serviceId('exp');
const ExportJob = Type.Object({
  exportId,
  resource: oneOf(exportResources),
  format: oneOf(exportFormats),
  status: oneOf(exportStatuses),
  createdAt: timestamp('When it was requested; its rows are the rows of the log at this time'),
  filters: Filters,
  includeProof: Type.Boolean(),
  rowCount: nullable(Type.Integer({ minimum: 0 })),
  sizeBytes: nullable(Type.Integer({ minimum: 0 })),
  sha256: nullable(sha256Hash),
  startedAt: nullable(timestamp('When the service started it')),
  completedAt: nullable(timestamp('When it completed')),
  expiresAt: nullable(timestamp('When the file is removed')),
  errorSummary: nullable(Type.String()),
  manifest: nullable(Manifest),
});
export type ExportJob = Static<typeof ExportJob>;

const Asked = Type.Pick(ExportJob, ['exportId', 'resource', 'format', 'status', 'createdAt']);
const params = exact({ exportId });
const beta = { tag: 'Exports', stability: 'beta', origin: 'specification' } as const;
const file = resource({
  ...beta,
  path: '/exports',
  params,
  item: ExportJob,
  reads: 'exports:read',
  writes: 'exports:write',
});

export const exports = {
  createExport: operation({
    ...beta,
    method: 'POST',
    path: '/exports',
    scope: 'exports:write',
    summary: 'Request a file of all rows of a resource in the current log',
    body: ExportInput,
    success: { 202: Asked },
    statuses: [400, 401, 403, 429, 500],
  }),
  listExports: file.list({
    command: 'export list',
    summary: 'List exports, newest first',
    query: exact({
      resource: Type.Optional(oneOf(exportResources)),
      status: Type.Optional(oneOf(exportStatuses)),
      ...paging,
    }),
    statuses: [400, 401, 403, 500],
  }),
  getExport: file.get({
    command: 'export get',
    summary: 'Get an export',
    statuses: [401, 403, 404, 500],
  }),
  deleteExport: file.delete({
    origin: 'extension',
    summary: 'Delete the file of an export before it expires; the export stays listed',
    statuses: [401, 403, 404, 409, 500],
  }),
  cancelExport: operation({
    ...beta,
    origin: 'extension',
    method: 'POST',
    path: '/exports/{exportId}/cancel',
    scope: 'exports:write',
    command: 'export cancel',
    summary: 'Cancel an export that is not completed; no file of it remains',
    params,
    success: { 200: ExportJob },
    statuses: [401, 403, 404, 409, 500],
  }),
  /** Streams the file, with ranges (RFC 9110 §14), `ETag` and `Repr-Digest` (RFC 9530). */
  downloadExport: operation({
    ...beta,
    method: 'GET',
    path: '/exports/{exportId}/download',
    scope: 'exports:read',
    summary: 'Download a completed export',
    params,
    ranged: true,
    success: { 200: { mediaType: 'application/json' } },
    statuses: [401, 403, 404, 409, 412, 416, 500],
  }),
} as const;
