/**
 * Rows of requested exports and of their results, with the same rules as SQLite.
 * Proven by `test/store/suite/governance/exports.ts`.
 */
import type { EffectRows } from '../../append/effects.ts';
import type { ExportHoldings, ExportStore } from '../../port/store.ts';
import type { Database } from '../connection/database.ts';
import { stepper, type CommitWriter } from './writing.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import { exportMoveWrites, exportWrites } from '../../write/exports.ts';

export function exportRows({
  facts,
  undo,
  add,
}: CommitWriter): Pick<EffectRows, 'heldExports' | 'createExport' | 'finishExport' | 'expireExports'> {
  const writes = exportWrites(add);
  const hold = (more: ExportHoldings): void => {
    const before = facts.heldExports;
    facts.heldExports = {
      open: before.open + more.open,
      kept: before.kept + more.kept,
      keptBytes: before.keptBytes + more.keptBytes,
    };
    undo.add(() => (facts.heldExports = before));
  };
  return {
    heldExports: () => facts.heldExports,
    createExport: (made) => {
      undo.include(facts.unfinished, made.exportId);
      hold({ open: 1, kept: 0, keptBytes: 0 });
      writes.createExport(made);
    },
    finishExport: (effect) => {
      if (!undo.remove(facts.unfinished, effect.exportId)) return false;
      hold({ open: -1, kept: 1, keptBytes: effect.done.sizeBytes });
      writes.finishExport(effect);
      return true;
    },
    expireExports: (erased) => {
      // an export of this commit may have been built before the erasure; its worker gets "lease lost" and
      // builds it again
      for (const exportId of facts.unfinished) undo.remove(facts.unfinished, exportId);
      writes.expireExports(erased);
    },
  };
}

export const exportMoves = (database: Database, numberOf: ProjectNumber): ExportStore => ({
  expireExport: async (projectId, exportId, atMs) => {
    const project = await numberOf(projectId);
    await database.write({ project }, [exportMoveWrites(stepper(project)).expireExport(exportId, atMs)]);
  },
  markExportRemoved: async (projectId, exportId) => {
    const project = await numberOf(projectId);
    await database.write({ project }, [exportMoveWrites(stepper(project)).markExportRemoved(exportId)]);
  },
});
