/**
 * `gov plane keys rotate` and `retire`: new keys for the logs of a plane. A serving process makes the change
 * itself (`rotate-serving.ts`). The command writes the new keys durably, then appends a leaf that an old and
 * the new Ed25519 key sign. From then on both pairs sign every checkpoint, until a leaf of the new pair retires
 * the old one. Public keys stay permanently in the log, the trust file and `GET /log/key`. A crash before the
 * leaf leaves unused keys. After the leaf, the next start or the same command completes the change. Proven by
 * `test/plane/keys/rotate.test.ts` and, killed at each step, `test/plane/keys/rotate-crash.long.test.ts`.
 */
import { join, resolve } from 'node:path';
import { now, randomBytes } from '../../src/host/process/clock.ts';
import { commandLog, migrationLog } from '../../src/host/process/log.ts';
import { readKeys } from '../../src/host/keys/disk.ts';
import { readPlaneFile } from '../../src/host/data/config.ts';
import { Checkpoints } from '../../src/service/log/checkpoints.ts';
import { silentLog } from '../../src/service/call/log.ts';
import { logKeys } from '../../src/service/log/keys.ts';
import type { Store } from '../../src/store/port/store.ts';
import { openStore } from '../../src/store/sqlite/store.ts';
import { settleKeys } from './own.ts';
import { askServing, servingProcess } from './rotate-serving.ts';
import type { KeyChangeResult, KeyOrder } from './order.ts';
import { changeKeys, signed } from './change.ts';

/**
 * NOT_FOUND where there is no plane. CONFLICT where the keys before the last rotation still sign, or where the
 * serving process does not answer.
 */
export const rotateKeys = (dataDir: string): Promise<KeyChangeResult> => changing(resolve(dataDir), 'rotate');

/** CONFLICT where the plane has one pair of keys, or where the serving process does not answer. */
export const retireKeys = (dataDir: string): Promise<KeyChangeResult> => changing(resolve(dataDir), 'retire');

async function changing(dataDir: string, order: KeyOrder): Promise<KeyChangeResult> {
  // first, because opening a store makes the files of one where there is no plane
  const { projectId } = readPlaneFile(join(dataDir, 'plane.json'));
  const serving = servingProcess(dataDir);
  if (serving !== null) return askServing(dataDir, order, serving);
  const onMigration = migrationLog(commandLog());
  const store = openStore({ dataDir, clock: { now }, randomBytes, onMigration });
  try {
    const taken = async (): Promise<void> => settleKeys(dataDir, await logKeys(store, projectId));
    const changed = await changeKeys({ dataDir, store, taken }, order);
    return await signed(changed, () => sign(dataDir, store, projectId));
  } finally {
    await store.close();
  }
}

async function sign(dataDir: string, store: Store, projectId: string): Promise<void> {
  const { signers } = readKeys(dataDir);
  const checkpoints = new Checkpoints({ store, now, log: silentLog, signers });
  await checkpoints.sign(projectId, 'audit');
  await checkpoints.sign(projectId, 'metering');
}
