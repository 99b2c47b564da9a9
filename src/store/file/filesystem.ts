/**
 * Checks the file system of the data directory.
 * WAL needs shared memory and locks, which network file systems do not provide. Magic numbers: statfs(2).
 * Proven by `test/store/file/connection.test.ts`.
 */
import { closeSync, openSync, statfsSync } from 'node:fs';
import { GovError } from '../../contract/problems.ts';
import { isOutOfFiles } from './faults.ts';

const network: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
  [0x0bd00bd0, 'Lustre'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x47504653, 'GPFS'],
]);

/** FUSE serves network mounts and virtiofs, and also local mounts. */
const unclear: ReadonlyMap<number, string> = new Map([
  [0x65735546, 'FUSE'],
  [0x786f4256, 'vboxsf'],
]);

/**
 * Judges the file system of a directory by `statfs`. Returns null for a local one and a warning for an
 * unclear one. Throws STORAGE_FAULT for a network one.
 */
export function judgeFilesystem(directory: string, type: number = statfsSync(directory).type): string | null {
  const magic = type >>> 0;
  const refused = network.get(magic);
  if (refused !== undefined) {
    throw new GovError(
      'STORAGE_FAULT',
      `expected a local file system under ${directory}, got ${refused}, where SQLite’s locks do not work; ` +
        'move the data directory to a local disk',
    );
  }
  const name = unclear.get(magic);
  return name === undefined ? null : `${directory} is on ${name}; make sure that it is a local disk`;
}

/**
 * Throws where the file system of `path`, an existing file, takes no more writes. Call it after a sync said that it
 * succeeded: on Linux a sync that runs while ext4 shuts down can succeed although its journal was never written (kernel
 * 6.18; `test/faults/dead-disk.ts` shows it). To open a file for writing fails from that moment on. Cost: 10 µs.
 */
export function confirmWritable(path: string): void {
  try {
    closeSync(openSync(path, 'r+'));
  } catch (error) {
    if (!isOutOfFiles(error)) throw error;
  }
}
