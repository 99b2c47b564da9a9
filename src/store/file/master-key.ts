/**
 * Checks whether a master key is the one that seals a log, using only the log's own bodies.
 * Proven by `test/host/keys/master.test.ts`.
 */
import { statSync } from 'node:fs';
import { isSealed, otherMasterKey } from '../erasure/body-seal.ts';
import { bodyOpener, sealOf, sealWith, type BodyRow } from './body-seal.ts';
import type { Connection, Value } from './connection.ts';
import { troubleOf } from './faults.ts';
import { storeFiles } from './paths.ts';
import { endOf, positionOf } from './position.ts';
import { connectReader } from './reader.ts';
import { fileOf, readSubjects } from './subjects.ts';

/** The sample: the newest bodies of the last written logs. */
const sampled = { logs: 8, bodies: 100 };

/**
 * Throws STORAGE_FAULT if the directory is sealed but there is no master key, or the key opens none of the
 * newest sealed bodies. Reads only. Does nothing if there is no database yet. Cost: up to 800 bodies.
 */
export function refuseOtherMasterKeyOf(dataDir: string, masterKey: Uint8Array | undefined): void {
  const { main, subjects: path } = storeFiles(dataDir);
  if ((statSync(main, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  const db = connectReader(main);
  let subjects: Connection | null = null;
  try {
    subjects = readSubjects(path);
    sealWith(db, masterKey, subjects);
    if (!fits(db)) throw otherMasterKey(dataDir, masterKey === undefined ? 'none' : 'another one');
  } catch (error) {
    // a later reader reports the damage
    if (troubleOf(error) !== 'fault') throw error;
  } finally {
    subjects?.close();
    db.close();
  }
}

function fits(db: Connection): boolean {
  if (!sealOf(db).seals && fileOf(db) !== null) return false;
  const open = bodyOpener(db);
  let isClosed = false;
  for (const body of newestBodies(db)) {
    if (!isSealed(body.disclosures)) continue;
    const opened = open(body);
    if (typeof opened === 'object') return true;
    isClosed ||= opened === 'closed';
  }
  return !isClosed;
}

function* newestBodies(db: Connection): Generator<BodyRow, void> {
  const logs = db
    .prepare<Value[], number>('SELECT project FROM head WHERE tree = 0 ORDER BY last_ms DESC LIMIT ?')
    .pluck();
  const bodies = db.prepare<Value[], BodyRow>(
    `SELECT disclosures, erased, keys FROM body WHERE position >= ? AND position < ?
     ORDER BY position DESC LIMIT ?`,
  );
  for (const project of logs.all(sampled.logs)) {
    yield* bodies.all(positionOf(project, 0), endOf(project), sampled.bodies);
  }
}
