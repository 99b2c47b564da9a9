/**
 * Runs the reads that both engines share (`src/store/read/`).
 * Proven by `test/store/read/queries.test.ts`.
 */
import type { Queries } from '../../read/queries.ts';
import type { Database } from '../connection/database.ts';
import { readOrNull } from '../effects/texts.ts';
import type { ProjectNumber } from './leaves.ts';

export const queriesOf = (database: Database, numberOf: ProjectNumber): Queries => ({
  read: (scope, steps) => database.read(scope, steps),
  readAtOnce: (scope, steps) => database.readAtOnce(scope, steps),
  numberOf,
  // null only where null was stored
  text: (stored) => readOrNull(stored) as typeof stored,
});
