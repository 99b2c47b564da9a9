/** What fsck says of cosignatures that somebody changed below the store. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ed25519Cosigner, ed25519Signer } from '../../../src/core/note/checkpoint.ts';
import { signatureLine, splitNote } from '../../../src/core/note/signed.ts';
import { witnessName } from '../../../src/host/witness/answer.ts';
import { Checkpoints } from '../../../src/service/log/checkpoints.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { fsckStore } from '../../../src/store/fsck/run.ts';
import { connect } from '../../../src/store/file/connection.ts';
import { openStore } from '../../../src/store/sqlite/store.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { mainApplicationId } from '../../../src/store/file/schema/tables.ts';
import { dropFolder, genesis, newFolder, projectOf } from '../support/fixture.ts';
import { unguarded } from '../../support/unguarded.ts';

const keyOf = () => generateKeyPairSync('ed25519').privateKey;
const cosigner = ed25519Cosigner('w.example/1', keyOf());
const key = witnessName(cosigner);
let dataDir: string;

beforeEach(async () => {
  dataDir = newFolder();
  const clock = { now: Date.now };
  const store = openStore({ dataDir, clock, randomBytes, reserveBytes: 0 });
  await store.createProject(projectOf('a'), genesis('a'));
  const log = ed25519Signer('test/a/audit', keyOf());
  const checkpoints = new Checkpoints({ store, ...clock, log: silentLog, signers: () => [log] });
  const { note } = await checkpoints.sign('prj_a');
  const line = signatureLine(splitNote(note).text, cosigner, { timestampSeconds: 1 });
  await store.saveCosignatures('prj_a', 'audit', 1, [{ key, line }]);
  await store.close();
});
afterEach(() => dropFolder(dataDir));

describe('fsck of cosignatures', () => {
  it('fsck finds no problem in the cosignatures of a witness', async () => {
    expect(await fsckStore({ dataDir, deep: true })).toMatchObject({ ok: true, checkpoints: 1 });
  });

  it.each([
    ['of no checkpoint', 'UPDATE cosignature SET size = 7', 'prj_a/audit/checkpoint/7', 'no checkpoint'],
    ['of no project', 'UPDATE cosignature SET project = 7', 'cosignature/7', key],
    ['of another key', "UPDATE cosignature SET key = 'x'", 'prj_a/audit/checkpoint/1', key],
    ['that are none', "UPDATE cosignature SET line = 'x'", 'prj_a/audit/checkpoint/1', 'note: expected'],
    ['twice', 'UPDATE cosignature SET line = line || line', 'prj_a/audit/checkpoint/1', '2 lines'],
  ])('fsck finds cosignature lines %s', async (_, change, position, got) => {
    const db = connect(storeFiles(dataDir).main, { applicationId: mainApplicationId });
    expect(() => db.exec(change)).toThrow('cosignature is append-only');
    unguarded(db, () => db.exec(change));
    db.close();
    const { problems } = await fsckStore({ dataDir });
    expect(problems).toMatchObject([
      { position, kind: 'checkpoint_mismatch', got: expect.stringContaining(got) },
    ]);
  });
});
