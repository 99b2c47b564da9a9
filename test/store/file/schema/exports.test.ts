/** Rows of exports hold still by trigger. */
import { expect, it } from 'vitest';
import { connect } from '../../../../src/store/file/connection.ts';
import { storeFiles } from '../../../../src/store/file/paths.ts';
import { mainApplicationId } from '../../../../src/store/file/schema/tables.ts';
import { TestPlane } from '../../support/plane.ts';

const done = `artifact = 'a', row_count = 1, size_bytes = 1, digest = zeroblob(32), manifest = '{}', completed_ms = 5`;

it('the tables let an export be completed once and removed once', async () => {
  const plane = await new TestPlane().filled(3);
  const db = connect(storeFiles(plane.dataDir).main, { applicationId: mainApplicationId });
  try {
    db.exec(`INSERT INTO export_job (project, export_id, job_id, resource, format, filters, include_proof, tree_size,
      created_ms) VALUES (1, 'exp_1', 'job_1', 'jobs', 'csv', '{}', 0, 1, 1)`);
    const once = 'completed once and removed once';
    expect(() => db.exec("UPDATE export_job SET format = 'json'")).toThrow(once);
    expect(() => db.exec('UPDATE export_job SET tree_size = 2')).toThrow(once);
    expect(() => db.exec('UPDATE export_job SET row_count = 2')).toThrow('CHECK constraint failed');
    db.exec(`UPDATE export_job SET ${done}, expires_ms = 9`);
    expect(() => db.exec("UPDATE export_job SET artifact = 'b'")).toThrow(once);
    expect(() => db.exec('UPDATE export_job SET expires_ms = 10')).toThrow(once);
    db.exec('UPDATE export_job SET expires_ms = 8');
    db.exec('UPDATE export_job SET removed = 1');
    expect(() => db.exec('UPDATE export_job SET removed = 0')).toThrow(once);
    expect(() => db.exec('DELETE FROM export_job')).toThrow('append-only');
  } finally {
    db.close();
    await plane.drop();
  }
});
