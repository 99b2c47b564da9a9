/**
 * `gov log recover`: begins a new log where the old one lacks signed leaves and no newer copy exists. Nobody
 * may sign on the old log again. The new log has the same project and keys, and a new name: epoch n + 1. The
 * metering log also begins a new epoch, with totals of 0. The leaf `gov.epoch/1` names the old log, its last
 * known checkpoint, the leaves that remain of it, and the reason. The old directory stays unchanged as an
 * archive. Proven by `test/plane/data/recover.test.ts`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { makeFolder } from '../../src/files/make-folder.ts';
import { GovError } from '../../src/contract/problems.ts';
import { draftLeaf } from '../../src/core/events/record.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import { auditEpochOrigin } from '../../src/core/planes/usage-report.ts';
import { shellWord } from '../../src/core/shell-word.ts';
import { now } from '../../src/host/process/clock.ts';
import { projectOf, readPlaneFile, type PlaneFile } from '../../src/host/data/config.ts';
import { syncDirectory } from '../../src/files/durable.ts';
import { makeHeld } from '../../src/host/files/drafts.ts';
import { replacePrivate, writePrivate } from '../../src/host/files/private.ts';
import { readKeys } from '../../src/host/keys/disk.ts';
import { headsIn, logsOf, rememberHeads, compareKnownHeads } from '../../src/store/file/copies.ts';
import { storeFiles } from '../../src/store/file/paths.ts';
import { copyPrivate, dataFiles } from './files.ts';
import { fillPlane } from './init.ts';
import { firstAuditOrigin, meteringLog } from '../telemetry/maker.ts';
import { reportedHeads } from '../telemetry/reported.ts';

export interface RecoverOptions {
  /** A data directory whose log is behind its heads.db, such as `gov plane restore` leaves. */
  readonly from: string;
  /** The data directory to make. It must be absent or empty. */
  readonly dataDir: string;
  /** The reason, for readers of the log. */
  readonly reason: string;
}

interface EndedLog {
  readonly origin: string;
  /** The largest signed head that is known. Others may have a checkpoint of it. */
  readonly lastKnownCheckpoint: { readonly size: number; readonly root: string } | null;
  /** Number of leaves in the archive. */
  readonly size: number;
}

export interface RecoveryResult {
  readonly dataDir: string;
  readonly projectId: string;
  readonly epoch: number;
  readonly origin: string;
  readonly meteringOrigin: string;
  readonly previous: readonly EndedLog[];
  /** The earlier records. No erasure in the new log reaches them. */
  readonly archive: {
    readonly dataDir: string;
    /**
     * Whether the archive has the keys of subjects. Without them nobody can read its bodies about subjects.
     */
    readonly hasSubjectKeys: boolean;
  };
}

/** Files that the new log does not take over: the enrolment and the rotated keys belong to the old log. */
const left = /^keys\/(?:(?:telemetry|enrolment-request)\.json$|next\/|retired\/)/;

/** NOT_FOUND where there is no plane. CONFLICT where its log can continue or `dataDir` has content. */
export async function planeRecover(options: RecoverOptions): Promise<RecoveryResult> {
  const [from, dataDir] = [resolve(options.from), resolve(options.dataDir)];
  const old = readPlaneFile(join(from, 'plane.json'));
  const previous = endedLogs(from);
  const epoch = meteringLog(projectOf(old)).epoch + 1;
  const file: PlaneFile = {
    ...old,
    origin: auditEpochOrigin(firstAuditOrigin(projectOf(old)), epoch),
    meteringOrigin: old.meteringOrigin.replace(/[0-9]+$/, String(epoch)),
  };
  claim(from, dataDir);
  const leaf = draftLeaf('gov.epoch/1', {
    epoch,
    previousOrigin: old.origin,
    previous: previous.map((log) => ({ ...log })),
    reason: options.reason,
    at: formatTimestamp(now()),
  });
  await makeHeld({ what: 'the plane', path: dataDir }, async (draft) => {
    for (const { path, kind } of dataFiles(from)) {
      if (kind !== 'secret' || !path.startsWith('keys/') || left.test(path)) continue;
      makeFolder(join(draft, dirname(path)), 0o700);
      copyPrivate(join(from, path), join(draft, path));
    }
    syncDirectory(join(draft, 'keys'));
    await fillPlane(draft, file, readKeys(draft), [leaf]);
    const settings = join(from, 'telemetry.json');
    if (existsSync(settings)) writePrivate(join(draft, basename(settings)), readFileSync(settings, 'utf8'));
  });
  const { projectId, origin, meteringOrigin } = file;
  const archive = { dataDir: from, hasSubjectKeys: existsSync(storeFiles(from).subjects) };
  return { dataDir, projectId, epoch, origin, meteringOrigin, previous, archive };
}

/**
 * Reserves the archive for one new log, because two successors would share a name. The mark is written before
 * the log, so a crash leaves a mark that only the same target passes.
 */
function claim(from: string, dataDir: string): void {
  const mark = join(from, 'recovered.json');
  if (!existsSync(mark)) return replacePrivate(mark, `${JSON.stringify({ dataDir })}\n`);
  const { dataDir: first } = JSON.parse(readFileSync(mark, 'utf8')) as { dataDir?: unknown };
  if (first === dataDir && !existsSync(join(dataDir, 'plane.json'))) return;
  throw new GovError(
    'CONFLICT',
    `expected a log that nothing follows yet, but ${mark} names ${String(first)}; serve that one`,
  );
}

/** Returns the logs of a directory. At least one lacks leaves of a signed head. CONFLICT where none does. */
function endedLogs(dataDir: string): EndedLog[] {
  const { main, heads: path } = storeFiles(dataDir);
  if (!existsSync(main)) throw new GovError('NOT_FOUND', `expected a database at ${main}, got none`);
  // A head is also signed where the service holds it or the plane reported it.
  const reported = reportedHeads(dataDir);
  const comparisons = compareKnownHeads(dataDir, reported);
  rememberHeads(
    dataDir,
    reported.flatMap((head, at) => {
      const comparison = comparisons[at];
      const isLacked = comparison?.is === 'behind' || comparison?.is === 'contradicted';
      return isLacked ? [{ ...head, have: comparison.have }] : [];
    }),
  );
  const heads = headsIn(path) ?? [];
  if (!compareKnownHeads(dataDir, heads).some(({ is }) => is === 'behind' || is === 'contradicted')) {
    const detail = `expected a log that lacks what was signed of it, but that of ${dataDir} does not`;
    throw new GovError('CONFLICT', `${detail}; it can go on: gov plane serve --data ${shellWord(dataDir)}`);
  }
  return logsOf(dataDir).map(({ origin, size }) => {
    const head = heads.find((each) => each.origin === origin);
    const lastKnownCheckpoint =
      head === undefined ? null : { size: head.size, root: head.root.toString('base64') };
    return { origin, lastKnownCheckpoint, size };
  });
}
