/** The transparency log as C2SP tlog-checkpoint and tlog-tiles texts (contract O10). */
import { Type } from 'typebox';
import { operation } from './operation.ts';
import { limits } from './limits.ts';
import { clientId, exact, freeObject, sha256Hash, timestamp } from './shapes.ts';

const shared = {
  method: 'GET',
  tag: 'Log',
  stability: 'beta',
  origin: 'extension',
  scope: 'log:read',
} as const;
const text = { mediaType: 'text/plain; charset=utf-8' } as const;
const binary = { mediaType: 'application/octet-stream' } as const;

export const log = {
  getCheckpoint: operation({
    ...shared,
    path: '/log/checkpoint',
    summary: 'Get the newest signed checkpoint',
    success: { 200: text },
    statuses: [401, 500],
  }),
  getLogKey: operation({
    ...shared,
    path: '/log/key',
    summary: 'Get the verifier keys of the log, one per line',
    success: { 200: text },
    statuses: [401, 500],
  }),
  getLogKeyChanges: operation({
    ...shared,
    path: '/log/key-changes',
    summary: 'Get the leaves that added and retired keys of the log, oldest first',
    success: {
      200: Type.Object({
        changes: Type.Array(
          Type.Object({
            index: Type.Integer({ minimum: 1, description: 'Index of the leaf' }),
            record: Type.String({ description: 'Record of the leaf, of type gov.key/1' }),
          }),
        ),
      }),
    },
    statuses: [401, 500],
  }),
  askLog: operation({
    ...shared,
    path: '/log/answers',
    summary: 'Get how many events of a run or type the log has, as a file to verify offline',
    query: exact({
      runId: Type.Optional(clientId('Run')),
      type: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: limits.eventTypeChars,
          pattern: '^[A-Za-z0-9._:/-]+$',
          description: 'Event type, or type of other records, such as gov.policy/1',
        }),
      ),
      since: Type.Optional(timestamp('Inclusive lower bound on the server time')),
      until: Type.Optional(timestamp('Exclusive upper bound on the server time, which must have passed')),
    }),
    success: { 200: freeObject },
    statuses: [400, 401, 500],
  }),
  getLogReceipt: operation({
    ...shared,
    path: '/log/receipts/{index}',
    summary: 'Get a receipt (RFC 9942, COSE) that a leaf is in the log, under the newest checkpoint',
    params: exact({
      index: Type.String({ pattern: '^(?:0|[1-9][0-9]{0,14})$', description: 'Index of the leaf' }),
    }),
    success: { 200: { mediaType: 'application/cose' } },
    statuses: [401, 404, 500],
  }),
  getLogConsistency: operation({
    ...shared,
    path: '/log/consistency',
    summary: 'Get proofs that a log of more leaves begins with logs of fewer leaves (RFC 9162, 2.1.4)',
    query: exact({
      from: Type.String({
        pattern: `^[1-9][0-9]{0,14}(?:,[1-9][0-9]{0,14}){0,${limits.consistencySizes - 1}}$`,
        description: `Leaves of the smaller logs: at most ${limits.consistencySizes} numbers, separated by commas`,
      }),
      to: Type.String({ pattern: '^[1-9][0-9]{0,14}$', description: 'Leaves of the larger log' }),
    }),
    success: {
      200: Type.Object({
        proofs: Type.Array(
          Type.Object({
            fromSize: Type.Integer({ minimum: 1 }),
            toSize: Type.Integer({ minimum: 1 }),
            path: Type.Array(sha256Hash, { description: 'Empty where both are the same size' }),
          }),
        ),
      }),
    },
    statuses: [400, 401, 404, 500],
  }),
  getTile: operation({
    ...shared,
    path: '/log/tile/*',
    summary: 'Get a hash tile or entry bundle (C2SP tlog-tiles)',
    params: exact({ '*': Type.String({ maxLength: 128 }) }),
    success: { 200: binary },
    statuses: [401, 404, 500],
  }),
} as const;
