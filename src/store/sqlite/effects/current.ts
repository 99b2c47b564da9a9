/**
 * The project of the effect that is being applied; the writers of rows share it.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */

/** `project` is the number of the project. */
export interface Current {
  project: number;
}
