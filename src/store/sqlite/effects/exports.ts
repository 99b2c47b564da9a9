/**
 * Rows of requested exports and of their results.
 * Proven by `test/store/suite/governance/exports.ts`.
 */
import type { EffectRows } from '../../append/effects.ts';
import { heldSql, nothingHeld } from '../../rules/export-row.ts';
import type { ExportHoldings } from '../../port/store.ts';
import type { Current } from './current.ts';
import type { Prepare } from '../../file/statement.ts';
import { exportWrites } from '../../write/exports.ts';
import type { Writer } from '../../write/statement.ts';

export function exportRows(
  prepare: Prepare,
  current: Current,
  write: Writer<number>,
): Pick<EffectRows, 'heldExports' | 'createExport' | 'finishExport' | 'expireExports'> {
  const held = prepare<ExportHoldings>('held exports', heldSql('?'));
  const writes = exportWrites(write);
  return {
    ...writes,
    heldExports: () => held.get(current.project) ?? nothingHeld,
    finishExport: (effect) => writes.finishExport(effect) === 1,
  };
}
