/**
 * Checks the files of a data directory like a start does, without starting.
 * Reads only; another process may serve the files. Proven by `test/host/data/old-copies.long.test.ts`.
 */
import { statSync } from 'node:fs';
import { opening } from './faults.ts';
import { openHeads, recentLogHeads, refuseMismatch, refuseUnknown, type KeptHeadsFile } from './heads.ts';
import { refusePlane } from './hosted.ts';
import { startedProjects } from './tail.ts';
import { connect } from './connection.ts';
import { dueMigration, type MigrationStep } from './migrate.ts';
import { storeFiles } from './paths.ts';
import { headsApplicationId, headsMigrations, mainApplicationId, mainMigrations } from './schema/tables.ts';
import { connectReader } from './reader.ts';
import { refuseOtherSubjects } from './subjects.ts';
import { verifyTails } from './tail.ts';

/** Throws CONFLICT or STORAGE_FAULT if `openParts` would. False if a start would create the database. */
export function inspectFiles(dataDir: string, { hosted = true } = {}): boolean {
  const { main, heads: path, subjects } = storeFiles(dataDir);
  const heads = isFilled(path) ? opening(path, () => openHeads(path, { readonly: true })) : null;
  try {
    if (!isFilled(main)) {
      if (heads !== null) refuseUnknown(heads);
      return false;
    }
    const db = connectReader(main);
    try {
      if (hosted) refusePlane(db);
      opening(main, () => {
        db.transaction(() => {
          const logs = hosted ? recentLogHeads(db, startedProjects) : undefined;
          refuseMismatch(db, heads ?? none, { rebuild: false, hosted, logs });
          verifyTails(db, logs);
        })();
      });
      refuseOtherSubjects(db, subjects);
      return true;
    } finally {
      db.close();
    }
  } finally {
    heads?.close();
  }
}

/** The databases of an older release that the next start migrates. Throws like `connectReader`. */
export function dueMigrations(dataDir: string): readonly MigrationStep[] {
  const { main, heads } = storeFiles(dataDir);
  const files = [
    [main, mainApplicationId, mainMigrations],
    [heads, headsApplicationId, headsMigrations],
  ] as const;
  return files.flatMap(([path, applicationId, migrations]) => {
    if (!isFilled(path)) return [];
    const db = opening(path, () => connect(path, { applicationId, readonly: true }));
    try {
      const due = dueMigration(db, migrations);
      return due === null ? [] : [due];
    } finally {
      db.close();
    }
  });
}

const none: KeptHeadsFile = { find: () => null, newest: () => null, all: () => [].values() };

const isFilled = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
