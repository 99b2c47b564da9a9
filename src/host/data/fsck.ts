/**
 * `gov log fsck`: the store check of a data directory, or of the database that a service names. It checks the
 * signatures of checkpoints with the trust file of a plane, or with the service's own keys. Proven by
 * `test/store/fsck/run.test.ts` and `test/host/data/fsck.test.ts`.
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
import { opening } from '../../store/file/faults.ts';
import { openHeads, type NamedHead } from '../../store/file/heads.ts';
import { refuseOtherMasterKeyOf } from '../../store/file/master-key.ts';
import { storeFiles } from '../../store/file/paths.ts';
import { unfit } from '../../store/file/signed-heads.ts';
import { createCosigner } from '../keys/cosigner.ts';
import { readKeys } from '../keys/disk.ts';
import { readMasterKey } from '../keys/master.ts';
import { noteUpkeep } from '../files/upkeep.ts';
import { now } from '../process/clock.ts';
import type { Variables } from '../config/layers.ts';
import { readServiceConfig } from '../service/config.ts';

export type { FsckReport } from '../../store/fsck/check.ts';

export interface HostFsckOptions {
  readonly dataDir: string;
  /** May name the database of a service. */
  readonly env?: Variables;
  /** Checks also every disclosure, metering reference and signature, and the structure of the file. */
  readonly deep?: boolean;
  readonly onProgress?: (progress: { readonly done: number; readonly of: number }) => void;
}

/**
 * Reads only, also while the data is served; it notes the result in `upkeep.json`. NOT_FOUND where there is no database, CONFLICT or STORAGE_FAULT
 * where it cannot be opened. The report contains every other fault.
 */
export async function fsck(options: HostFsckOptions): Promise<FsckReport> {
  const report = await judged(options);
  const { ok, found, leaves, deep } = report;
  noteUpkeep(options.dataDir, { fsck: { atMs: now(), ok, found, leaves, deep } });
  return report;
}

async function judged({ env = process.env, ...options }: HostFsckOptions): Promise<FsckReport> {
  const { dataDir } = options;
  const isService = existsSync(join(dataDir, 'service.json'));
  const keys = isService ? ownKeys(dataDir) : trustedKeys(dataDir);
  const judges = {
    ...(keys === null ? {} : { judgeNote: noteJudge(keys) }),
    ...(isService ? { judgeReceipt: receiptJudge(dataDir) } : {}),
  };
  const asked = { ...options, ...judges };
  const { database: url } = isService ? readServiceConfig(dataDir, {}, env) : { database: null };
  const masterKey = readMasterKey(dataDir, env, { readonly: true });
  if (url === null) return fsckFiles({ ...asked, masterKey });
  const { fsckPostgres } = await import('../../store/postgres/store.ts');
  return fsckPostgres({ ...asked, masterKey, url, signed: signedHeads(dataDir), connections: 2 });
}

/** The newest heads that a process with this directory signed. Read before the database, which grows meanwhile. */
function signedHeads(dataDir: string): NamedHead[] {
  const { heads: path } = storeFiles(dataDir);
  if (!existsSync(path) || unfit(dataDir) !== null) return [];
  const heads = opening(path, () => openHeads(path, { readonly: true }));
  try {
    return [...heads.all()];
  } finally {
    heads.close();
  }
}

function trustedKeys(dataDir: string): readonly VerifierKey[] | null {
  const trustFile = join(dataDir, 'trust');
  return existsSync(trustFile) ? parseTrust(readFileSync(trustFile, 'utf8')).keys : null;
}

const ownKeys = (dataDir: string): readonly VerifierKey[] =>
  readKeys(dataDir)
    .signers('gov.fsck')
    .map(({ verifierKey }) => parseVerifierKey(verifierKey));

/** Checks a read-only directory through a copy in the temporary directory. */
async function fsckFiles(options: FsckOptions): Promise<FsckReport> {
  const { main } = storeFiles(options.dataDir);
  // SQLite reads a WAL database only where it finds or can create its shared-memory file
  if (!existsSync(main) || existsSync(`${main}-shm`) || isWritable(options.dataDir)) return checked(options);
  const copy = mkdtempSync(join(tmpdir(), 'gov-fsck-')); // mode 0700
  try {
    copyStore(options.dataDir, copy);
    return await checked({ ...options, dataDir: copy });
  } finally {
    const { subjects } = storeFiles(copy);
    // overwrites keys before the file system frees their blocks
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

/** Copies the databases of a read-only directory. STORAGE_FAULT where that fails. */
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

/** Checks receipts with the key of the installation's cosigner, under any former name. */
function receiptJudge(dataDir: string): JudgeReceipt {
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

/** Checks notes of all logs with the same keys, under the origin of each log as key name. */
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
