/**
 * `gov plane restore`: makes a data directory from a backup, completely or not at all. It checks each file
 * against the manifest, the manifest against the log's key, and the log against its own records. It then
 * compares the log with checkpoints that are known elsewhere. Where a known checkpoint is beyond the log, the
 * new `heads.db` records it, and the plane never signs on that log again. Otherwise clients could prove two
 * histories under one name. Proven by `test/plane/data/backup.test.ts`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { makeFolder } from '../../src/files/make-folder.ts';
import { GovError } from '../../src/contract/problems.ts';
import { parseTrust } from '../../src/core/note/checkpoint.ts';
import type { VerifierKey } from '../../src/core/note/signed.ts';
import { syncDirectory } from '../../src/files/durable.ts';
import { fsck } from '../../src/host/data/fsck.ts';
import {
  logsOf,
  rememberHeads,
  compareKnownHeads,
  type HeadComparison,
} from '../../src/store/file/copies.ts';
import { hasNoSubjects } from '../../src/store/file/subjects-copy.ts';
import type { NamedHead } from '../../src/store/file/heads.ts';
import { shown } from './backup.ts';
import { historyIn, refuseKeysOf } from './backup-keys.ts';
import { copyPrivate, sumOf } from './files.ts';
import { makeHeld } from '../../src/host/files/drafts.ts';
import { headsOf, type KnownSource } from './known.ts';
import { byteCounter, type OnProgress } from './progress.ts';
import { damaged, readManifest, verifyManifest, type Manifest } from './manifest.ts';

export interface RestoreOptions {
  /** The directory of a backup. */
  readonly from: string;
  /** The data directory to make. It must be absent or empty. */
  readonly dataDir: string;
  /** Signed checkpoints that were kept elsewhere. */
  readonly lastCheckpoints: readonly KnownSource[];
  /** Text of a trust file for the audit log. Defaults to the trust file in the backup. */
  readonly trust?: string | undefined;
  readonly onProgress?: OnProgress;
}

interface KnownHead {
  /** The file that contains the checkpoint. */
  readonly from: string;
  readonly origin: string;
  readonly size: number;
  readonly verdict: 'contained' | 'behind';
  /** Leaves of the restored log. */
  readonly have: number;
  readonly missing: number;
}

export interface RestoreResult {
  /**
   * `proven`: the log has every leaf of each given checkpoint, and one was for the audit log. `unproven`: no
   * checkpoint was given. `behind`: the plane will not sign.
   */
  readonly verdict: 'proven' | 'unproven' | 'behind';
  readonly dataDir: string;
  readonly createdAt: string;
  readonly projectId: string;
  /** Whether the keys in force are present. Otherwise the operator adds them before the plane serves. */
  readonly withKeys: boolean;
  readonly logs: readonly Omit<Manifest['logs'][number], 'checkpoint'>[];
  readonly known: readonly KnownHead[];
  /** Bodies about subjects that need `subjects.db` to be read. The backup omits that file. */
  readonly unopened: number;
  /** Whether the operator must add `subjects.db` before the plane serves. */
  readonly lacksSubjects: boolean;
}

/**
 * CONFLICT where `dataDir` has content or a checkpoint contradicts the log. STORAGE_FAULT where the backup is
 * damaged. INVALID_SIGNATURE or VALIDATION_ERROR for a bad manifest or checkpoint. Cost: reads each byte
 * twice and hashes each record.
 */
export async function planeRestore(options: RestoreOptions): Promise<RestoreResult> {
  const [from, dataDir] = [resolve(options.from), resolve(options.dataDir)];
  const { onProgress } = options;
  const { manifest, json } = readManifest(from);
  const keys = keysOf(from, options.trust);
  const audit = manifest.logs.find(({ tree }) => tree === 'audit');
  if (audit === undefined) throw damaged('manifest.json: expected an audit log');
  verifyManifest(from, { json, origin: audit.origin }, keys);
  const origins = manifest.logs.map(({ origin }) => origin);
  const given = options.lastCheckpoints.flatMap((source) => headsOf(source, { origins, keys }));
  let known: readonly KnownHead[] = [];
  let found = { unopened: 0, lacksSubjects: false, withKeys: false };
  await makeHeld({ what: 'the plane', path: dataDir }, async (draft) => {
    await copyFiles(from, draft, { manifest, onProgress });
    found = await judge(draft, { manifest, onProgress });
    const heads = given.map(({ head }) => head);
    const comparisons = compareKnownHeads(draft, heads);
    known = given.map(({ from: source, head }, at) => knownHead(source, head, comparisons[at]));
    const beyond = given.flatMap(({ head }, at) =>
      known[at]?.verdict === 'behind' ? [{ ...head, have: known[at].have }] : [],
    );
    if (beyond.length > 0) rememberHeads(draft, beyond);
  });
  const { createdAt, projectId } = manifest;
  const logs = manifest.logs.map(({ tree, origin, size, root }) => ({ tree, origin, size, root }));
  const verdict = verdictOf(known, audit.origin);
  return { verdict, dataDir, createdAt, projectId, logs, known, ...found };
}

/** Returns the keys of the audit log, under its name. */
function keysOf(from: string, given: string | undefined): readonly VerifierKey[] {
  const path = join(from, 'trust');
  if (given !== undefined) return parseTrust(given).keys;
  if (!existsSync(path)) throw damaged('expected the file trust in the backup');
  return parseTrust(readFileSync(path, 'utf8')).keys;
}

interface RestoreInput {
  readonly manifest: Manifest;
  readonly onProgress: OnProgress | undefined;
}

async function copyFiles(from: string, draft: string, { manifest, onProgress }: RestoreInput): Promise<void> {
  const { files } = manifest;
  const copied = byteCounter(
    'copying',
    files.reduce((sum, { bytes }) => sum + bytes, 0),
    onProgress,
  );
  const folders = new Set(files.map(({ path }) => dirname(path)));
  for (const folder of folders) makeFolder(join(draft, folder), 0o700);
  for (const { path, bytes, sha256 } of files) {
    if (!existsSync(join(from, path))) throw damaged(`expected ${path} in the backup, got none`);
    copyPrivate(join(from, path), join(draft, path));
    const got = await sumOf(draft, path, copied);
    if (got.bytes === bytes && got.sha256 === sha256) continue;
    throw damaged(
      `${path}: expected ${bytes} bytes with SHA-256 ${sha256}, got ${got.bytes} with ${got.sha256}`,
    );
  }
  for (const folder of folders) syncDirectory(join(draft, folder));
}

/**
 * Checks the log from its records up and compares its heads with the manifest. Returns the heads that it
 * lacks.
 */
async function judge(
  draft: string,
  { manifest, onProgress }: RestoreInput,
): Promise<Pick<RestoreResult, 'unopened' | 'lacksSubjects' | 'withKeys'>> {
  const { ok, problems, found, unopened } = await fsck({
    dataDir: draft,
    env: process.env,
    deep: true,
    onProgress: (progress) => onProgress?.({ step: 'checking', ...progress }),
  });
  if (!ok) {
    const [first] = problems;
    const where = first === undefined ? '' : `, the first at ${first.position}: ${first.kind}`;
    const key = first?.kind === 'body_altered' ? '; where bodies are sealed, give the master key' : '';
    throw damaged(`expected a log that holds together, got ${found} faults${where}${key}`);
  }
  const [got, expected] = [logsOf(draft).map(shown), manifest.logs];
  if (JSON.stringify(got) !== JSON.stringify(expected)) {
    throw damaged('expected the heads that manifest.json names, got others');
  }
  const withKeys = manifest.withKeys && (await hasKeys(draft, manifest.projectId));
  return { unopened, lacksSubjects: hasNoSubjects(draft), withKeys };
}

/** Whether the keys match the log. An older backup may contain the keys from before a rotation. */
async function hasKeys(draft: string, projectId: string): Promise<boolean> {
  const history = await historyIn(draft, projectId);
  try {
    refuseKeysOf(draft, history);
    return true;
  } catch (error) {
    if (error instanceof GovError && error.code === 'STORAGE_FAULT') return false;
    throw error;
  }
}

function knownHead(
  from: string,
  { origin, size, root }: NamedHead,
  comparison: HeadComparison | undefined,
): KnownHead {
  if (comparison === undefined || comparison.is === 'unknown log') {
    throw damaged(`expected the log ${origin} in the backup, got none`);
  }
  const { is, have } = comparison;
  if (is === 'contradicted') {
    const [want, got] = [root.toString('base64'), comparison.root.toString('base64')];
    throw new GovError(
      'CONFLICT',
      `${from}: expected the root ${want} at size ${size} of ${origin}, got ${got}: the backup is of another history, ` +
        'and nothing was restored; find out which of the two your clients hold',
    );
  }
  return { from, origin, size, verdict: is, have, missing: Math.max(0, size - have) };
}

function verdictOf(known: readonly KnownHead[], auditOrigin: string): RestoreResult['verdict'] {
  if (known.some(({ verdict }) => verdict === 'behind')) return 'behind';
  return known.some(({ origin }) => origin === auditOrigin) ? 'proven' : 'unproven';
}
