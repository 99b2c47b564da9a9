import Database from 'better-sqlite3';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fsck } from '../../../src/host/data/fsck.ts';
import { event, startPlane } from '../../support/serving.ts';
import { unguarded } from '../../support/unguarded.ts';

it('fsck finds a proof whose signed checkpoint was deleted', async () => {
  const plane = await startPlane();
  await plane.call('POST', '/events', { body: event({ runId: 'proved' }) });
  const { body } = await plane.call('POST', '/proofs', { body: { runId: 'proved' } });
  const db = new Database(join(plane.dataDir, 'gov.db'));
  expect((await fsck({ dataDir: plane.dataDir, env: {} })).problems).toEqual([]);
  unguarded(db, () => db.exec('DELETE FROM checkpoint WHERE tree = 0'));
  db.close();
  const { problems } = await fsck({ dataDir: plane.dataDir, env: {} });
  expect(problems).toEqual([
    {
      position: expect.stringMatching(/\/audit\/checkpoint\/\d+$/),
      kind: 'checkpoint_missing',
      expected: `the signed checkpoint that proof ${body.proofId} is about`,
      got: 'none',
    },
  ]);
  await plane.end();
});
