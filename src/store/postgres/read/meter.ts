/**
 * Reads of the metering log by index, by audit leaf and by kind.
 * Proven by `test/store/suite/log/meter.ts`.
 */
import { altered } from '../../append/altered.ts';
import { lastFrom, unmeteredText, type MeterReader } from '../../port/metering.ts';
import { arrayOf } from '../connection/arrays.ts';
import type { Database } from '../connection/database.ts';
import { checkLeaves, hashOf, located, tileOf, type LeafRow, type ProjectNumber } from './leaves.ts';
import { positionBits } from '../schema/tables.ts';
import { sql, step } from '../../read/queries.ts';

interface MeterRow extends LeafRow {
  readonly first_index: number;
  readonly leaf_count: number;
  readonly nonce: Buffer;
}

const asked = located('SELECT idx, at FROM unnest($2::int8[]) WITH ORDINALITY AS w(idx, at)');
const sizeOf = sql<{ size: number }>('SELECT size FROM head WHERE project = $1 AND tree = 1');
const meterRows = sql<MeterRow>(
  `SELECT i.idx, m.record, NULL AS disclosures, ${hashOf('i')} AS hash, m.first_index, m.leaf_count, m.nonce
   FROM ${asked} i LEFT JOIN LATERAL (SELECT record, first_index, leaf_count, nonce FROM meter
     WHERE position = i.position OFFSET 0) m ON true ${tileOf('i', 'metering')} ORDER BY i.at`,
);
const firstIndexes = sql<{ idx: number; first_index: number | null }>(
  `SELECT i.idx, m.first_index FROM ${asked} i
   LEFT JOIN LATERAL (SELECT first_index FROM meter WHERE position = i.position OFFSET 0) m ON true ORDER BY i.at`,
);
const countUnmetered = sql<{ n: number }>(
  `SELECT count(*) AS n FROM meter WHERE position >= ($1::int8 << ${positionBits}) + $2::int8
     AND position < ($1::int8 << ${positionBits}) + $3::int8 AND strpos(record, $4) > 0`,
);

/** Look-ups per round trip: six round trips search a log of 2^36 leaves. */
const askedAtOnce = 63;
/** Leaves that one statement counts. */
const countedAtOnce = 100_000;

export function meterReads(database: Database, numberOf: ProjectNumber): MeterReader {
  const leavesOf: MeterReader['meterLeaves'] = async (projectId, indexes) => {
    const project = await numberOf(projectId);
    const [heads, { rows }] = await database.read({ project }, [
      step(sizeOf, project),
      step(
        meterRows,
        project,
        arrayOf(
          'int8',
          indexes.filter((index) => index >= 0),
        ),
      ),
    ]);
    // The head was read first, so the second statement saw every leaf that the head covers.
    const size = heads.rows[0]?.size ?? 0;
    const found = rows.filter(({ idx }) => idx < size);
    return checkLeaves('metering', found).flatMap(({ index, record, hash }, at) => {
      const row = found[at];
      if (row === undefined) return [];
      return [
        { index, record, hash, firstAuditIndex: row.first_index, count: row.leaf_count, nonce: row.nonce },
      ];
    });
  };
  return {
    meterLeaf: async (projectId, index) => (await leavesOf(projectId, [index]))[0] ?? null,
    meterLeaves: leavesOf,
    meterIndexOf: async (projectId, auditIndex) => {
      const project = await numberOf(projectId);
      const [{ rows: heads }] = await database.read({ project }, [step(sizeOf, project)]);
      const options = { size: heads[0]?.size ?? 0, atOnce: askedAtOnce };
      const found = await lastFrom(auditIndex, options, async (indexes) => {
        const wanted = step(firstIndexes, project, arrayOf('int8', indexes));
        const [{ rows }] = await database.read({ project }, [wanted]);
        return rows.map(({ idx, first_index: first }) => first ?? missing(idx));
      });
      const leaf = found === null ? undefined : (await leavesOf(projectId, [found]))[0];
      return leaf !== undefined && auditIndex < leaf.firstAuditIndex + leaf.count ? found : null;
    },
    unmeteredLeaves: async (projectId, { from, to }) => {
      const project = await numberOf(projectId);
      let counted = 0;
      for (let at = from; at < to; at += countedAtOnce) {
        const wanted = step(countUnmetered, project, at, Math.min(at + countedAtOnce, to), unmeteredText);
        counted += (await database.read({ project }, [wanted]))[0].rows[0]?.n ?? 0;
      }
      return counted;
    },
  };
}

function missing(index: number): never {
  throw altered('metering', index, 'is missing');
}
