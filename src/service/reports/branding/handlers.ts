/**
 * Handlers of names, colors, paper and logo of reports (contract L13, L14). A logo is decoded and encoded again, so that only
 * its pixels are stored. Its size is known before it is decoded. Proven by `test/service/reports/branding.test.ts`.
 */
import { createHash } from 'node:crypto';
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { defaultColors, defaultPaper, type ReportingBranding } from '../../../contract/reports.ts';
import { typeId } from '../../../core/id.ts';
import { readPicture } from '../../../core/picture.ts';
import { formatTimestamp } from '../../../core/time.ts';
import type { AppendRequest, DocumentChange } from '../../../store/port/store.ts';
import { notFound, type ReplayedResponse } from '../../call/answer.ts';
import { idempotencyWrite } from '../../call/idempotency.ts';
import type { Handlers } from '../../port/handler.ts';
import { requireTag } from '../../call/entity-tag.ts';
import { append } from '../../writes/append.ts';
import { fieldError, refuseReadOnly } from '../../call/schema.ts';
import type { Services } from '../../port/services.ts';
import { readLogo, storedBranding } from './brand.ts';
import { requireReporting } from '../entitlement.ts';
import { brandingKind, dataOf, logoKind, type StoredBranding, type StoredLogo } from '../stored.ts';
import { unlessOvertaken, untilStored } from '../../call/overtaken.ts';

const unset = {
  companyName: null,
  ...defaultColors,
  footerText: null,
  paper: defaultPaper,
  logoId: null,
  logoUrl: null,
};

export const branding: Pick<Handlers, 'getBranding' | 'putBranding' | 'uploadLogo' | 'getLogo'> = {
  async getBranding({ caller }, services) {
    await requireReporting(services, caller.project);
    const found = await storedBranding(services, caller.project.projectId);
    if (found === null)
      throw new GovError(
        'NOT_FOUND',
        'the project has no branding yet; set it with gov report branding set or PUT /reporting/branding',
      );
    return { status: 200, body: brandingBody(found.stored) };
  },

  async putBranding({ body, caller, ifMatch }, services) {
    await requireReporting(services, caller.project);
    const { projectId } = caller.project;
    const { logoUrl, updatedAt, ...set } = body;
    const readOnly = Object.entries({ logoUrl, updatedAt }).filter(([, value]) => value !== undefined);
    const stored = await changeBranding(services, projectId, (before) => {
      const shown = before === null ? null : brandingBody(before);
      requireTag(ifMatch, shown, 'the branding');
      refuseReadOnly(Object.fromEntries(readOnly), shown ?? {});
      const { logoId, logoUrl: url } = before ?? unset;
      return { ...unset, ...set, logoId, logoUrl: url };
    });
    return 'replayed' in stored ? stored : { status: 200, body: brandingBody(stored) };
  },

  async uploadLogo(call, services) {
    const { caller, basePath, origin, file } = call;
    await requireReporting(services, caller.project);
    const { projectId } = caller.project;
    const bytes = file ?? new Uint8Array();
    refusePicture(bytes);
    const png = await services.work.run('logo', { projectId, bytes }, { events: 0 });
    const logoId = typeId('lgo', services.now(), services.randomBytes(10));
    const location = `${basePath}/reporting/logos/${logoId}`;
    const logoUrl = `${origin()}${location}`;
    await storeLogo(services, { projectId, logoId, png });
    const answer = { status: 201, body: { logoUrl }, headers: { location } } as const;
    let replaced: string | null = null;
    const change = (before: StoredBranding | null) => {
      replaced = before?.logoId ?? null;
      return { ...(before ?? unset), logoId, logoUrl };
    };
    const stored = await changeBranding(
      services,
      projectId,
      change,
      idempotencyWrite(call.idempotency, answer),
    );
    const isReplayed = 'replayed' in stored;
    const unused = isReplayed ? logoId : replaced;
    if (unused !== null) await removeLogo(services, projectId, unused);
    return isReplayed ? stored : answer;
  },

  async getLogo({ params }, services) {
    const document = await services.store.documentByKey(logoKind, params.logoId);
    if (document === null) throw notFound('logo');
    const stored = dataOf<StoredLogo>(document);
    const { projectId, documentId: exportId } = document;
    const body = await readLogo(services, { projectId, exportId }, stored).catch((error: unknown) => {
      services.log.error({ err: error, logoId: exportId }, 'a logo cannot be read');
      throw notFound('logo');
    });
    return {
      status: 200,
      body,
      headers: {
        'content-type': stored.mediaType,
        'content-security-policy': "default-src 'none'; sandbox",
        'cross-origin-resource-policy': 'cross-origin',
        'cache-control': 'public, max-age=31536000, immutable',
      },
    };
  },
};

/** VALIDATION_ERROR for bytes that are no picture, or one with too many pixels. Reads its structure alone. */
function refusePicture(bytes: Uint8Array): void {
  const refuse = (code: 'BAD_FORMAT' | 'TOO_LARGE', detail: string, limit?: number): never => {
    throw fieldError({
      pointer: '/file',
      in: 'body',
      code,
      detail,
      ...(limit === undefined ? {} : { limit }),
    });
  };
  const picture = readPicture(bytes);
  if ('fault' in picture)
    return refuse('BAD_FORMAT', `expected a PNG, JPEG or lossy WebP picture, ${picture.fault}`);
  const { width, height } = picture;
  const most = limits.logoPixels;
  if (width > most || height > most)
    refuse('TOO_LARGE', `expected at most ${most} × ${most} pixels, got ${width} × ${height}`, most);
}

async function storeLogo(
  services: Services,
  {
    projectId,
    logoId,
    png,
  }: { readonly projectId: string; readonly logoId: string; readonly png: Uint8Array },
): Promise<void> {
  const { store, exports, now } = services;
  const place = { projectId, exportId: logoId };
  const writer = await exports.artifacts.create(place);
  try {
    await writer.write(png);
    const stored: StoredLogo = {
      artifact: await writer.finish(),
      sizeBytes: png.length,
      sha256: createHash('sha256').update(png).digest('hex'),
      mediaType: 'image/png',
    };
    const save = {
      kind: logoKind,
      documentId: logoId,
      key: logoId,
      parentId: null,
      status: 'active',
      createdMs: now(),
      dueMs: null,
      version: 0,
      data: JSON.stringify(stored),
    };
    await store.saveDocuments(projectId, [{ save }]);
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

async function removeLogo(services: Services, projectId: string, logoId: string): Promise<void> {
  const document = await services.store.document(projectId, logoKind, logoId);
  if (document === null) return;
  const { kind, documentId, version } = document;
  await services.exports.artifacts.remove({ projectId, exportId: logoId });
  await services.store.saveDocuments(projectId, [{ remove: { kind, documentId, version } }]);
}

/** Stores what `change` makes of the current branding; repeats where another request changed it first. */
function changeBranding(
  services: Services,
  projectId: string,
  change: (before: StoredBranding | null) => Omit<StoredBranding, 'updatedMs'>,
  write: Pick<AppendRequest, 'idempotency'> = {},
): Promise<StoredBranding | ReplayedResponse> {
  return untilStored('the branding', async () => {
    const found = await storedBranding(services, projectId);
    const nowMs = services.now();
    const stored: StoredBranding = { ...change(found?.stored ?? null), updatedMs: nowMs };
    const data = JSON.stringify(stored);
    const changes: DocumentChange[] = [{ save: savedAs(found, { nowMs, data }) }];
    const effects = [{ kind: 'saveDocuments', changes }] as const;
    const saved = append(services, { projectId, leaves: [], effects, ...write });
    const result = await unlessOvertaken(saved, 'PRECONDITION_FAILED');
    return result === null || 'replayed' in result ? result : stored;
  });
}

function savedAs(
  found: Awaited<ReturnType<typeof storedBranding>>,
  { nowMs, data }: { readonly nowMs: number; readonly data: string },
) {
  if (found !== null) {
    const { projectId: _own, ...document } = found.document;
    return { ...document, data };
  }
  return {
    kind: brandingKind,
    documentId: brandingKind,
    key: null,
    parentId: null,
    status: 'active',
    createdMs: nowMs,
    dueMs: null,
    version: 0,
    data,
  };
}

const brandingBody = (stored: StoredBranding): ReportingBranding => ({
  companyName: stored.companyName,
  logoUrl: stored.logoUrl,
  primaryColor: stored.primaryColor,
  accentColor: stored.accentColor,
  footerText: stored.footerText,
  paper: stored.paper ?? defaultPaper,
  updatedAt: formatTimestamp(stored.updatedMs),
});
