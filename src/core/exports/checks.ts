/**
 * The checks of an export, in the order in which the verifier reports them.
 * Proven by `test/core/exports/artifact.test.ts`.
 */
import type { Prerequisites } from '../proofs/rests.ts';
import type { CheckList } from '../proofs/verdict.ts';

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
/** Rows that are not those of the log show neither values nor that none is missing. */
export const exportRests: Prerequisites<ExportCheckId> = {
  consistency: ['checkpoint_signatures', 'manifest'],
  witnesses: ['checkpoint_signatures'],
  request: ['checkpoint_signatures'],
  disclosures: ['rows'],
  completeness: ['rows', 'manifest', 'consistency', 'request'],
};

export type ExportChecks = CheckList<ExportCheckId>;
