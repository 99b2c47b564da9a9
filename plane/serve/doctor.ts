/**
 * `gov plane doctor`: checks whether a plane can serve and whether its reports reach the service. Each failed
 * check says what to do. The doctor changes nothing and also runs while the plane serves. Checks shared with
 * the service are in `src/host/process/checks.ts`. Proven by `test/plane/serve/doctor.test.ts`.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { limits } from '../../src/contract/limits.ts';
import { hasMlDsa44 } from '../../src/core/note/signature.ts';
import {
  examiner,
  fail,
  lookAtAddress,
  lookAtFilesystem,
  lookAtMigrations,
  lookAtSpace,
  ofExports,
  ok,
  warn,
  type DoctorReport,
  type Examine,
  type CheckResult,
} from '../../src/host/process/checks.ts';
import { now } from '../../src/host/process/clock.ts';
import { readPlaneConfig, type PlaneConfig } from '../../src/host/data/config.ts';
import type { ServingFlags } from '../../src/host/serving/config.ts';
import { refuseReadableByOthers } from '../../src/host/files/private.ts';
import { isPresent, readUpkeep } from '../../src/host/files/upkeep.ts';
import { scrubReasons } from '../../src/service/operations/reasons.ts';
import { readScrub, scrubId, scrubKind } from '../../src/service/operations/scrub-state.ts';
import { readKeys, type HostKeys } from '../../src/host/keys/disk.ts';
import type { Address, Variables } from '../../src/host/config/layers.ts';
import { readRunFile } from '../../src/host/files/run.ts';
import { reportFontsOf } from '../../src/host/reports/config.ts';
import { readCertificate, validityFault } from '../../src/host/process/tls.ts';
import { logKeys } from '../../src/service/log/keys.ts';
import { dueMigrations, inspectFiles } from '../../src/store/file/inspect.ts';
import { openReader } from '../../src/store/sqlite/store.ts';
import { storeFiles } from '../../src/store/file/paths.ts';
import { hasKeysLeft } from '../../src/store/file/keys-left.ts';
import { isRewriteDue } from '../../src/store/sqlite/store.ts';
import { dataFiles } from '../data/files.ts';
import { diskOf } from './disk.ts';
import { refuseForeignKeys, keysAfterSettling } from '../keys/own.ts';
import { outboxFile } from '../telemetry/outbox.ts';
import { examineService } from './reach.ts';
import { holdToReported } from '../telemetry/reported.ts';
import { telemetryStatus } from '../telemetry/status.ts';

export interface PlaneDoctorOptions extends ServingFlags {
  readonly dataDir: string;
  readonly env?: Variables;
  /** Folders that may contain the unit. Defaults to the folders of systemd. */
  readonly unitFolders?: readonly string[];
  /** Asks no service, and so needs no network. */
  readonly isLocal?: boolean;
}

export async function planeDoctor(options: PlaneDoctorOptions): Promise<DoctorReport> {
  const { env = process.env } = options;
  const { examine, report } = examiner();
  let config: PlaneConfig | undefined;
  await examine('node', lookAtNode);
  await examine('configuration', () => {
    const read = readPlaneConfig(resolve(options.dataDir), options, env);
    const path = join(read.dataDir, 'plane.json');
    reportFontsOf(read, { dataDir: read.dataDir, path, env });
    config = read;
    return ok(`${path}, project ${config.projectId}`);
  });
  if (config !== undefined) {
    await examinePlane(config, { examine, env, folders: options.unitFolders });
    if (options.isLocal !== true) await examineService(config.dataDir, { examine, env });
  }
  return report();
}

function lookAtNode(): CheckResult {
  const detail = `${process.version} for ${process.platform} ${process.arch}`;
  if (hasMlDsa44()) return ok(detail);
  return warn(`${detail}, without ML-DSA-44`, 'use Node 24.6 or later: logs get a second kind of signature');
}

interface DoctorContext {
  readonly examine: Examine;
  readonly env: Variables;
  readonly folders: readonly string[] | undefined;
}

async function examinePlane(config: PlaneConfig, { examine, env, folders }: DoctorContext): Promise<void> {
  const { dataDir } = config;
  let keys: HostKeys | undefined;
  await examine('keys', () => {
    keys = readKeys(dataDir);
    const algorithms = keys.signers(config.origin).map(({ algorithm }) => algorithm);
    return ok(`logs are signed with ${algorithms.join(' and ')}`);
  });
  await examine('secrets', () => lookAtSecrets(dataDir));
  await examine('approver', () => lookAtApprover(config));
  await examine('file system', () => lookAtFilesystem(dataDir));
  await examine('disk', () => lookAtDisk(dataDir));
  let readable = false;
  await examine('database', () => {
    readable = inspectFiles(dataDir, { hosted: false });
    if (readable) return lookAtUnused(dataDir);
    return fail(`no database in ${dataDir}`, 'restore it from a backup: gov plane restore');
  });
  const own = keys;
  const due = readable ? dueMigrations(dataDir) : [];
  if (due.length > 0) await examine('format', () => lookAtMigrations(due));
  if (readable && own !== undefined) await examine('pinned keys', () => lookAtPinned(config));
  // an older database may lack the table that has its findings
  if (readable && due.length === 0) await examine('integrity', () => lookAtIntegrity(config));
  await examine('backup', () => lookAtBackup(dataDir));
  if (config.tls !== null) await examine('certificate', () => lookAtCertificate(config));
  const ours = portsOf(dataDir);
  const look = (address: Address, flag: string): Promise<CheckResult> =>
    lookAtAddress(address, () => ours.has(address.port), flag);
  await examine('address', () => look(config.listen, '--listen'));
  const { metricsListen } = config;
  await examine('metrics address', () =>
    metricsListen === null ? ok('off') : look(metricsListen, '--metrics-listen'),
  );
  await examine('telemetry', () => lookAtTelemetry(dataDir));
  await examine('unit', () => lookAtUnit(folders ?? unitFolders(env)));
}

/** Whether programs of this user can approve what agents ask for. */
function lookAtApprover({ dataDir, presence }: PlaneConfig): CheckResult {
  if (presence === 'none') return ok('no person decides here: presence is none');
  if (existsSync(join(dataDir, 'approver.key'))) {
    const what = `every program that reads ${join(dataDir, 'approver.key')} approves what agents ask for`;
    return warn(what, 'run gov approvers seal in a terminal: a phrase then opens the key');
  }
  return ok(
    existsSync(join(dataDir, 'approver.sealed')) ? 'only a phrase opens its key' : 'no key of a plane',
  );
}

/**
 * Checks a sound database for copies of removed data in its files. Stopping the plane does not remove them.
 */
function lookAtUnused(dataDir: string): CheckResult {
  const { main } = storeFiles(dataDir);
  const detail = 'its newest leaves verify, and it has what was signed last';
  const isServed = portsOf(dataDir).size > 0;
  if (hasKeysLeft(dataDir, { isServed })) {
    const what = 'keys of subjects that were destroyed may be in subjects.db or its write-ahead log';
    const advice = isServed
      ? 'end what reads or holds subjects.db, or free space: the plane then destroys them'
      : 'start the plane, or run gov log compact, once nobody reads subjects.db';
    return warn(`${detail}; ${what}`, advice);
  }
  const isLeft = !isServed || statSync(main).size > limits.rewriteBytes;
  if (!isRewriteDue(main) || !isLeft) return ok(detail);
  return warn(
    `${detail}; unused parts of it have copies of what was erased or pruned`,
    'stop the plane, then run gov log compact',
  );
}

/** Checks the mode of every file with a secret and of the data directory. */
function lookAtSecrets(dataDir: string): CheckResult {
  const secrets = dataFiles(dataDir).filter(({ kind }) => kind === 'secret' || kind === 'subjects');
  for (const { path } of secrets) refuseReadableByOthers(join(dataDir, path));
  const mode = statSync(dataDir).mode & 0o777;
  if ((mode & 0o077) === 0) return ok(`${secrets.length} files that only their owner reads`);
  return warn(`${dataDir} has mode ${mode.toString(8)}: others may look into it`, 'run chmod 700 on it');
}

async function lookAtDisk(dataDir: string): Promise<CheckResult> {
  const space = await lookAtSpace(dataDir);
  if (space.status !== 'ok') return space;
  const { freeBytes, bytesPerDay, daysLeft } = diskOf(dataDir, now());
  const free = `${(freeBytes / 2 ** 30).toFixed(1)} GiB free${ofExports(dataDir)}`;
  if (bytesPerDay === null) return ok(`${free}; too young to say how it grows`);
  const growth = `${free}, growing ${(bytesPerDay / 2 ** 20).toFixed(1)} MiB a day`;
  if (daysLeft === null) return ok(growth);
  const detail = `${growth}: ${daysLeft} days left`;
  return daysLeft < 30 ? warn(detail, 'make room, or move the plane to a larger disk') : ok(detail);
}

/** Checks that the outbox opens and that the log contains every reported head. */
async function lookAtTelemetry(dataDir: string): Promise<CheckResult> {
  const advice = 'each reason is explained in docs/reference/health.md, "Data plane: reporting to a service"';
  const { reasons, enrolled } = telemetryStatus(dataDir);
  if (existsSync(outboxFile(dataDir))) await holdToReported(dataDir, { remember: false });
  if (reasons.length > 0) return warn(reasons.join('; '), advice);
  return ok(enrolled ? 'the log has what was reported of it' : 'not enrolled: nothing is reported');
}

async function lookAtPinned(config: PlaneConfig): Promise<CheckResult> {
  const reader = openReader(storeFiles(config.dataDir).main);
  try {
    const history = await logKeys(reader, config.projectId);
    refuseForeignKeys(history, keysAfterSettling(config, history));
    return ok('those that the log says are in force');
  } finally {
    reader.close();
  }
}

/** What the scrub and the last fsck found. */
async function lookAtIntegrity({ dataDir, projectId }: PlaneConfig): Promise<CheckResult> {
  const { fsck } = readUpkeep(dataDir);
  const reader = openReader(storeFiles(dataDir).main);
  try {
    const kept = await reader.document(projectId, scrubKind, scrubId);
    const state = kept === null ? null : readScrub(kept.data);
    const [reason] = scrubReasons(state, now());
    if (reason !== undefined) return fail(reason, 'run gov log fsck --deep, and restore what it names');
    if (fsck?.ok === false) {
      const at = new Date(fsck.atMs).toISOString();
      return fail(
        `gov log fsck found ${fsck.found} altered places at ${at}`,
        'restore what it named, then run it again',
      );
    }
    const last = state?.last ?? null;
    return ok(
      last === null ? 'no pass over the log yet' : `whole at ${new Date(last.completedMs).toISOString()}`,
    );
  } finally {
    reader.close();
  }
}

function lookAtBackup(dataDir: string): CheckResult {
  const { backup } = readUpkeep(dataDir);
  const advice = 'run gov plane backup --out DIR, on another disk';
  if (backup === null) return warn('none known', advice);
  const at = new Date(backup.createdMs).toISOString();
  if (!isPresent(backup)) return warn(`${backup.out} of ${at} is not there any more`, advice);
  const isOld = now() - backup.createdMs > limits.backupDays * 24 * 3600 * 1000;
  return isOld ? warn(`the newest is of ${at}`, advice) : ok(`${backup.out} of ${at}`);
}

function lookAtCertificate({ tls }: PlaneConfig): CheckResult {
  if (tls === null) return ok('none');
  const certificate = readCertificate(tls);
  const until = new Date(certificate.validToMs).toISOString();
  const fault = validityFault(certificate, now());
  if (fault === null) return ok(`of its key, valid until ${until}`);
  const advice = 'put a new one in its place, then systemctl reload gov-plane, or SIGHUP';
  return fault.startsWith('tls_certificate_expires') ? warn(fault, advice) : fail(fault, advice);
}

/** Returns the ports of the process that serves this directory. */
function portsOf(dataDir: string): ReadonlySet<number> {
  const { pid, baseUrl, metricsUrl } = readRunFile(dataDir);
  if (pid === undefined) return new Set();
  try {
    process.kill(pid, 0);
    const urls = [baseUrl, metricsUrl].filter((url) => typeof url === 'string');
    return new Set(urls.map((url) => Number(new URL(url).port)));
  } catch {
    // the process has ended without removing the file
    return new Set();
  }
}

const unitFolders = ({ HOME, XDG_CONFIG_HOME }: Variables): readonly string[] => [
  '/etc/systemd/system',
  '/usr/lib/systemd/system',
  join(XDG_CONFIG_HOME ?? join(HOME ?? '/', '.config'), 'systemd/user'),
];

function lookAtUnit(folders: readonly string[]): CheckResult {
  const path = folders.map((folder) => join(folder, 'gov-plane.service')).find((each) => existsSync(each));
  if (path === undefined) return ok('no gov-plane.service: it is started by other means');
  const text = readFileSync(path, 'utf8');
  const missing = ['Type=notify', 'WatchdogSec=', 'ExecReload='].filter(
    (line) => !text.includes(`\n${line}`),
  );
  if (missing.length === 0) return ok(`${path}, with readiness, watchdog and reload`);
  return warn(`${path} has no ${missing.join(', ')}`, 'make it again with install.sh --systemd=system');
}
