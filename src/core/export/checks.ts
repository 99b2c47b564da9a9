/**
 * The checks of an export, in the order in which the verifier reports them.
 * Proven by `test/core/export/artifact.test.ts`.
 */
import type { CheckList } from '../proof/verdict.ts';

export const exportCheckIds = [
  'format',
  'rows',
  'manifest',
  'checkpoint_signatures',
  'consistency',
  'witnesses',
  'request',
  'disclosures',
  'completeness',
] as const;
export type ExportCheckId = (typeof exportCheckIds)[number];
export type ExportChecks = CheckList<ExportCheckId>;
