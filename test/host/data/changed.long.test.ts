/** A database of which somebody changed one column of one row: fsck says so, or the column is listed with the reason. */
import { cpSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fsck } from '../../../src/host/data/fsck.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { uncheckedTables } from '../../../src/store/fsck/tables.ts';
import { fillProject } from '../../service/support/filled.ts';
import { startService, type TestService } from '../../support/hosted.ts';
import { unguarded } from '../../support/unguarded.ts';

/** Columns by `table.column kind`, as patterns, that fsck does not compare, and why. */
const unchecked: Readonly<Record<string, string>> = {
  'api_key\\.last_used_ms ': 'no event says when a key was used',
  'organization\\.home_sandbox ': 'decides where later events of the organization go, and no recorded one',
  'approval\\.call_key ': 'finds a candidate; the log decides whether it is of the call',
  'client_event\\.fingerprint ': 'a keyed hash: a repeat with another one is refused',
  'tile\\.part \\d|checkpoint\\.tree \\d': 'a row that a wider or newer one replaces',
  'head\\.last_ms 1': 'the audit log has the times of entries; one of the metering log follows it',
  'graph_part\\.part ': 'an order that stays the same where one part is moved to the end',
  'run_graph\\.sealed_ms ': 'that it is there is compared; the leaf has no time',
  'export_job\\.(?:artifact|expires_ms|removed) ': 'the download compares the file with the digest',
  'document\\.(?:key|parent_id|created_ms|due_ms|version) \\w+': 'when work is due, and in which order',
  'document\\.status (?:approver|report|report_template)':
    'how far the work is; leaves have the state of a key',
  'document\\.data (?:approver|report|report_template|report_schedule|webhook_endpoint)':
    'of the members those that the events have are compared: see below',
  'document\\.\\w+ (?:delivery|report_(?:start|share|branding|logo)|webhook_(?:lane|cursor|delivery))':
    'no event creates these documents',
  'job\\.\\w+ (?:proof|graph)': 'work that ends; proofs and graphs are compared themselves',
  'job\\.(?:job_id|request|created_ms|attempt|attempts_before|due_ms|started_ms) replay': 'work that ended',
  'job\\.(?!status)\\w+ export': 'work that ended; export_job has what is compared',
};

interface Column {
  readonly name: string;
  readonly type: string;
  readonly pk: number;
}
type Value = string | number | null | Buffer;

const kindOf = (row: Readonly<Record<string, Value>>): string =>
  String(row['kind'] ?? row['type'] ?? row['tree'] ?? '');

/** Another value of the same type. */
function other(value: Value, { type }: Column): Value {
  if (value === null) return /int/i.test(type) ? 1 : /blob/i.test(type) ? Buffer.from('x') : 'x';
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'string') {
    // JSON stays JSON
    if (/^[[{]/.test(value)) return /[a-z]/.test(value) ? value.replace(/[a-z](?=[^a-z]*$)/, 'q') : '{"q":1}';
    return `${value}x`;
  }
  const bytes = Buffer.from(value);
  if (bytes.length === 0) return Buffer.from('x');
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  return bytes;
}

describe('a filled service', () => {
  let service: TestService;
  const folder = mkdtempSync(join(tmpdir(), 'gov-changed-'));
  beforeAll(async () => {
    service = await startService({ engine: 'sqlite' });
    const acme = await service.signUp('acme');
    await fillProject(acme.call, { name: 'acme' });
    await service.close();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await service.end();
  });

  it('is reported with each changed column', async () => {
    const dataDir = join(folder, 'copy');
    cpSync(service.dataDir, dataDir, { recursive: true });
    const { main } = storeFiles(dataDir);
    const whole = new Database(main);
    whole.pragma('wal_checkpoint(TRUNCATE)');
    whole.close();
    const kept = join(folder, 'kept');
    copyFileSync(main, kept);
    const source = new Database(kept, { readonly: true });
    const tables = source
      .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .pluck()
      .all();
    const unseen: string[] = [];
    for (const table of tables) {
      if (Object.hasOwn(uncheckedTables, table)) continue;
      const columns = source.prepare<[], Column>(`PRAGMA table_info("${table}")`).all();
      const keys = columns.filter(({ pk }) => pk > 0).map(({ name }) => name);
      const rows = source.prepare<[], Record<string, Value>>(`SELECT * FROM "${table}"`).all();
      // documents and jobs of each kind, and rows of each tree, are rows of their own
      const kinds = [...new Set(rows.map(kindOf))];
      for (const [kind, column] of kinds.flatMap((each) => columns.map((of) => [each, of] as const))) {
        // one with a value says more than one without
        const row = rows.findLast((each) => kindOf(each) === kind && each[column.name] !== null);
        if (row === undefined) continue;
        for (const suffix of ['', '-wal', '-shm']) rmSync(main + suffix, { force: true });
        copyFileSync(kept, main);
        const db = new Database(main);
        db.pragma('foreign_keys = OFF');
        db.pragma('ignore_check_constraints = ON');
        const names = keys.length > 0 ? keys : columns.map(({ name }) => name);
        const where = names.map((name) => `"${name}" IS ?`).join(' AND ');
        let isTaken = false;
        unguarded(db, () => {
          try {
            const changed = other(row[column.name] ?? null, column);
            const set = `UPDATE "${table}" SET "${column.name}" = ? WHERE ${where}`;
            db.prepare(set).run(changed, ...names.map((name) => row[name]));
          } catch (error) {
            // another row has the key
            if (!String(error).includes('UNIQUE')) throw error;
            isTaken = true;
          }
        });
        db.close();
        const { ok } = await fsck({ dataDir, env: {}, deep: true });
        if (ok && !isTaken) unseen.push(`${table}.${column.name} ${kind}`);
      }
    }
    source.close();
    const listed = Object.keys(unchecked).map((pattern) => new RegExp(`^(?:${pattern})$`));
    expect(unseen.filter((each) => !listed.some((pattern) => pattern.test(each)))).toEqual([]);
  }, 900_000);

  it.each([
    ['the events of an endpoint', 'webhook_endpoint', '$.events', '["job.failed"]'],
    ['the period of a schedule', 'report_schedule', '$.cron', '"0 0 1 1 *"'],
    ['the sections of a template', 'report_template', '$.sections', '["usage-statement/units"]'],
    ['the template of a report', 'report', '$.reportTemplateId', '"policy-changes"'],
  ])('is reported with %s changed', async (what, kind, path, json) => {
    const dataDir = join(folder, what);
    cpSync(service.dataDir, dataDir, { recursive: true });
    const db = new Database(storeFiles(dataDir).main);
    const set =
      'UPDATE document SET data = json_set(data, ?, json(?)) WHERE kind = ? AND data IS NOT json_set(data, ?, json(?))';
    unguarded(db, () => expect(db.prepare(set).run(path, json, kind, path, json).changes).toBeGreaterThan(0));
    db.close();
    const { problems } = await fsck({ dataDir, env: {} });
    expect(new Set(problems.map(({ kind: found }) => found))).toEqual(new Set(['document_mismatch']));
  });
});
