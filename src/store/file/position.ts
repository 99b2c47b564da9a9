/**
 * Where a leaf stands in its table: project number and index in one integer, which is the row id. A leaf so
 * needs no index beside its row, neither to be written nor to be found; the tenant is the key's upper half.
 */
import { GovError } from '../../contract/problems.ts';

/**
 * 2^33 leaves of 4 KB are 35 TB, the most that a database file of 8 KiB pages can be; 2^20 − 1 projects. Exact as
 * numbers.
 */
export const positionBits = 33;
const leavesPerProject = 2 ** positionBits;
export const maxProject = 2 ** 20 - 1;

/** The row id of leaf `index` of a project; `index` may be `leavesPerProject`, the end of the project's range. */
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

/** The same in SQL, for joins with rows that name project and index. */
export const positionSql = (row: string): string => `(${row}.project << ${positionBits}) + ${row}.idx`;
