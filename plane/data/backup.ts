/**
 * `gov plane backup`: a copy of a plane in one directory, whole or not at all, also while the plane serves. The log is
 * copied from one snapshot, looked at as a start looks at it, and every file is summed as it lies on the disk. Keys are
 * left out unless they are asked for: who has them can sign. Proven by `test/plane/data/backup.test.ts`.
 */
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { version } from '../../src/client/version.ts';
import { GovError } from '../../src/contract/problems.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import { now } from '../../src/host/process/clock.ts';
import { readPlaneFile } from '../../src/host/data/config.ts';
import { fitting, syncDirectory, writePrivate } from '../../src/host/data/files.ts';
import { readKeys } from '../../src/host/data/keys.ts';
import { copyDatabase, copyStore, type CopiedLog } from '../../src/store/file/copies.ts';
import { copyLogKeys, historyIn, isLogKey } from './backup-keys.ts';
import { copyPrivate, dataFiles, isArtifact, sumOf, type DataFile, type FileSum } from './files.ts';
import { makeHeld } from './drafts.ts';
import { settleKeys } from '../keys/own.ts';
import { formatManifest, manifestFile, manifestNote, type Manifest, type ManifestLog } from './manifest.ts';

export interface BackupOptions {
  readonly dataDir: string;
  /** The directory to make; absent or empty. */
  readonly out: string;
  readonly withKeys?: boolean;
}

export interface Backup extends Manifest {
  readonly out: string;
  readonly bytes: number;
  /** Files that were left out because they are secret. */
  readonly left: readonly string[];
  /** Drafts of copies that were killed, which lay beside this one. */
  readonly removed: readonly string[];
}

/**
 * NOT_FOUND where there is no plane, CONFLICT where `out` holds something or the plane is an older copy itself,
 * STORAGE_FAULT where its newest leaves do not verify or its keys are missing, VALIDATION_ERROR where the copy would lie
 * in what it is a copy of, STORAGE_FULL.
 */
export async function planeBackup(options: BackupOptions): Promise<Backup> {
  const [dataDir, out] = [resolve(options.dataDir), resolve(options.out)];
  const { withKeys = false } = options;
  const { origin, projectId } = readPlaneFile(join(dataDir, 'plane.json'));
  refuseInside(dataDir, out);
  const [signer] = readKeys(dataDir).signers(origin);
  if (signer === undefined) throw new Error('a plane has an Ed25519 key');
  const all = dataFiles(dataDir);
  const files = all.filter(({ kind }) => withKeys || (kind !== 'secret' && kind !== 'subjects'));
  const left = all.filter((file) => !files.includes(file)).map(({ path }) => path);
  let manifest: Manifest | undefined;
  const fill = async (draft: string): Promise<void> => {
    const beside = files.filter((file) => !isArtifact(file) && !isLogKey(file));
    const logs = await copyAll(dataDir, draft, beside);
    const history = await historyIn(draft, projectId);
    if (withKeys) await copyLogKeys(dataDir, draft, history);
    settleKeys(draft, history); // the trust file was copied before the log
    copyArtifacts(dataDir, draft);
    const sums: FileSum[] = [];
    for (const { path } of dataFiles(draft)) sums.push(await sumOf(draft, path));
    manifest = {
      schema: 'gov.backup/1',
      createdAt: formatTimestamp(now()),
      version,
      projectId,
      withKeys,
      logs: logs.map(shown),
      files: sums,
    };
    const { json, note } = formatManifest(manifest, signer);
    writePrivate(join(draft, manifestFile), json);
    writePrivate(join(draft, manifestNote), note);
  };
  const removed = await fitting({ what: 'the copy', path: out }, () => makeHeld(out, fill));
  if (manifest === undefined) throw new Error('a directory that was made was filled');
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
  return { out, bytes, left, removed, ...manifest };
}

/** A copy in the directory itself is lost with it, and is in each later copy. */
function refuseInside(dataDir: string, out: string): void {
  const way = relative(realpathSync(dataDir), realPathOf(out));
  if (way === '..' || way.startsWith('../') || isAbsolute(way)) return;
  const detail = `expected a place for the copy outside the data directory ${dataDir}, got ${out}`;
  throw new GovError('VALIDATION_ERROR', `${detail}; give one on another disk`);
}

/** Without symbolic links; what is not there yet stays as it is. */
const realPathOf = (path: string): string =>
  existsSync(path) || dirname(path) === path
    ? realpathSync(path)
    : join(realPathOf(dirname(path)), basename(path));

/** What lies beside the log first, the log last, but for its keys: nothing in the copy knows of leaves that it lacks. */
async function copyAll(
  dataDir: string,
  draft: string,
  files: readonly DataFile[],
): Promise<readonly CopiedLog[]> {
  for (const folder of new Set(files.map(({ path }) => dirname(path)))) {
    mkdirSync(join(draft, folder), { recursive: true, mode: 0o700 });
  }
  for (const { path, kind } of files) {
    const [from, to] = [join(dataDir, path), join(draft, path)];
    if (kind === 'database') await copyDatabase(from, to);
    if (kind === 'plain' || kind === 'secret') copyPrivate(from, to);
  }
  const withSubjects = files.some(({ kind }) => kind === 'subjects');
  const logs = await copyStore(dataDir, draft, { withSubjects });
  for (const folder of new Set(files.map(({ path }) => dirname(path)))) syncDirectory(join(draft, folder));
  return logs;
}

/**
 * After the log, so that what it says is complete is there. One that is removed meanwhile has expired, or holds what was
 * erased, and is left out.
 */
function copyArtifacts(dataDir: string, draft: string): void {
  const copied = dataFiles(dataDir)
    .filter(isArtifact)
    .filter(({ path }) => {
      mkdirSync(dirname(join(draft, path)), { recursive: true, mode: 0o700 });
      try {
        copyPrivate(join(dataDir, path), join(draft, path));
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        return false;
      }
    });
  for (const folder of new Set(copied.map(({ path }) => dirname(path)))) syncDirectory(join(draft, folder));
}

export const shown = ({ tree, origin, size, root, checkpoint }: CopiedLog): ManifestLog => ({
  tree,
  origin,
  size,
  root: root.toString('base64'),
  checkpoint,
});
