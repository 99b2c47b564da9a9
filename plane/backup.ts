/**
 * `gov plane backup`: a copy of a plane in one directory, whole or not at all, also while the plane serves. The log is
 * copied from one snapshot, looked at as a start looks at it, and every file is summed as it lies on the disk. Keys are
 * left out unless they are asked for: who has them can sign. Proven by `test/plane/backup.test.ts`.
 */
import { copyFileSync, chmodSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { version } from '../src/client/version.ts';
import { formatTimestamp } from '../src/core/time.ts';
import { now } from '../src/host/clock.ts';
import { readPlaneFile } from '../src/host/config.ts';
import { makeDirectory, syncDirectory, syncFile, writePrivate } from '../src/host/files.ts';
import { readKeys } from '../src/host/keys.ts';
import { copyDatabase, copyStore, type CopiedLog } from '../src/store/sqlite/copies.ts';
import { dataFiles, sumOf, type DataFile, type FileSum } from './datafiles.ts';
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
}

/**
 * NOT_FOUND where there is no plane, CONFLICT where `out` holds something or the plane is an older copy itself,
 * STORAGE_FAULT where its newest leaves do not verify or its keys are missing.
 */
export async function planeBackup(options: BackupOptions): Promise<Backup> {
  const [dataDir, out] = [resolve(options.dataDir), resolve(options.out)];
  const { withKeys = false } = options;
  const { origin, projectId } = readPlaneFile(join(dataDir, 'plane.json'));
  const [signer] = readKeys(dataDir).signers(origin);
  if (signer === undefined) throw new Error('a plane has an Ed25519 key');
  const all = dataFiles(dataDir);
  const files = all.filter(({ kind }) => withKeys || kind !== 'secret');
  const left = all.filter((file) => !files.includes(file)).map(({ path }) => path);
  let manifest: Manifest | undefined;
  await makeDirectory(out, async (draft) => {
    const logs = await copyAll(dataDir, draft, files);
    const sums: FileSum[] = [];
    for (const { path } of files) sums.push(await sumOf(draft, path));
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
  });
  if (manifest === undefined) throw new Error('a directory that was made was filled');
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
  return { out, bytes, left, ...manifest };
}

/** What lies beside the log first, the log last: nothing in the copy knows of leaves that it lacks. */
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
  const logs = await copyStore(dataDir, draft);
  for (const folder of new Set(files.map(({ path }) => dirname(path)))) syncDirectory(join(draft, folder));
  return logs;
}

/** A durable copy of mode 0600. */
export function copyPrivate(from: string, to: string): void {
  copyFileSync(from, to);
  chmodSync(to, 0o600);
  syncFile(to);
}

export const shown = ({ tree, origin, size, root, checkpoint }: CopiedLog): ManifestLog => ({
  tree,
  origin,
  size,
  root: root.toString('base64'),
  checkpoint,
});
