/**
 * `gov log fsck`: the store's check of a plane's or a service's data directory, or of the database that it names, with
 * the signatures of checkpoints judged by the plane's trust file, or by the service's own keys.
 * Proven by `test/store/fsck/run.test.ts` and `test/host/data/fsck.test.ts`.
 */
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { GovError } from '../../contract/problems.ts';
import { openCheckpoint, parseTrust } from '../../core/note/checkpoint.ts';
import {
  openNote,
  parseVerifierKey,
  splitNote,
  verifierKeyText,
  type VerifierKey,
} from '../../core/note/signed.ts';
import { fsckStore, type FsckOptions } from '../../store/fsck/run.ts';
import type { JudgeReceipt } from '../../store/fsck/check.ts';
import type { JudgeNote } from '../../store/fsck/check.ts';
import type { FsckReport } from '../../store/fsck/check.ts';
import { refuseOtherMasterKeyOf } from '../../store/file/master-key.ts';
import { storeFiles } from '../../store/file/paths.ts';
import { readKeys } from './keys.ts';
import { readMasterKey } from './master-key.ts';
import type { Variables } from '../process/layers.ts';
import { readServiceConfig } from '../service/config.ts';

export type { FsckReport } from '../../store/fsck/check.ts';

export interface HostFsckOptions {
  readonly dataDir: string;
  /** Where a service's database may be named. */
  readonly env?: Variables;
  /** Also every disclosure, metering reference and signature, and the file's own structure. */
  readonly deep?: boolean;
  readonly onProgress?: (progress: { readonly done: number; readonly of: number }) => void;
}

/**
 * Reads only, also while it is served. Throws NOT_FOUND where there is no database, CONFLICT or STORAGE_FAULT where it
 * cannot be opened; whatever is wrong with what it holds stands in the report.
 */
export async function fsck({ env = process.env, ...options }: HostFsckOptions): Promise<FsckReport> {
  const { dataDir } = options;
  const isService = existsSync(join(dataDir, 'service.json'));
  const keys = isService ? ownKeys(dataDir) : trustedKeys(dataDir);
  const judges = {
    ...(keys === null ? {} : { judgeNote: noteJudge(keys) }),
    ...(isService ? { judgeReceipt: await receiptJudge(dataDir) } : {}),
  };
  const judged = { ...options, ...judges };
  const { database: url } = isService ? readServiceConfig(dataDir, {}, env) : { database: null };
  const masterKey = readMasterKey(dataDir, env, { readonly: true });
  if (url === null) return fsckFiles({ ...judged, masterKey });
  const { fsckPostgres } = await import('../../store/postgres/store.ts');
  return fsckPostgres({ ...judged, masterKey, url, connections: 2 });
}

function trustedKeys(dataDir: string): readonly VerifierKey[] | null {
  const trustFile = join(dataDir, 'trust');
  return existsSync(trustFile) ? parseTrust(readFileSync(trustFile, 'utf8')).keys : null;
}

const ownKeys = (dataDir: string): readonly VerifierKey[] =>
  readKeys(dataDir)
    .signers('gov.fsck')
    .map(({ verifierKey }) => parseVerifierKey(verifierKey));

/** A directory that cannot be written is checked through a copy in the temporary directory. */
async function fsckFiles(options: FsckOptions): Promise<FsckReport> {
  const { main } = storeFiles(options.dataDir);
  // SQLite reads a WAL database only where it may make, or finds, the file of its shared memory
  if (!existsSync(main) || existsSync(`${main}-shm`) || isWritable(options.dataDir)) return checked(options);
  const copy = mkdtempSync(join(tmpdir(), 'gov-fsck-')); // mode 0700
  try {
    copyStore(options.dataDir, copy);
    return await checked({ ...options, dataDir: copy });
  } finally {
    const { subjects } = storeFiles(copy);
    // keys are not left in what a file system frees
    if (existsSync(subjects))
      writeFileSync(subjects, Buffer.alloc(statSync(subjects).size), { flush: true, flag: 'r+' });
    rmSync(copy, { recursive: true, force: true });
  }
}

function checked(options: FsckOptions): Promise<FsckReport> {
  refuseOtherMasterKeyOf(options.dataDir, options.masterKey);
  return fsckStore(options);
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Copies the databases of a directory that nobody can write; STORAGE_FAULT where that fails. */
function copyStore(from: string, to: string): void {
  const { main, heads, subjects } = storeFiles(from);
  for (const path of [main, heads, subjects].flatMap((each) => [each, `${each}-wal`])) {
    if (!existsSync(path)) continue;
    try {
      copyFileSync(path, join(to, basename(path)));
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new GovError(
        'STORAGE_FAULT',
        `expected room for a copy of the read-only ${path} in ${tmpdir()}, got: ${why}; set TMPDIR to a larger disk`,
        { cause },
      );
    }
  }
}

/** By the installation's cosigner, under whichever name it had then. */
async function receiptJudge(dataDir: string): Promise<JudgeReceipt> {
  const { createCosigner } = await import('../process/hosting.ts');
  const { storeKey } = readKeys(dataDir);
  const { algorithm, publicKey } = parseVerifierKey(createCosigner(storeKey, 'gov.fsck').verifierKey);
  return (note) => {
    try {
      const [signature, ...more] = splitNote(note).signatures;
      if (signature === undefined || more.length > 0) return `${more.length + 1} signature lines`;
      const key = parseVerifierKey(verifierKeyText(signature.name, algorithm, publicKey));
      const [verified] = openNote(note, [key]).verified;
      return verified?.timestampSeconds ?? 'a signature without a time';
    } catch (error) {
      if (error instanceof GovError) return error.message;
      throw error;
    }
  };
}

/** All logs are signed by the same keys, each under its own origin as key name. */
function noteJudge(keys: readonly VerifierKey[]): JudgeNote {
  let last: { readonly origin: string; readonly own: readonly VerifierKey[] } | undefined;
  return (note, origin, inForce) => {
    if (last?.origin !== origin) {
      const named = keys.map((key) =>
        parseVerifierKey(verifierKeyText(origin, key.algorithm, key.publicKey)),
      );
      last = { origin, own: named };
    }
    const { own } = last;
    const ids = inForce?.map(({ publicKey }) => publicKey.toString('hex'));
    const counting =
      ids === undefined ? own : own.filter((key) => ids.includes(key.publicKey.toString('hex')));
    try {
      openCheckpoint(note, counting, origin);
      return null;
    } catch (error) {
      if (error instanceof GovError) return error.message;
      throw error;
    }
  };
}
