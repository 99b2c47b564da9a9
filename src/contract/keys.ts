/** API keys of a project (contract B3-B8, M1-M8). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { displayName, environments } from './auth.ts';
import { limits } from './limits.ts';
import { operation, scopes } from './operation.ts';
import { resource } from './resource.ts';
import { exact, nullable, oneOf, paging, readOnly, serviceId, timestamp } from './shapes.ts';

const keyStatuses = ['active', 'revoked', 'expired'] as const;

const ApiKeyRecord = Type.Object({
  keyId: serviceId('key'),
  name: Type.String(),
  description: nullable(Type.String()),
  prefix: Type.String({ description: 'First characters of the key' }),
  last4: Type.String(),
  environment: oneOf(environments),
  scopes: Type.Array(oneOf(scopes)),
  status: oneOf(keyStatuses),
  createdAt: timestamp('When it was created'),
  createdBy: Type.String({ description: 'Key or user that created it, or operator' }),
  updatedAt: timestamp('When it was last changed'),
  lastUsedAt: nullable(timestamp('Last use, to the minute')),
  expiresAt: nullable(timestamp('When it expires; null: never')),
  revokedAt: nullable(timestamp('When it was or will be revoked')),
  rotatedFromKeyId: nullable(Type.String()),
});
export type ApiKeyRecord = Static<typeof ApiKeyRecord>;

const CreatedKey = Type.Object({
  key: Type.String({ pattern: '^gov_(live|test)_[0-9A-Za-z]{38}$', description: 'Returned only this once' }),
  record: ApiKeyRecord,
});

const name = displayName(limits.keyNameChars, 'The purpose of the key');
const keyScopes = Type.Array(oneOf(scopes), {
  minItems: 1,
  maxItems: limits.keyScopes,
  uniqueItems: true,
  description:
    'At most the scopes of the caller; default: all of them. exports:read and exports:write give access to all ' +
    'resources that can be exported, events and proofs included',
});
const expiresAt = nullable(timestamp('When it expires, at most ten years from now'));
const description = Type.String({ maxLength: limits.keyDescriptionChars });
const params = exact({ keyId: serviceId('key') });
const specified = { tag: 'Projects', stability: 'stable', origin: 'specification' } as const;
/** The statuses of all operations on keys (contract M8). */
const statuses = [400, 401, 403, 404, 429, 500];
const key = resource({
  ...specified,
  path: '/api-keys',
  params,
  item: ApiKeyRecord,
  reads: 'keys:read',
  writes: 'keys:write',
});

export const keys = {
  createApiKey: key.create({
    summary: 'Create an API key of the project; the response is the only one that contains it',
    body: exact({
      name,
      scopes: Type.Optional(keyScopes),
      expiresAt: Type.Optional(expiresAt),
      description: Type.Optional(nullable(description)),
    }),
    success: { 201: CreatedKey },
    statuses,
  }),
  listApiKeys: key.list({
    command: 'keys list',
    summary: 'List the API keys of the project, newest first',
    query: exact({
      includeRevoked: Type.Optional(Type.Boolean({ description: 'Include revoked keys' })),
      ...paging,
    }),
    statuses,
  }),
  getApiKey: key.get({
    origin: 'extension',
    stability: 'beta',
    command: 'keys show',
    summary: 'Get one API key, also a revoked one',
    tagged: true,
    statuses: [401, 403, 404, 500],
  }),
  updateApiKey: key.update({
    summary: 'Change name, description, scopes or expiry of an API key',
    body: Type.Object(
      {
        name: Type.Optional(name),
        description: Type.Optional(nullable(description)),
        scopes: Type.Optional(keyScopes),
        expiresAt: Type.Optional(expiresAt),
        keyId: readOnly,
        prefix: readOnly,
        last4: readOnly,
        environment: readOnly,
        status: readOnly,
        createdAt: readOnly,
        createdBy: readOnly,
        updatedAt: readOnly,
        lastUsedAt: readOnly,
        revokedAt: readOnly,
        rotatedFromKeyId: readOnly,
      },
      { additionalProperties: false, minProperties: 1 },
    ),
    statuses,
  }),
  revokeApiKey: key.delete({
    summary: 'Revoke an API key',
    ifMatch: true,
    statuses,
  }),
  rotateApiKey: operation({
    ...specified,
    method: 'POST',
    path: '/api-keys/{keyId}/rotate',
    scope: 'keys:write',
    summary: 'Replace an API key with a new one that has the same name and scopes',
    params,
    query: exact({
      overlapSeconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: limits.keyOverlapSeconds,
          description: 'Seconds that the old key still works; default 0',
        }),
      ),
    }),
    success: { 201: CreatedKey },
    statuses,
  }),
} as const;
