/**
 * `gov plane backup`: copies a plane into one directory, completely or not at all, also while the plane
 * serves. The backup copies the log from one snapshot, checks it as a start does, and hashes every file as
 * written. It omits keys by default, because their holder can sign. Proven by
 * `test/plane/data/backup.test.ts`.
 */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { codeOf } from '../../src/files/write-fault.ts';
import { makeFolder } from '../../src/files/make-folder.ts';
import { build } from '../../src/client/version.ts';
import { GovError } from '../../src/contract/problems.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import { now } from '../../src/host/process/clock.ts';
import { readPlaneFile } from '../../src/host/data/config.ts';
import { syncDirectory } from '../../src/files/durable.ts';
import { makeHeld } from '../../src/host/files/drafts.ts';
import { writePrivate } from '../../src/host/files/private.ts';
import { readKeys } from '../../src/host/keys/disk.ts';
import { manifestHashOf, noteUpkeep } from '../../src/host/files/upkeep.ts';
import { copyDatabase, copyStore, type CopiedLog } from '../../src/store/file/copies.ts';
import { copyLogKeys, historyIn, isLogKey } from './backup-keys.ts';
import { copyPrivate, dataFiles, isArtifact, sumOf, type DataFile, type FileSum } from './files.ts';
import { settleKeys } from '../keys/own.ts';
import { byteCounter, type OnProgress } from './progress.ts';
import { formatManifest, manifestFile, manifestNote, type Manifest, type ManifestLog } from './manifest.ts';

export interface BackupOptions {
  readonly dataDir: string;
  /** The target directory. It must be absent or empty. */
  readonly out: string;
  readonly withKeys?: boolean;
  readonly onProgress?: OnProgress;
}

export interface Backup extends Manifest {
  readonly out: string;
  readonly bytes: number;
  /** Secret files that the backup omits. */
  readonly left: readonly string[];
  /** Drafts of killed backups that lay in the same folder. */
  readonly removed: readonly string[];
}

/**
 * NOT_FOUND where there is no plane. CONFLICT where `out` has content or the plane is itself an older copy.
 * STORAGE_FAULT where the newest leaves do not verify or keys are missing. VALIDATION_ERROR where `out` is
 * inside the data directory. STORAGE_FULL.
 */
export async function planeBackup(options: BackupOptions): Promise<Backup> {
  const [dataDir, out] = [resolve(options.dataDir), resolve(options.out)];
  const { withKeys = false, onProgress } = options;
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
    const copied = byteCounter('copying', bytesOf(dataDir, files), onProgress);
    const logs = await copyAll({ dataDir, draft, copied }, beside);
    const history = await historyIn(draft, projectId);
    if (withKeys) await copyLogKeys(dataDir, draft, history);
    settleKeys(draft, history); // the trust file was copied before the log
    copyArtifacts({ dataDir, draft, copied });
    const sums: FileSum[] = [];
    const made = dataFiles(draft);
    const hashed = byteCounter('hashing', bytesOf(draft, made), onProgress);
    for (const { path } of made) sums.push(await sumOf(draft, path, hashed));
    manifest = {
      schema: 'gov.backup/1',
      createdAt: formatTimestamp(now()),
      version: build,
      projectId,
      withKeys,
      logs: logs.map(shown),
      files: sums,
    };
    const { json, note } = formatManifest(manifest, signer);
    writePrivate(join(draft, manifestFile), json);
    writePrivate(join(draft, manifestNote), note);
  };
  const removed = await makeHeld({ what: 'the copy', path: out }, fill);
  if (manifest === undefined) throw new Error('a directory that was made was filled');
  noteUpkeep(dataDir, {
    backup: {
      createdMs: Date.parse(manifest.createdAt),
      out: realpathSync(out),
      withKeys,
      leaves: manifest.logs.find(({ tree }) => tree === 'audit')?.size ?? 0,
      manifestHash: manifestHashOf(out),
    },
  });
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
  return { out, bytes, left, removed, ...manifest };
}

/**
 * Rejects a target inside the data directory: it would be lost with the directory and grow every later copy.
 */
function refuseInside(dataDir: string, out: string): void {
  const way = relative(realpathSync(dataDir), realPathOf(out));
  if (way === '..' || way.startsWith('../') || isAbsolute(way)) return;
  const detail = `expected a place for the copy outside the data directory ${dataDir}, got ${out}`;
  throw new GovError('VALIDATION_ERROR', `${detail}; give one on another disk`);
}

/** Resolves symbolic links. Keeps the parts of a path that do not exist yet. */
const realPathOf = (path: string): string =>
  existsSync(path) || dirname(path) === path
    ? realpathSync(path)
    : join(realPathOf(dirname(path)), basename(path));

interface BackupCopy {
  readonly dataDir: string;
  readonly draft: string;
  /** Receives the bytes of each copied part. */
  readonly copied: (bytes: number) => void;
}

const bytesOf = (folder: string, files: readonly DataFile[]): number =>
  files.reduce(
    (sum, { path }) => sum + (statSync(join(folder, path), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );

/**
 * Copies other files before the log, and the log before its keys. So no file refers to leaves that the copy
 * lacks.
 */
async function copyAll(
  { dataDir, draft, copied }: BackupCopy,
  files: readonly DataFile[],
): Promise<readonly CopiedLog[]> {
  for (const folder of new Set(files.map(({ path }) => dirname(path)))) {
    makeFolder(join(draft, folder), 0o700);
  }
  for (const { path, kind } of files) {
    const [from, to] = [join(dataDir, path), join(draft, path)];
    if (kind === 'database') await copyDatabase(from, to, copied);
    if (kind === 'plain' || kind === 'secret') {
      copyPrivate(from, to);
      copied(statSync(to).size);
    }
  }
  const withSubjects = files.some(({ kind }) => kind === 'subjects');
  const logs = await copyStore(dataDir, draft, { withSubjects, onProgress: copied });
  for (const folder of new Set(files.map(({ path }) => dirname(path)))) syncDirectory(join(draft, folder));
  return logs;
}

/**
 * Copies artifacts after the log, so that every export that the log calls complete has its artifact. Skips an
 * artifact that disappears during the copy: it expired, or an erasure removed it.
 */
function copyArtifacts({ dataDir, draft, copied }: BackupCopy): void {
  const artifacts = dataFiles(dataDir)
    .filter(isArtifact)
    .filter(({ path }) => {
      makeFolder(dirname(join(draft, path)), 0o700);
      try {
        copyPrivate(join(dataDir, path), join(draft, path));
        copied(statSync(join(draft, path)).size);
        return true;
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw error;
        return false;
      }
    });
  for (const folder of new Set(artifacts.map(({ path }) => dirname(path))))
    syncDirectory(join(draft, folder));
}

export const shown = ({ tree, origin, size, root, checkpoint }: CopiedLog): ManifestLog => ({
  tree,
  origin,
  size,
  root: root.toString('base64'),
  checkpoint,
});
