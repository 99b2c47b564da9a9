/**
 * Share links (contract L11, L12, B18): a token in a path is the only credential. The store keeps its hash. Downloads
 * are counted before the first byte, one after the other, so that no more happen than are allowed. Proven by
 * `test/service/reports/shares.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { ReportSignature } from '../../contract/report-parts.ts';
import type { ReportShare } from '../../contract/reports.ts';
import { typeId } from '../../core/id.ts';
import { signatureNameOf } from '../../core/reports/artifacts.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ByAge, StoredDocument } from '../../store/port/store.ts';
import { createToken, keyDigest, tokenKind } from '../credentials/token-format.ts';
import { notFound } from '../call/answer.ts';
import { isDeletedProject } from '../call/deleted.ts';
import type { Handlers } from '../port/handler.ts';
import { sealedWrite } from '../call/idempotency.ts';
import { byAge, listPage, pageLimit } from '../call/pages.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import { append } from '../writes/append.ts';
import { artifactAnswer, completeArtifact, findReport, gone, isExpired } from './artifact.ts';
import { requireReporting } from './entitlement.ts';
import { reportShared } from './events.ts';
import { recordDownload } from './record.ts';
import { dataOf, shareKind, type StoredShare } from './stored.ts';
import { unlessOvertaken, untilStored } from '../call/overtaken.ts';

/** A link that ended is listed for so long; after that its token is unknown. */
const keptMs = 30 * 86_400_000;

/** The token is in the address (contract B18). */
const publicHeaders = { 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex' } as const;

export const shares: Pick<
  Handlers,
  'createShare' | 'listShares' | 'getShare' | 'revokeShare' | 'downloadShared' | 'getSharedSignature'
> = {
  async createShare({ params, body, caller, basePath, origin, idempotency }, services) {
    await requireReporting(services, caller.project);
    const { now, randomBytes, salt } = services;
    const { projectId } = caller.project;
    const { executionId } = params;
    const { format, expiresInSeconds = limits.shareSeconds, maxDownloads = null } = body;
    const found = await findReport(services, projectId, executionId);
    const nowMs = now();
    if (isExpired(found, nowMs)) throw gone('the artifacts of the report have expired; create it again');
    completeArtifact(found, format, nowMs);
    const token = createToken('shr', randomBytes);
    const expiresMs = Math.min(nowMs + expiresInSeconds * 1000, found.stored.expiresMs ?? nowMs);
    const stored: StoredShare = {
      format,
      expiresMs,
      maxDownloads,
      downloadCount: 0,
      createdBy: caller.id,
      revokedMs: null,
    };
    const document = {
      kind: shareKind,
      documentId: typeId('shr', nowMs, randomBytes(10)),
      key: keyOf(token),
      parentId: executionId,
      status: 'active',
      createdMs: nowMs,
      dueMs: expiresMs + keptMs,
      version: 0,
      data: JSON.stringify(stored),
    };
    const shareId = document.documentId;
    const base = `${origin()}${basePath}/reporting/shares/${token}`;
    const isSigned = format === 'json' && found.stored.signature !== undefined;
    const answer = {
      status: 201,
      body: {
        ...membersOf(document, stored),
        url: `${base}/download?format=${format}`,
        token,
        signatureUrl: isSigned ? `${base}/signature` : null,
      },
      headers: {
        location: `${basePath}/reporting/executions/${executionId}/shares/${shareId}`,
        'cache-control': 'no-store',
      },
    } as const;
    const event = reportShared(
      { executionId, shareId, format, isRevoked: false },
      { nowMs, salt, by: caller },
    );
    const outcome = await append(services, {
      projectId,
      leaves: [event],
      effects: [{ kind: 'saveDocuments', changes: [{ save: document, most: limits.sharesKept }] }],
      ...sealedWrite(idempotency, answer, services),
    });
    return 'replayed' in outcome ? outcome : answer;
  },

  async listShares({ params, query, caller }, services) {
    await requireReporting(services, caller.project);
    const { projectId } = caller.project;
    const { executionId } = params;
    await findReport(services, projectId, executionId);
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'shares', projectId, filters: { executionId } },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: { after?: ByAge; limit: number }) =>
        services.store.documents(projectId, { kind: shareKind, parentId: executionId }, page),
      position: ({ createdMs, documentId }) => byAge(createdMs, documentId),
    });
    const nowMs = services.now();
    return { status: 200, body: { data: rows.map((each) => shareBody(each, nowMs)), nextCursor } };
  },

  async getShare({ params, caller }, services) {
    await requireReporting(services, caller.project);
    const document = await findShare(services, caller.project.projectId, params);
    return { status: 200, body: shareBody(document, services.now()) };
  },

  /** A link that was revoked already stays so. */
  async revokeShare({ params, caller }, services) {
    await requireReporting(services, caller.project);
    const { projectId } = caller.project;
    const { executionId, shareId } = params;
    await changeShare(
      () => findShare(services, projectId, params),
      async (document) => {
        if (document.status === 'revoked') return;
        const { now, salt } = services;
        const nowMs = now();
        const stored = dataOf<StoredShare>(document);
        const { projectId: _own, ...rest } = document;
        const save = {
          ...rest,
          status: 'revoked',
          data: JSON.stringify({ ...stored, revokedMs: nowMs } satisfies StoredShare),
        };
        const shared = { executionId, shareId, format: stored.format, isRevoked: true };
        await append(services, {
          projectId,
          leaves: [reportShared(shared, { nowMs, salt, by: caller })],
          effects: [{ kind: 'saveDocuments', changes: [{ save }] }],
        });
      },
    );
    return { status: 204, body: null };
  },

  async downloadShared({ params, query, conditions, basePath }, services) {
    const { format } = query;
    const find = () => findShared(services, { token: params.token, basePath });
    const document = await find();
    requireOpen(document, services.now(), { counts: true });
    const { projectId, documentId: shareId, parentId } = document;
    const stored = dataOf<StoredShare>(document);
    if (format !== stored.format) {
      const detail = `expected the format that the link shares, ${stored.format}, got ${format}`;
      throw fieldError({ pointer: '/format', in: 'query', code: 'NOT_ALLOWED', detail });
    }
    const executionId = parentId ?? '';
    const { found, complete } = await sharedArtifact(services, document);
    const by = { id: shareId, type: 'share' };
    const isSigned = format === 'json' && found.stored.signature !== undefined;
    return artifactAnswer(services, {
      found,
      complete,
      format,
      conditions,
      headers: {
        ...publicHeaders,
        ...(isSigned
          ? { link: `<${basePath}/reporting/shares/${params.token}/signature>; rel="describedby"` }
          : {}),
      },
      // a request without a body, such as HEAD, counts as none
      first: async () => {
        await countDownload(services, find);
        await recordDownload(services, projectId, { executionId, format, by });
      },
      still: async () => {
        const now = await find();
        requireOpen(now, services.now(), { counts: false });
        await sharedArtifact(services, now);
      },
    });
  },

  /** As long as the link is open, also after its last download. */
  async getSharedSignature({ params, basePath }, services) {
    const document = await findShared(services, { token: params.token, basePath });
    requireOpen(document, services.now(), { counts: false });
    const { found } = await sharedArtifact(services, document);
    const { signature, reportTemplateId } = found.stored;
    if (dataOf<StoredShare>(document).format !== 'json' || signature === undefined) {
      const detail =
        'the link has no signature: a PDF contains its own, and a CSV or an earlier version has none';
      throw new GovError('NOT_FOUND', detail);
    }
    const filename = signatureNameOf(`${reportTemplateId}-${found.document.documentId}.json`);
    return {
      status: 200,
      body: JSON.parse(signature) as ReportSignature, // this service wrote it
      headers: {
        ...publicHeaders,
        'cache-control': 'no-store',
        'content-disposition': `attachment; filename="${filename}"`,
        'content-security-policy': "default-src 'none'; sandbox",
      },
    };
  },
};

const keyOf = (token: string): string => keyDigest(token).toString('hex');

/** NOT_FOUND for an unknown token, and for one of the other environment. An attacker controls the token. */
async function findShared(
  { store }: Services,
  { token, basePath }: { readonly token: string; readonly basePath: string },
): Promise<StoredDocument> {
  const document = tokenKind(token) === 'shr' ? await store.documentByKey(shareKind, keyOf(token)) : null;
  const project = document === null ? null : await store.project(document.projectId);
  const isSandbox = basePath.startsWith('/sandbox');
  if (document === null || project === null || (project.environment === 'sandbox') !== isSandbox)
    throw new GovError('NOT_FOUND', 'no share link has this token');
  if (await isDeletedProject({ store }, document.projectId))
    throw gone('the project of the share link was deleted');
  return document;
}

/** The artifact of a link; GONE where the report or its artifact no longer exists. */
async function sharedArtifact(services: Services, { projectId, parentId, data }: StoredDocument) {
  const { format } = JSON.parse(data) as StoredShare;
  try {
    const found = await findReport(services, projectId, parentId ?? '');
    return { found, complete: completeArtifact(found, format, services.now()) };
  } catch (error) {
    if (error instanceof GovError && error.code === 'NOT_FOUND')
      throw gone('the artifact of the share link was removed');
    throw error;
  }
}

/** GONE for a link that was revoked, has expired or, with `counts`, is used up. */
function requireOpen(
  document: StoredDocument,
  nowMs: number,
  { counts }: { readonly counts: boolean },
): void {
  const { expiresMs, maxDownloads, downloadCount } = dataOf<StoredShare>(document);
  if (document.status === 'revoked') throw gone('the share link was revoked');
  if (nowMs >= expiresMs) throw gone('the share link has expired');
  if (counts && maxDownloads !== null && downloadCount >= maxDownloads)
    throw gone(`the share link allowed ${maxDownloads} downloads, which are used up`);
}

/** GONE where the link ended in the meantime. */
const countDownload = (services: Services, find: () => Promise<StoredDocument>): Promise<void> =>
  changeShare(find, async (document) => {
    requireOpen(document, services.now(), { counts: true });
    const stored = dataOf<StoredShare>(document);
    const { projectId, ...rest } = document;
    const data = JSON.stringify({ ...stored, downloadCount: stored.downloadCount + 1 });
    const outcome = await services.store.saveDocuments(projectId, [{ save: { ...rest, data } }]);
    if (outcome !== 'saved') throw new GovError('PRECONDITION_FAILED', 'the share link has changed');
  });

/** Changes a link by its current version; repeats where another request changed it first. OVERLOADED after many. */
async function changeShare(
  find: () => Promise<StoredDocument>,
  change: (document: StoredDocument) => Promise<void>,
): Promise<void> {
  await untilStored('the share link', async () => {
    const changing = change(await find()).then(() => 'changed' as const);
    return unlessOvertaken(changing, 'PRECONDITION_FAILED');
  });
}

async function findShare(
  { store }: Services,
  projectId: string,
  { executionId, shareId }: { readonly executionId: string; readonly shareId: string },
): Promise<StoredDocument> {
  const document = await store.document(projectId, shareKind, shareId);
  if (document === null || document.parentId !== executionId) throw notFound('share link');
  return document;
}

const membersOf = (
  { documentId, createdMs }: Pick<StoredDocument, 'documentId' | 'createdMs'>,
  { format, expiresMs, maxDownloads, downloadCount }: StoredShare,
) => ({
  shareId: documentId,
  format,
  expiresAt: formatTimestamp(expiresMs),
  maxDownloads,
  downloadCount,
  createdAt: formatTimestamp(createdMs),
});

function shareBody(document: StoredDocument, nowMs: number): ReportShare {
  const stored = dataOf<StoredShare>(document);
  const { revokedMs } = stored;
  return {
    ...membersOf(document, stored),
    status: shareStatus(document, stored, nowMs),
    revokedAt: revokedMs === null ? null : formatTimestamp(revokedMs),
  };
}

function shareStatus(
  { status }: StoredDocument,
  { expiresMs, maxDownloads, downloadCount }: StoredShare,
  nowMs: number,
): ReportShare['status'] {
  if (status === 'revoked') return 'revoked';
  if (nowMs >= expiresMs) return 'expired';
  return maxDownloads !== null && downloadCount >= maxDownloads ? 'exhausted' : 'active';
}
