/** The operations of a plane: the recording, proving, deciding and reading groups for one tenant. */
import type { Operation, Tag } from '../../src/contract/operation.ts';
import { table, type OperationId } from '../../src/contract/table.ts';

/** Groups that only the hosted service has. They need people and many projects. */
const hosted: ReadonlySet<Tag> = new Set([
  'Auth',
  'Billing',
  'Metering',
  'Projects',
  'Hybrid Telemetry',
] as const);

/** Keys of programs, such as hooks of agents, which must not have the key of the operator. */
const ofKeys: ReadonlySet<string> = new Set<OperationId>([
  'getIdentity',
  'createConsoleLink',
  'openConsoleSession',
  'closeConsoleSession',
  'createApiKey',
  'listApiKeys',
  'getApiKey',
  'updateApiKey',
  'revokeApiKey',
  'rotateApiKey',
]);

export const planeOperations: readonly OperationId[] = Object.entries<Operation>(table)
  .filter(([id, { tag }]) => !hosted.has(tag) || ofKeys.has(id))
  .map(([id]) => id as OperationId);
