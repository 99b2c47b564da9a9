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

export const planeOperations: readonly OperationId[] = Object.entries<Operation>(table)
  .filter(([, { tag }]) => !hosted.has(tag))
  .map(([id]) => id as OperationId);
