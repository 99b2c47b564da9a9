/**
 * The row id of a leaf: project number and index in one integer.
 * A leaf therefore needs no index besides its row, neither for writing nor for finding it. The tenant is the
 * upper half of the key.
 * Proven by `test/store/tenant-statements.alone.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';

/**
 * 2^33 leaves of 4 KB are 35 TB, the largest database file with 8 KiB pages. 2^20 − 1 projects remain. Exact
 * as numbers.
 */
export const positionBits = 33;
export const leavesPerProject = 2 ** positionBits;
export const maxProject = 2 ** 20 - 1;

/**
 * The row id of leaf `index` of a project. `index` may be `leavesPerProject`, the end of the project's range.
 */
export function positionOf(project: number, index: number): number {
  if (project > maxProject || index < 0 || index > leavesPerProject) {
    throw new GovError(
      'INTERNAL',
      `expected at most ${maxProject} projects of ${leavesPerProject} leaves, got project ${project}, leaf ${index}`,
    );
  }
  return project * leavesPerProject + index;
}

/** The position after every leaf of a project. */
export const endOf = (project: number): number => positionOf(project, leavesPerProject);

/** SQL: the same position, for joins with rows that have project and index. */
export const positionSql = (row: string): string => `(${row}.project << ${positionBits}) + ${row}.idx`;
