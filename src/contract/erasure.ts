/** Erasure of values; their hashes and proofs remain (contract I11, `docs/explanation/how-erasure-works.md`). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { exact, nullable, page, pageQuery, serviceId, timestamp } from './shapes.ts';

const extension = { tag: 'Governance', stability: 'beta', origin: 'extension' } as const;

const reasonCode = Type.String({
  pattern: '^[a-z][a-z0-9_]{0,63}$',
  description: 'A word that the log stores in clear, such as subject_request',
});
const count = (description: string) => Type.Integer({ minimum: 0, description });

/** A scalar value at one of the `subjectPointers` of the project. */
export const Subject = Type.Union([
  Type.String({ minLength: 1, maxLength: limits.subjectValueChars }),
  Type.Number(),
]);
export type Subject = Static<typeof Subject>;

export const ErasureInput = exact({
  eventId: Type.Optional(serviceId('evt')),
  evaluationId: Type.Optional(serviceId('pev')),
  decisionId: Type.Optional(serviceId('rsk')),
  fields: Type.Optional(
    Type.Array(Type.String({ pattern: '^/', maxLength: limits.erasurePointerChars }), {
      minItems: 1,
      maxItems: limits.committedFields,
      uniqueItems: true,
      description: 'JSON pointers of members, such as /actor/id or /metadata; default: all remaining values',
    }),
  ),
  subject: Type.Optional(Subject),
  reasonCode: Type.Optional(reasonCode),
  dryRun: Type.Optional(Type.Boolean({ description: 'true: count but erase nothing' })),
  request: Type.Optional(
    Type.String({
      maxLength: limits.erasureRequestChars,
      description: 'The request of a dry run by another credential, if the project requires two',
    }),
  ),
});
export type ErasureInput = Static<typeof ErasureInput>;

const ErasureDone = Type.Object({
  erasureId: nullable(serviceId('ers')),
  leaves: count('Events and decisions that lost values'),
  fields: count('Erased values'),
  complete: Type.Boolean({
    description: 'false: one erasure is too small for the subject; repeat the request',
  }),
  dryRun: Type.Boolean(),
  keyDestroyed: Type.Boolean({
    description:
      'Whether the key of the subject was destroyed, so that copies elsewhere are unreadable. For a dry run: whether ' +
      'there is a key to destroy',
  }),
  request: Type.Optional(
    Type.String({
      description:
        'For a dry run, if the project requires two credentials: the value that the second one sends',
    }),
  ),
});
export type ErasureDone = Static<typeof ErasureDone>;

const summary = {
  erasureId: serviceId('ers'),
  sequence: Type.Integer({ minimum: 0, description: 'Leaf index in the project’s log' }),
  reasonCode: Type.String(),
  requestedAt: timestamp('When it was requested'),
  executedAt: timestamp('When the values were erased'),
  keyDestroyed: Type.Boolean({
    description: 'Whether a key was destroyed, so that copies elsewhere are unreadable',
  }),
  leaves: count('Events and decisions that lost values'),
  fields: count('Erased values'),
};
const Erasure = Type.Object(summary);
export type Erasure = Static<typeof Erasure>;
const ErasureWhole = Type.Object({
  ...summary,
  targets: Type.Array(
    Type.Object({
      sequence: Type.Integer({ minimum: 0, description: 'Leaf index of the event or decision' }),
      digests: Type.Array(Type.String()),
    }),
  ),
});
export type ErasureWhole = Static<typeof ErasureWhole>;

export const erasures = {
  createErasure: operation({
    ...extension,
    method: 'POST',
    path: '/erasures',
    scope: 'erasure:write',
    summary: 'Erase values of an event or decision, or all about a subject',
    body: ErasureInput,
    success: { 200: ErasureDone, 201: ErasureDone },
    statuses: [400, 401, 403, 404, 409, 500],
  }),
  listErasures: operation({
    ...extension,
    method: 'GET',
    path: '/erasures',
    scope: 'governance:read',
    command: 'erasures list',
    summary: 'List erasures, newest first',
    query: pageQuery,
    success: { 200: page(Erasure) },
    statuses: [400, 401, 500],
  }),
  getErasure: operation({
    ...extension,
    method: 'GET',
    path: '/erasures/{erasureId}',
    scope: 'governance:read',
    command: 'erasures get',
    summary: 'Get an erasure with the digests of its values',
    params: exact({ erasureId: serviceId('ers') }),
    success: { 200: ErasureWhole },
    statuses: [401, 404, 500],
  }),
} as const;
