/**
 * `gov log recover`: where a log is behind a checkpoint that was signed, and nothing newer is left, nobody may sign on it
 * again. This makes a plane with a new log of the same project, signed by the same keys under a new name (epoch n + 1,
 * also of the metering log, whose totals begin with 0). Its leaf `gov.epoch/1` says which log it follows, the last
 * checkpoint that is known of that, how much of it is left, and why. The old directory stays as it is, as an archive.
 * Proven by `test/plane/data/recover.test.ts`.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { GovError } from '../../src/contract/problems.ts';
import { draftLeaf } from '../../src/core/event/record.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import { auditEpochOrigin } from '../../src/core/plane/usage-report.ts';
import { now } from '../../src/host/process/clock.ts';
import { readPlaneFile, type PlaneFile } from '../../src/host/data/config.ts';
import { replacePrivate, syncDirectory, writePrivate } from '../../src/host/data/files.ts';
import { readKeys } from '../../src/host/data/keys.ts';
import { headsIn, logsOf, rememberHeads, standingOf } from '../../src/store/file/copies.ts';
import { storeFiles } from '../../src/store/file/paths.ts';
import { copyPrivate, dataFiles } from './files.ts';
import { makeHeld } from './drafts.ts';
import { fillPlane, projectOf } from './init.ts';
import { firstAuditOrigin, meteringLog } from '../telemetry/maker.ts';
import { reportedHeads } from '../telemetry/reported.ts';

export interface RecoverOptions {
  /** A data directory whose log is behind its heads.db, as `gov plane restore` leaves it. */
  readonly from: string;
  /** The data directory to make; absent or empty. */
  readonly dataDir: string;
  /** Why, for whoever reads the log. */
  readonly reason: string;
}

interface EndedLog {
  readonly origin: string;
  /** The largest head that is known to have been signed: a checkpoint of it may be somewhere. */
  readonly lastKnownCheckpoint: { readonly size: number; readonly root: string } | null;
  /** Leaves that the archive has. */
  readonly size: number;
}

export interface Recovered {
  readonly dataDir: string;
  readonly projectId: string;
  readonly epoch: number;
  readonly origin: string;
  readonly meteringOrigin: string;
  readonly previous: readonly EndedLog[];
  /** What was recorded before: no erasure in the new log reaches it. */
  readonly archive: {
    readonly dataDir: string;
    /** It has the keys of subjects, without which nobody reads what is about them there. */
    readonly hasSubjectKeys: boolean;
  };
}

/** Not of the new log: its enrolment names the old one, and its rotated keys are history of the old one. */
const left = /^keys\/(?:(?:telemetry|enrolment-request)\.json$|next\/|retired\/)/;

/** NOT_FOUND where there is no plane, CONFLICT where its log can go on or `dataDir` holds something. */
export async function planeRecover(options: RecoverOptions): Promise<Recovered> {
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
  await makeHeld(dataDir, async (draft) => {
    for (const { path, kind } of dataFiles(from)) {
      if (kind !== 'secret' || !path.startsWith('keys/') || left.test(path)) continue;
      mkdirSync(join(draft, dirname(path)), { recursive: true, mode: 0o700 });
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
 * An archive is followed by one log: two would have one name. The mark is there before the log is, so a crash leaves a
 * mark that only the same target passes.
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

/** The logs of a directory, one of which lacks what was signed of it; CONFLICT where none does. */
function endedLogs(dataDir: string): EndedLog[] {
  const { main, heads: path } = storeFiles(dataDir);
  if (!existsSync(main)) throw new GovError('NOT_FOUND', `expected a database at ${main}, got none`);
  // what the service holds, or the plane reported, was signed too
  const reported = reportedHeads(dataDir);
  const standings = standingOf(dataDir, reported);
  rememberHeads(
    dataDir,
    reported.flatMap((head, at) => {
      const standing = standings[at];
      const isLacked = standing?.is === 'behind' || standing?.is === 'contradicted';
      return isLacked ? [{ ...head, have: standing.have }] : [];
    }),
  );
  const heads = headsIn(path) ?? [];
  if (!standingOf(dataDir, heads).some(({ is }) => is === 'behind' || is === 'contradicted')) {
    const detail = `expected a log that lacks what was signed of it, but that of ${dataDir} does not`;
    throw new GovError('CONFLICT', `${detail}; it can go on: gov plane serve --data ${dataDir}`);
  }
  return logsOf(dataDir).map(({ origin, size }) => {
    const head = heads.find((each) => each.origin === origin);
    const lastKnownCheckpoint =
      head === undefined ? null : { size: head.size, root: head.root.toString('base64') };
    return { origin, lastKnownCheckpoint, size };
  });
}
