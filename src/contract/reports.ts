/** Reports: executions, their artifacts, share links, branding (contract L1-L14). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import {
  DeliveryInput,
  executionId,
  formatList,
  ReportData,
  ReportExecution,
  reportFormats,
  reportLocale,
  ReportParameters,
  ReportSignature,
  reportStatuses,
  reportTitle,
  reportZone,
  templateId,
  type ReportPaper,
} from './report-parts.ts';
import { exact, nullable, oneOf, page, pageQuery, paging, readOnly, serviceId, timestamp } from './shapes.ts';
import { idPattern, linePattern, namePattern } from './text-patterns.ts';

const ExecutionInput = exact({
  reportTemplateId: templateId,
  formats: Type.Optional(formatList),
  parameters: ReportParameters,
  title: Type.Optional(reportTitle),
  timezone: Type.Optional(reportZone),
  locale: Type.Optional(reportLocale),
  deliveries: Type.Optional(Type.Array(DeliveryInput, { maxItems: limits.reportDeliveries })),
});
export type ExecutionInput = Static<typeof ExecutionInput>;

const ShareInput = exact({
  format: oneOf(reportFormats),
  expiresInSeconds: Type.Optional(
    Type.Integer({
      minimum: limits.shareSecondsMin,
      maximum: limits.shareSecondsMax,
      description: `Default ${limits.shareSeconds}; never longer than the artifact exists`,
    }),
  ),
  maxDownloads: Type.Optional(
    nullable(
      Type.Integer({ minimum: 1, maximum: limits.shareDownloadsMax, description: 'Default: no limit' }),
    ),
  ),
});
const shareMembers = {
  shareId: serviceId('shr'),
  format: oneOf(reportFormats),
  expiresAt: timestamp('When the link stops working'),
  maxDownloads: nullable(Type.Integer({ minimum: 1 })),
  downloadCount: Type.Integer({ minimum: 0 }),
  createdAt: timestamp('When it was created'),
};
const CreatedShare = Type.Object({
  ...shareMembers,
  url: Type.String({ format: 'uri', description: 'Opens the artifact without a credential' }),
  token: Type.String({ description: 'Returned only this once' }),
  signatureUrl: nullable(
    Type.String({
      format: 'uri',
      description: 'Opens the signature of a JSON report without a credential; a PDF contains its own',
    }),
  ),
});
const shareStatuses = ['active', 'expired', 'exhausted', 'revoked'] as const;
const Share = Type.Object({
  ...shareMembers,
  status: oneOf(shareStatuses),
  revokedAt: nullable(timestamp('When it was revoked')),
});
export type ReportShare = Static<typeof Share>;

const color = (description: string) => Type.String({ pattern: '^#[0-9a-fA-F]{6}$', description });
export const defaultColors = { primaryColor: '#1f3a5f', accentColor: '#2a7f62' } as const;
export const defaultPaper: ReportPaper = 'A4';
const companyName = Type.String({
  minLength: 1,
  maxLength: limits.brandingNameChars,
  pattern: namePattern,
});
const footerText = Type.String({ maxLength: limits.brandingFooterChars, pattern: linePattern });
const paper = Type.Union([Type.Literal('A4'), Type.Literal('Letter')], {
  description: `Size of the pages; default ${defaultPaper}`,
});
const BrandingInput = exact({
  companyName: Type.Optional(nullable(companyName)),
  primaryColor: Type.Optional(color(`Default ${defaultColors.primaryColor}`)),
  accentColor: Type.Optional(color(`Default ${defaultColors.accentColor}`)),
  footerText: Type.Optional(nullable(footerText)),
  paper: Type.Optional(paper),
  logoUrl: readOnly,
  updatedAt: readOnly,
});
const logoUrl = Type.String({ format: 'uri' });
const Branding = Type.Object({
  companyName: nullable(Type.String()),
  logoUrl: nullable(logoUrl),
  primaryColor: color('Headings and lines'),
  accentColor: color('Charts'),
  footerText: nullable(Type.String()),
  paper,
  updatedAt: timestamp('When it was last changed'),
});
export type ReportingBranding = Static<typeof Branding>;

const params = exact({ executionId });
const token = Type.String({
  pattern: '^gov_shr_[0-9A-Za-z]{38}$',
  description: 'Token of a share link',
});
const logoId = Type.String({ pattern: idPattern('lgo'), description: 'TypeID with prefix lgo' });
const specified = { tag: 'Reporting', stability: 'beta', origin: 'specification' } as const;
const extension = { tag: 'Reporting', stability: 'beta', origin: 'extension' } as const;
const reads = { scope: 'reporting:read' } as const;
const writes = { scope: 'reporting:write' } as const;
/** Media types of artifacts. */
const files = ['application/pdf', 'text/csv', 'application/json'] as const;
const format = oneOf(reportFormats);

export const reports = {
  createExecution: operation({
    ...specified,
    ...writes,
    method: 'POST',
    path: '/reporting/executions',
    summary: 'Request a report',
    body: ExecutionInput,
    success: { 202: ReportExecution },
    statuses: [400, 402, 403, 404, 429, 500],
  }),
  listExecutions: operation({
    ...specified,
    ...reads,
    method: 'GET',
    path: '/reporting/executions',
    command: 'report list',
    summary: 'List reports, newest first',
    query: exact({
      status: Type.Optional(oneOf(reportStatuses)),
      reportTemplateId: Type.Optional(templateId),
      ...paging,
    }),
    success: { 200: page(ReportExecution) },
    statuses: [400, 402, 403, 500],
  }),
  getExecution: operation({
    ...specified,
    ...reads,
    method: 'GET',
    path: '/reporting/executions/{executionId}',
    command: 'report get',
    summary: 'Get a report: status, summary, artifacts, deliveries',
    params,
    query: exact({
      includeData: Type.Optional(
        Type.Boolean({ description: `Add the first ${limits.reportDataRows} rows of the report` }),
      ),
    }),
    success: {
      200: Type.Object({
        ...ReportExecution.properties,
        signature: nullable(ReportSignature),
        data: Type.Optional(nullable(ReportData)),
      }),
    },
    statuses: [402, 403, 404, 410, 500],
  }),
  /** Streams the file, with ranges (RFC 9110 §14), `ETag` and `Repr-Digest` (RFC 9530). */
  downloadReport: operation({
    ...specified,
    ...reads,
    method: 'GET',
    path: '/reporting/executions/{executionId}/download',
    summary: 'Download an artifact of a report',
    params,
    query: exact({ format }),
    ranged: true,
    files,
    success: { 200: { mediaType: 'application/pdf' } },
    statuses: [400, 402, 403, 404, 412, 416, 500],
  }),
  createShare: operation({
    ...specified,
    ...writes,
    method: 'POST',
    path: '/reporting/executions/{executionId}/shares',
    summary: 'Create a link to an artifact that needs no credential',
    params,
    body: ShareInput,
    success: { 201: CreatedShare },
    statuses: [400, 402, 403, 404, 410, 500],
  }),
  listShares: operation({
    ...extension,
    ...reads,
    method: 'GET',
    path: '/reporting/executions/{executionId}/shares',
    command: 'report shared',
    summary: 'List the share links of a report, newest first',
    params,
    query: pageQuery,
    success: { 200: page(Share) },
    statuses: [400, 401, 402, 403, 404, 500],
  }),
  getShare: operation({
    ...extension,
    ...reads,
    method: 'GET',
    path: '/reporting/executions/{executionId}/shares/{shareId}',
    summary: 'Get a share link of a report, without its token',
    params: exact({ executionId, shareId: serviceId('shr') }),
    success: { 200: Share },
    statuses: [401, 402, 403, 404, 500],
  }),
  revokeShare: operation({
    ...extension,
    ...writes,
    method: 'DELETE',
    path: '/reporting/executions/{executionId}/shares/{shareId}',
    summary: 'Revoke a share link',
    params: exact({ executionId, shareId: serviceId('shr') }),
    success: { 204: { empty: true } },
    statuses: [401, 402, 403, 404, 500],
  }),
  downloadShared: operation({
    ...specified,
    scope: null,
    method: 'GET',
    path: '/reporting/shares/{token}/download',
    summary: 'Download a shared artifact',
    params: exact({ token }),
    query: exact({ format }),
    ranged: true,
    files,
    success: { 200: { mediaType: 'application/pdf' } },
    statuses: [400, 404, 410, 412, 416, 500],
  }),
  getSharedSignature: operation({
    ...extension,
    scope: null,
    method: 'GET',
    path: '/reporting/shares/{token}/signature',
    summary: 'Get the signature of a shared JSON report, which counts as no download',
    params: exact({ token }),
    success: { 200: ReportSignature },
    statuses: [404, 410, 500],
  }),
  getBranding: operation({
    ...specified,
    ...reads,
    method: 'GET',
    path: '/reporting/branding',
    summary: 'Get name, colors, logo and paper of reports',
    tagged: true,
    success: { 200: Branding },
    statuses: [402, 403, 404, 500],
  }),
  putBranding: operation({
    ...specified,
    ...writes,
    method: 'PUT',
    path: '/reporting/branding',
    summary: 'Replace name, colors, footer and paper of reports; the logo stays',
    body: BrandingInput,
    ifMatch: true,
    success: { 200: Branding },
    statuses: [400, 402, 403, 500],
  }),
  uploadLogo: operation({
    ...specified,
    ...writes,
    method: 'POST',
    path: '/reporting/branding/logo',
    summary: 'Upload the logo of reports: PNG, JPEG or lossy WebP',
    upload: { part: 'file', bytes: limits.logoBytes },
    bodyBytes: limits.logoBytes + limits.logoEnvelopeBytes,
    success: { 201: Type.Object({ logoUrl }) },
    statuses: [400, 402, 403, 500],
  }),
  /** Pages and mail show it, so it needs no credential. Its id is random. */
  getLogo: operation({
    ...extension,
    scope: null,
    method: 'GET',
    path: '/reporting/logos/{logoId}',
    summary: 'Get a logo',
    params: exact({ logoId }),
    success: { 200: { mediaType: 'image/png' } },
    statuses: [404, 500],
  }),
} as const;
