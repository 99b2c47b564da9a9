/** `fsck`: the risk router's configuration against the newest gov.config/1 leaf, of one moment. */
import type { JsonObject } from '../../../core/json/parse.ts';
import { riskConfigHash } from '../../../core/risk/config.ts';
import { parseTimestamp } from '../../../core/time.ts';
import type { Check, CheckedProject } from '../run.ts';
import { parseRecord, shown } from '../record.ts';
import type { Value } from '../../file/connection.ts';
import { typeNumbers } from '../../rules/decided.ts';
import { positionSql } from '../../file/position.ts';

interface Configured {
  readonly config: string | null;
  readonly updated_ms: number | null;
  readonly record: string | null;
}

export function checkConfig({ db, problem }: Check, { no, projectId }: CheckedProject): void {
  const row = db
    .prepare<Value[], Configured>(
      `SELECT c.config, c.updated_ms, (
         SELECT leaf.record FROM decided d LEFT JOIN leaf ON leaf.position = ${positionSql('d')}
         WHERE d.project = p.project AND d.type = ${typeNumbers['gov.config/1']} ORDER BY d.idx DESC LIMIT 1
       ) AS record
       FROM project p LEFT JOIN risk_config c ON c.project = p.project WHERE p.project = ?`,
    )
    .get(no);
  const { config = null, updated_ms: updatedMs = null, record = null } = row ?? {};
  const got = config === null ? 'none' : told(riskConfigHash(config), updatedMs);
  const expected = record === null ? 'none' : logged(parseRecord(record) as unknown as JsonObject | null);
  if (got !== expected) problem(`${projectId}/risk_config`, 'config_mismatch', { expected, got });
}

const told = (configHash: string, atMs: number | null): string => `${configHash} of ${atMs} ms`;

/** Of a record that may be anything: where it was altered, that is reported too. */
const logged = (record: JsonObject | null): string =>
  told(shown(record?.['configHash']), parseTimestamp(shown(record?.['at'])));
