/** What a plane serves: the recording, proving and reading groups for one tenant. */
import { table, type OperationId } from '../src/contract/table.ts';

export const planeOperations: readonly OperationId[] = Object.keys(table) as OperationId[];
