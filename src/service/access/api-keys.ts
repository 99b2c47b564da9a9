/**
 * Handlers of a project's API keys (contract B3-B8, M1-M8): create, list, get, change, rotate, revoke. The store
 * keeps only digests; one answer shows the key, when it is created. A key cannot grant scopes that it lacks, nor a longer
 * life than its own.
 * Each change is in the log with its effect. Proven by `test/service/access/api-keys.test.ts`.
 */
import type { FieldCode } from '../../contract/field-codes.ts';
import type { ApiKeyRecord } from '../../contract/keys.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { systemRun } from '../../core/events/record.ts';
import { holds, isRevoked, requireScopes } from '../../core/credential.ts';
import { formatTimestamp, parseTimestamp } from '../../core/time.ts';
import type { ApiKeyRow } from '../../store/port/store.ts';
import type { Effect } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import type { Requester } from '../writes/asking.ts';
import { notFound } from '../call/answer.ts';
import { contentTag, requireTag } from '../call/entity-tag.ts';
import { sealedWrite } from '../call/idempotency.ts';
import { untilStored } from '../call/overtaken.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers } from '../port/handler.ts';
import { requireEnd } from './bounds.ts';
import { runKeyDocument } from '../credentials/run-keys.ts';
import { createKey } from '../credentials/token-format.ts';
import { byAge, listPage, pageLimit } from '../call/pages.ts';
import { keyRevoked, keyRotated, keyUpdated } from './project-events.ts';
import { fieldError, refuseReadOnly } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import { requirePersonForScopes } from '../approvers/presence.ts';
import { changesOf } from '../call/settings.ts';
import { keyCreated } from '../writes/system.ts';
import { changeTenant } from './tenant-change.ts';

const noStore = { 'cache-control': 'no-store' } as const;

export const apiKeys: Pick<
  Handlers,
  'createApiKey' | 'listApiKeys' | 'getApiKey' | 'updateApiKey' | 'revokeApiKey' | 'rotateApiKey'
> = {
  async createApiKey({ body, caller, basePath, idempotency, request }, services) {
    const { now, randomBytes } = services;
    const nowMs = now();
    const { name, description = null, scopes = caller.scopes, expiresAt } = body;
    requireScopes(caller.scopes, scopes);
    const expiresMs = expiresAt === undefined ? caller.expiresMs : checkedExpiry(expiresAt, nowMs);
    requireEnd(caller, expiresMs);
    await requirePersonForScopes(services, caller, { request, scopes });
    const wanted = { name, description, scopes, expiresMs, createdBy: caller.id };
    const { token, row } = createKey(caller.project, { ...wanted, nowMs, randomBytes });
    const answer = createdAnswer(token, row, { caller, nowMs, basePath });
    const stored = await append(
      services,
      {
        projectId: row.projectId,
        leaves: [keyCreated(row, { nowMs, randomBytes, by: caller })],
        effects: savedKey(token, row, services),
        ...sealedWrite(idempotency, answer, services),
      },
      { by: askedBy(caller, scopes) },
    );
    return 'replayed' in stored ? stored : answer;
  },

  async listApiKeys({ query, caller }, services) {
    const { projectId } = caller.project;
    const { includeRevoked = false, cursor } = query;
    const nowMs = services.now();
    const filter = includeRevoked ? {} : { liveAtMs: nowMs };
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'apiKeys', projectId, filters: { includeRevoked } },
      cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: Parameters<typeof services.store.apiKeys>[2]) =>
        services.store.apiKeys(projectId, filter, page),
      position: ({ createdMs, keyId }) => byAge(createdMs, keyId),
    });
    return { status: 200, body: { data: rows.map((row) => keyBody(row, { caller, nowMs })), nextCursor } };
  },

  async getApiKey({ params, caller }, { store, now }) {
    const key = await store.apiKeyOf(caller.project.projectId, params.keyId);
    if (key === null) throw notFound('API key');
    return tagged(keyBody(key, { caller, nowMs: now() }));
  },

  async updateApiKey({ params, body, caller, ifMatch, request }, services) {
    const { projectId } = caller.project;
    const updated = await changeTenant(services, { projectId, asking: askedBy(caller) }, async (nowMs) => {
      const before = await livingKey(services, caller, { keyId: params.keyId, nowMs });
      // any use of the key changes lastUsedAt, also the one that asks here
      const { name, description, scopes, expiresAt, lastUsedAt: _used, ...readOnly } = body;
      const shown = keyBody(before, { caller, nowMs });
      requireTag(ifMatch, lasting(shown), 'the key');
      refuseReadOnly(readOnly, shown);
      const isSameEnd = expiresAt === undefined || expiresAt === shown.expiresAt;
      const after: ApiKeyRow = {
        ...before,
        ...(name === undefined ? {} : { name }),
        ...(description === undefined ? {} : { description }),
        ...(scopes === undefined ? {} : { scopes }),
        ...(isSameEnd ? {} : { expiresMs: checkedExpiry(expiresAt, nowMs) }),
        updatedMs: nowMs,
      };
      requireScopes(caller.scopes, after.scopes);
      if (after.expiresMs !== before.expiresMs || !isNarrower(after, before))
        requireEnd(caller, after.expiresMs);
      const wider = after.scopes.filter((scope) => !holds(before.scopes, scope));
      await requirePersonForScopes(services, caller, { request, scopes: wider });
      const changes = changesOf(recorded(before), recorded(after));
      if (Object.keys(changes).length === 0) return { change: null, answer: tagged(shown) };
      const answer = tagged(keyBody(after, { caller, nowMs }));
      const effect = { kind: 'changeApiKey', keyId: after.keyId, ...changeable(after), atMs: nowMs } as const;
      const event = keyUpdated(after, { nowMs, salt: services.salt, by: caller }, changes);
      return { change: { leaves: [event], effects: [effect], gives: after.scopes }, answer };
    });
    services.forgetCredential(params.keyId);
    return updated;
  },

  /**
   * Runs in turn, so that the second of two concurrent calls is the repeat. Changes by other processes make it
   * judge again only where the caller names a state.
   */
  async revokeApiKey({ params, caller, ifMatch }, services) {
    const { keyId } = params;
    const { projectId } = caller.project;
    const run = { projectId, runId: systemRun };
    const revoke = async () => {
      const events = (await services.store.run(projectId, systemRun))?.events ?? 0;
      const nowMs = services.now();
      const key = await livingKey(services, caller, { keyId, nowMs });
      requireTag(ifMatch, lasting(keyBody(key, { caller, nowMs })), 'the key');
      const told = keyRevoked(key, { nowMs, salt: services.salt, by: caller });
      const effect = { kind: 'revokeApiKey', keyId, revokedMs: nowMs, atMs: nowMs } as const;
      const stored = await append(
        services,
        { projectId, leaves: [told], effects: [effect] },
        {
          by: askedBy(caller),
          expect: ifMatch === null ? {} : { run: { runId: systemRun, events } },
        },
      ).catch(asNotFound);
      return 'replayed' in stored || stored.outcome === 'stored' ? stored : null;
    };
    await services.runs.inTurn(run, () => untilStored('the project', revoke));
    services.forgetCredential(keyId);
    return { status: 204, body: null };
  },

  async rotateApiKey({ params, query, caller, basePath, idempotency, request }, services) {
    const { overlapSeconds = 0 } = query;
    const { projectId } = caller.project;
    const rotated = await changeTenant(services, { projectId, asking: askedBy(caller) }, async (nowMs) => {
      const old = await livingKey(services, caller, { keyId: params.keyId, nowMs });
      requireScopes(caller.scopes, old.scopes);
      refuseExpired(old, nowMs);
      // a key that rotates itself gives nobody more
      if (old.keyId !== caller.id)
        await requirePersonForScopes(services, caller, { request, scopes: old.scopes });
      requireEnd(caller, old.expiresMs);
      const { token, row } = successor(old, { caller, nowMs, services });
      const untilMs = Math.min(nowMs + overlapSeconds * 1000, old.revokedMs ?? Infinity);
      // revokes the old key first, so that a project at its limit of keys can rotate one
      const effects: Effect[] = [
        { kind: 'revokeApiKey', keyId: old.keyId, revokedMs: untilMs, atMs: nowMs },
        ...savedKey(token, row, services),
      ];
      const event = keyRotated(row, { nowMs, salt: services.salt, by: caller }, untilMs);
      const answer = createdAnswer(token, row, { caller, nowMs, basePath });
      return {
        change: {
          leaves: [event],
          effects,
          gives: old.scopes,
          ...sealedWrite(idempotency, answer, services),
        },
        answer,
      };
    });
    services.forgetCredential(params.keyId);
    return rotated;
  },
};

/** A new key, and the key of its run tokens. */
const savedKey = (token: string, row: ApiKeyRow, { seal }: Services) => {
  const { keyId, createdMs } = row;
  return [
    { kind: 'saveApiKey', key: row },
    { kind: 'saveDocuments', changes: [runKeyDocument(token, { keyId, createdMs, seal })] },
  ] as const satisfies Effect[];
};

/**
 * The caller, and the scopes that the new key gets. A key cannot grant scopes that it lacks (contract B8;
 * OWASP API5).
 */
const askedBy = (caller: Caller, gives: readonly string[] = []): Requester => ({
  caller,
  scopes: ['keys:write', ...gives],
});

/** A key of the caller's project that is not revoked. NOT_FOUND. */
async function livingKey(
  { store }: Services,
  { project }: Caller,
  { keyId, nowMs }: { keyId: string; nowMs: number },
): Promise<ApiKeyRow> {
  const key = await store.apiKeyOf(project.projectId, keyId);
  if (key === null || isRevoked(key, nowMs)) throw notFound('API key');
  return key;
}

/** Whether a key after a change has only scopes that it had before. */
const isNarrower = (after: ApiKeyRow, before: ApiKeyRow): boolean =>
  after.scopes.every((scope) => holds(before.scopes, scope));

/** NOT_FOUND where another process revoked the key at the same time, as for any later call. */
function asNotFound(error: unknown): never {
  if (error instanceof GovError && error.code === 'NOT_FOUND') throw notFound('API key');
  throw error;
}

const changeable = ({ name, description, scopes, expiresMs }: ApiKeyRow) => ({
  name,
  description,
  scopes,
  expiresMs,
});

/** The members of a key that an event of a change contains. */
const recorded = ({ name, description, scopes, expiresMs }: ApiKeyRow) => ({
  name,
  description,
  scopes,
  expiresAt: time(expiresMs),
});

/** A new key with the same name, scopes and expiry. */
function successor(
  old: ApiKeyRow,
  { caller, nowMs, services }: { caller: Caller; nowMs: number; services: Services },
): { token: string; row: ApiKeyRow } {
  const { randomBytes } = services;
  const of = { createdBy: caller.id, rotatedFrom: old.keyId, nowMs, randomBytes };
  return createKey(caller.project, { ...changeable(old), ...of });
}

/** Unix milliseconds. VALIDATION_ERROR for a time that has passed or is more than `limits.keyYears` ahead. */
function checkedExpiry(expiresAt: string | null, nowMs: number): number | null {
  const expiresMs = expiresAt === null ? null : parseTimestamp(expiresAt);
  if (expiresMs === null) return null;
  const latest = new Date(nowMs);
  latest.setUTCFullYear(latest.getUTCFullYear() + limits.keyYears);
  const refused = (code: FieldCode, detail: string): GovError =>
    fieldError({ pointer: '/expiresAt', in: 'body', code, detail });
  if (expiresMs <= nowMs) {
    throw refused('TOO_SMALL', `expected a time after now (${formatTimestamp(nowMs)}), got ${expiresAt}`);
  }
  if (expiresMs > latest.getTime()) {
    throw refused('TOO_LARGE', `expected ${latest.toISOString()} at the latest, got ${expiresAt}`);
  }
  return expiresMs;
}

function refuseExpired({ expiresMs }: ApiKeyRow, nowMs: number): void {
  if (expiresMs === null || expiresMs > nowMs) return;
  const detail = `expected a key that has not expired, but it did at ${formatTimestamp(expiresMs)}; set expiresAt first`;
  throw fieldError({ pointer: '/keyId', in: 'path', code: 'NOT_ALLOWED', detail });
}

const time = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));

interface KeyViewer {
  readonly caller: Caller;
  readonly nowMs: number;
}

/** What the tag of a key is about: any use changes `lastUsedAt`, also the one that asks. */
const lasting = ({ lastUsedAt: _used, ...others }: ApiKeyRecord) => others;

const tagged = (body: ApiKeyRecord) => ({ status: 200, body, headers: contentTag(lasting(body)) }) as const;

const createdAnswer = (token: string, row: ApiKeyRow, seen: KeyViewer & { readonly basePath: string }) =>
  ({
    status: 201,
    body: { key: token, record: keyBody(row, seen) },
    headers: { ...noStore, location: `${seen.basePath}/api-keys/${row.keyId}` },
  }) as const;

function keyBody(row: ApiKeyRow, { caller, nowMs }: KeyViewer): ApiKeyRecord {
  const { keyId, name, description, prefix, last4, createdBy, expiresMs } = row;
  const isExpired = expiresMs !== null && expiresMs <= nowMs;
  return {
    keyId,
    name,
    description,
    prefix,
    last4,
    environment: caller.project.environment,
    // a schema accepted them
    scopes: [...row.scopes] as ApiKeyRecord['scopes'],
    status: isRevoked(row, nowMs) ? 'revoked' : isExpired ? 'expired' : 'active',
    createdAt: formatTimestamp(row.createdMs),
    createdBy,
    updatedAt: formatTimestamp(row.updatedMs),
    lastUsedAt: time(row.lastUsedMs),
    expiresAt: time(expiresMs),
    revokedAt: time(row.revokedMs),
    rotatedFromKeyId: row.rotatedFrom,
  };
}
