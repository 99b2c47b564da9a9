/**
 * `gov plane status`: whether the plane serves and accepts writes, its disk, and its reports to the service. Exit 0 ok,
 * 3 degraded or blocked, 10 not serving. Tested by `test/cli/commands/plane/init.test.ts` against a real server.
 */
import { resolve } from 'node:path';
import type { Client } from '../../../client/create.ts';
import type { CaptureInForce } from '../../../contract/plane-config.ts';
import { GovApiError, GovNetworkError } from '../../../client/errors.ts';
import { GovError } from '../../../contract/problems.ts';
import { openCheckpoint, parseTrust } from '../../../core/note/checkpoint.ts';
import type { RunFile } from '../../../core/planes/run-file.ts';
import { drillsText } from '../../agents/drill/results.ts';
import type { Integrity } from '../../../contract/operations.ts';
import { readRunFile } from '../../context/run-file.ts';
import type { Session } from '../../context/session.ts';
import { fetchMetrics } from '../../operations/metrics.ts';
import { backupText, fsckText, integrityOf, scrubText } from '../../operations/lines.ts';
import type { Run } from '../../context/command.ts';
import { exit } from '../../program/exit.ts';
import { readText } from '../../program/flags.ts';
import type { Io } from '../../terminal/io.ts';
import { safe } from '../../terminal/safe.ts';
import type { Safe, Styles } from '../../terminal/safe.ts';
import type { planeStatus as spec } from '../../specs/operate/plane.ts';
import { plainView } from '../../terminal/view.ts';
import { bytesText } from '../../../core/byte-size.ts';
import { counted } from '../../terminal/numbers.ts';

/** The used parts of the plane's own overview, which is loaded only when this command runs. */
interface Disk {
  readonly freeBytes: number;
  readonly databaseBytes: number;
  readonly exportBytes: number;
  readonly bytesPerDay: number | null;
  readonly daysLeft: number | null;
}
interface Telemetry {
  readonly enrolled: boolean;
  readonly mode: string;
  readonly service: string | null;
  readonly reportsWaiting: number;
  readonly oldestWaitingAt: string | null;
  readonly lastContactAt: string | null;
  readonly failingSince: string | null;
  readonly reasons: readonly string[];
}

export interface PlaneStatus {
  /** `degraded`: writes are durable, and another check fails. `blocked`: the plane accepts no writes. */
  readonly state: 'ok' | 'degraded' | 'blocked' | 'not serving';
  readonly reasons: readonly string[];
  readonly dataDir: string | null;
  readonly baseUrl: string;
  readonly pid: number | null;
  readonly version: string | null;
  readonly startedAt: string | null;
  /** SHA-256 of the configuration of the serving process. */
  readonly configHash: string | null;
  /** The newest signed checkpoint of the audit log; null if this key may not read it. */
  readonly chain: { readonly size: number; readonly root: string; readonly signedAt: string | null } | null;
  /** Leaves of the log at that checkpoint. */
  readonly treeSize: number | null;
  readonly databaseBytes: number | null;
  /** Null for a plane on another machine. */
  readonly disk: Disk | null;
  readonly telemetry: Telemetry | null;
  /** What is kept of content in received telemetry, and who says so; null if this key may not read it. */
  readonly contentCapture: CaptureInForce | null;
  /** Scrub, fsck, backups and checkpoints; null if this key may not read it, or the plane does not serve. */
  readonly integrity: Integrity | null;
  /** Newest drills of agents; null if none is known, or this key may not read events. */
  readonly drills: string | null;
  /** Waiting writes, from the metrics of a plane on this machine. */
  readonly queueDepth: number | null;
}

/** Returns what the service's configuration and `plane.json` decide together; `own`: what the file alone says. */
async function contentCaptureOf(client: Client, own: CaptureInForce | null): Promise<CaptureInForce | null> {
  try {
    return (await client.getConfigBundle()).body.plane?.contentCapture ?? null;
  } catch (cause) {
    if (!(cause instanceof GovApiError)) throw cause;
    return cause.status === 404 ? own : null;
  }
}

/** Returns the newest checkpoint. Without a trust file, the time of signing is unknown. */
async function chainOf(client: Client, trust: string | undefined): Promise<PlaneStatus['chain']> {
  try {
    const { body } = await client.getCheckpoint();
    const note = String(body);
    const [, line = '', root = ''] = note.split('\n');
    if (!/^[0-9]{1,16}$/.test(line)) return null;
    return { size: Number(line), root, signedAt: trust === undefined ? null : signedAt(note, trust) };
  } catch (cause) {
    if (cause instanceof GovApiError) return null;
    throw cause;
  }
}

/** Returns the time of a trusted signature that includes one; null if there is none. */
function signedAt(note: string, file: string): string | null {
  try {
    const { keys, origin } = parseTrust(readText(file, '/'));
    const { signedBy } = openCheckpoint(note, keys, origin);
    const seconds = Math.max(0, ...signedBy.map(({ timestampSeconds }) => timestampSeconds ?? 0));
    return seconds === 0 ? null : new Date(seconds * 1000).toISOString();
  } catch (cause) {
    if (cause instanceof GovError) return null;
    throw cause;
  }
}

/** Returns the health response, with the readiness for writes included. */
async function healthOf(client: Client): Promise<Pick<PlaneStatus, 'state' | 'reasons' | 'version'>> {
  const overall = await client.getHealth();
  const ready = await client.getReadiness();
  const reasons = [...new Set([...(overall.body.reasons ?? []), ...(ready.body.reasons ?? [])])];
  const blocked = ready.status === 503 || overall.body.status === 'unavailable';
  const state = blocked ? 'blocked' : reasons.length > 0 ? 'degraded' : 'ok';
  return { state, reasons, version: overall.body.version ?? null };
}

export const run: Run<typeof spec> = async (call) => {
  const { flags, out, session, io } = call;
  if (flags.data !== undefined) session.usePlane(resolve(io.cwd, flags.data));
  if (flags.watch) {
    const { watchTop } = await import('../../screens/top/watch.ts');
    return watchTop(call, { ascii: flags.ascii });
  }
  const context = session.context()?.context;
  const dataDir = context?.kind === 'plane' ? context.dataDir : null;
  const running = dataDir === null ? {} : readRunFile(dataDir);
  const baseUrl = session.baseUrl().value;
  const { disk, telemetry, contentCapture, reasons } = dataDir === null ? nowhere : await overview(dataDir);
  // port 0: the system chooses the port when the plane serves, so nobody can be asked now
  const isNowhere = dataDir !== null && running.baseUrl === undefined && new URL(baseUrl).port === '0';
  const served = isNowhere
    ? { reasons: [`not running: no process serves ${dataDir}`] }
    : await serving(await asking(session, baseUrl), {
        dataDir,
        running,
        contentCapture,
        env: io.env,
        trust: session.trustFile(),
      });
  const status: PlaneStatus = {
    state: 'not serving',
    dataDir,
    baseUrl,
    pid: null,
    version: null,
    startedAt: null,
    configHash: null,
    chain: null,
    treeSize: served.chain?.size ?? null,
    databaseBytes: disk === null || disk.databaseBytes === 0 ? null : disk.databaseBytes,
    disk,
    telemetry,
    contentCapture: null,
    integrity: null,
    drills: null,
    queueDepth: null,
    ...served,
    reasons: [...new Set([...(served.reasons ?? []), ...(telemetry?.reasons ?? []), ...reasons])],
  };
  const { state } = status;
  out.verdict = flags.serving && state !== 'not serving' ? exit.ok : verdictOf(state);
  if (out.isHuman) await out.lines(told(status, out.styles));
  else await out.one(status, plainView(Object.keys(status)));
  return out.verdict;
};

/** Asks the process that answers at the address: if it is another plane, the message says so. */
const asking = (session: Session, baseUrl: string): Promise<Client> =>
  session.clientAt(baseUrl, {
    token: session.apiKey()?.value,
    project: session.project()?.value,
    retries: 0,
  });

const nowhere = { disk: null, telemetry: null, contentCapture: null, reasons: [] } as const;

async function overview(
  dataDir: string,
): Promise<Pick<PlaneStatus, 'disk' | 'telemetry' | 'contentCapture' | 'reasons'>> {
  const { overviewOf } = await import('../../../../plane/serve/overview.ts');
  return overviewOf(dataDir);
}

interface StatusRequest {
  /** Null for a plane on another machine. */
  readonly dataDir: string | null;
  readonly running: RunFile;
  /** What `plane.json` alone says. */
  readonly contentCapture: CaptureInForce | null;
  readonly env: Io['env'];
  readonly trust: string | undefined;
}

/** Returns data of the serving plane, or the reason why it does not serve. Rethrows other failures. */
async function serving(
  client: Client,
  { dataDir, running, contentCapture: own, env, trust }: StatusRequest,
): Promise<Partial<PlaneStatus> & Pick<PlaneStatus, 'reasons'>> {
  try {
    const health = await healthOf(client);
    if (dataDir !== null && !(await isOf(dataDir, health))) {
      const why = `no process serves ${dataDir}; the plane of another folder answers at this address`;
      return { reasons: [`not_this_plane: ${why}`] };
    }
    const { pid = null, startedAt = null, configHash = null, metricsUrl } = running;
    const chain = await chainOf(client, trust);
    const contentCapture = await contentCaptureOf(client, own);
    const integrity = await integrityOf(client);
    const drills = await drillsText(client);
    const metrics = await fetchMetrics(metricsUrl, env);
    const facts = { pid, startedAt, configHash, chain, contentCapture, integrity, drills };
    return { ...health, ...facts, queueDepth: metrics?.queue ?? null };
  } catch (cause) {
    if (!(cause instanceof GovNetworkError)) throw cause;
    return { reasons: [cause.message] };
  }
}

/** A plane shows its version to its own keys only. A copy of the folder has the keys, and nobody who holds its lock. */
async function isOf(dataDir: string, { version }: Pick<PlaneStatus, 'version'>): Promise<boolean> {
  if (version === null) return false;
  const { isServed } = await import('../../../../plane/serve/served.ts');
  return isServed(dataDir);
}

function verdictOf(state: PlaneStatus['state']): number {
  if (state === 'ok') return exit.ok;
  return state === 'not serving' ? exit.network : exit.checkFailed;
}

const hashChars = 19;

function chainText({ chain }: PlaneStatus): string | null {
  if (chain === null) return null;
  const when = chain.signedAt === null ? '' : `, signed ${chain.signedAt}`;
  return `${counted(chain.size, 'leaf', 'leaves')}, root ${chain.root}${when}`;
}

function diskText({ disk }: PlaneStatus): string | null {
  if (disk === null) return null;
  const { freeBytes, databaseBytes, exportBytes, bytesPerDay, daysLeft } = disk;
  const exports = exportBytes === 0 ? '' : `, ${bytesText(exportBytes)} of exports`;
  const growth = bytesPerDay === null ? '' : `, ${bytesText(bytesPerDay)} more a day`;
  const left = daysLeft === null ? '' : `: ${daysLeft} days left`;
  return `${bytesText(databaseBytes)} of databases${exports}, ${bytesText(freeBytes)} free${growth}${left}`;
}

function contentText({ contentCapture }: PlaneStatus): string | null {
  if (contentCapture === null) return null;
  const { value, from } = contentCapture;
  return `${value} of received telemetry (${from === 'service' ? 'the service' : from})`;
}

function serviceText({ telemetry }: PlaneStatus): string | null {
  if (telemetry === null) return null;
  const { enrolled, mode, service, lastContactAt, failingSince } = telemetry;
  if (!enrolled) return 'none: nothing leaves this machine';
  const contact =
    failingSince === null ? `reached ${lastContactAt ?? 'never yet'}` : `not reached since ${failingSince}`;
  return `${service ?? ''}, reports ${mode}, ${contact}`;
}

function spoolText({ telemetry }: PlaneStatus): string | null {
  if (telemetry === null || !telemetry.enrolled) return null;
  const { reportsWaiting, oldestWaitingAt } = telemetry;
  return `${reportsWaiting} reports waiting${oldestWaitingAt === null ? '' : `, the oldest of ${oldestWaitingAt}`}`;
}

function told(status: PlaneStatus, { bold, green, red, yellow }: Styles): Safe[] {
  const { state, reasons } = status;
  const paint = state === 'ok' ? green : state === 'degraded' ? yellow : red;
  const rows: readonly (readonly [string, string | null])[] = [
    ['address', status.baseUrl],
    ['data', status.dataDir],
    ['version', status.version],
    ['process', status.pid === null ? null : `${status.pid}, since ${status.startedAt ?? 'unknown'}`],
    ['config', status.configHash?.slice(0, hashChars) ?? null],
    ['log', chainText(status)],
    ['scrub', scrubText(status.integrity)],
    ['fsck', fsckText(status.integrity)],
    ['backup', backupText(status.integrity)],
    ['drills', status.drills],
    ['disk', diskText(status)],
    ['content', contentText(status)],
    ['queue', status.queueDepth === null ? null : `${status.queueDepth} writes waiting`],
    ['service', serviceText(status)],
    ['spool', spoolText(status)],
  ];
  const known = rows.filter((row): row is readonly [string, string] => row[1] !== null);
  return [
    safe`${paint(bold(state))}`,
    ...reasons.map((each) => safe`  ${paint('!')} ${each}`),
    ...known.map(([name, value]) => safe`  ${name.padEnd(9)} ${value}`),
  ];
}
