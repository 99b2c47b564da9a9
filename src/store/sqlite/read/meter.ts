/**
 * Reads of the metering log by index, by audit leaf and by kind.
 * Proven by `test/store/suite/log/meter.ts`.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { altered } from '../../append/altered.ts';
import { lastFrom, unmeteredText, type MeterReader, type StoredMeterLeaf } from '../../port/metering.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { leafChecker, type ProjectNumber } from './leaves.ts';
import { positionOf } from '../../file/position.ts';

interface MeterRow {
  idx: number;
  record: string;
  first_index: number;
  leaf_count: number;
  nonce: Buffer;
}

/** Leaves per counting step: about 5 ms. */
const countedAtOnce = 20_000;

export function meterReads(db: Connection, numberOf: ProjectNumber): MeterReader {
  const sizeOf = db.prepare<Value[], number>('SELECT size FROM head WHERE project = ? AND tree = 1').pluck();
  const one = db.prepare<Value[], MeterRow>(
    'SELECT idx, record, first_index, leaf_count, nonce FROM meter WHERE position = ?',
  );
  const first = db.prepare<Value[], number>('SELECT first_index FROM meter WHERE position = ?').pluck();
  const count = db
    .prepare<Value[], number>(
      'SELECT count(*) FROM meter WHERE position >= ? AND position < ? AND instr(record, ?) > 0',
    )
    .pluck();
  const check = leafChecker(db);
  const read = db.transaction((project: number, indexes: readonly number[]): StoredMeterLeaf[] => {
    const size = sizeOf.get(project) ?? 0;
    const rows = indexes
      .filter((index) => index >= 0 && index < size)
      .map((index) => one.get(positionOf(project, index)) ?? missing(index));
    const leaves = check(
      project,
      'metering',
      rows.map(({ idx, record }) => ({ idx, record, disclosures: null })),
    );
    return leaves.flatMap(({ index, record, hash }, at) => {
      const row = rows[at];
      if (row === undefined) return [];
      return [
        { index, record, hash, firstAuditIndex: row.first_index, count: row.leaf_count, nonce: row.nonce },
      ];
    });
  });
  return {
    meterLeaf: async (projectId, index) => read(numberOf(projectId), [index])[0] ?? null,
    meterLeaves: async (projectId, indexes) => read(numberOf(projectId), indexes),
    meterIndexOf: async (projectId, auditIndex) => {
      const project = numberOf(projectId);
      const found = await lastFrom(auditIndex, { size: sizeOf.get(project) ?? 0, atOnce: 1 }, (indexes) =>
        indexes.map((index) => first.get(positionOf(project, index)) ?? missing(index)),
      );
      const row = found === null ? undefined : one.get(positionOf(project, found));
      return row !== undefined && auditIndex < row.first_index + row.leaf_count ? found : null;
    },
    unmeteredLeaves: async (projectId, { from, to }) => {
      const project = numberOf(projectId);
      let counted = 0;
      for (let at = from; at < to; at += countedAtOnce) {
        if (at > from) await turn();
        const end = Math.min(at + countedAtOnce, to);
        counted += count.get(positionOf(project, at), positionOf(project, end), unmeteredText) ?? 0;
      }
      return counted;
    },
  };
}

function missing(index: number): never {
  throw altered('metering', index, 'is missing');
}
