/**
 * `fsck`: compares the risk router's configuration with the newest gov.config/1 leaf, in one transaction.
 * Proven by `test/store/fsck/tamper-governed.test.ts`.
 */
import type { JsonObject } from '../../../core/json/parse.ts';
import { riskConfigHash } from '../../../core/risk/config.ts';
import { parseTimestamp } from '../../../core/time.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import { parseRecord, shown } from '../record.ts';
import type { Value } from '../../file/connection.ts';
import { typeNumbers } from '../../rules/decided.ts';
import { positionSql } from '../../file/position.ts';

interface ConfigRow {
  readonly config: string | null;
  readonly updated_ms: number | null;
  readonly record: string | null;
}

export function checkConfig({ db, problem }: Check, { no, projectId }: CheckedProject): void {
  const row = db
    .prepare<Value[], ConfigRow>(
      `SELECT c.config, c.updated_ms, (
         SELECT leaf.record FROM decided d LEFT JOIN leaf ON leaf.position = ${positionSql('d')}
         WHERE d.project = p.project AND d.type = ${typeNumbers['gov.config/1']} ORDER BY d.idx DESC LIMIT 1
       ) AS record
       FROM project p LEFT JOIN risk_config c ON c.project = p.project WHERE p.project = ?`,
    )
    .get(no);
  const { config = null, updated_ms: updatedMs = null, record = null } = row ?? {};
  const got = config === null ? 'none' : described(riskConfigHash(config), updatedMs);
  const expected = record === null ? 'none' : logged(parseRecord(record) as unknown as JsonObject | null);
  if (got !== expected) problem(`${projectId}/risk_config`, 'config_mismatch', { expected, got });
}

const described = (configHash: string, atMs: number | null): string => `${configHash} of ${atMs} ms`;

/** The record may be altered, which is reported elsewhere: its members may have any type. */
const logged = (record: JsonObject | null): string =>
  described(shown(record?.['configHash']), parseTimestamp(shown(record?.['at'])));
