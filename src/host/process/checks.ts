/**
 * The checks of `gov service doctor` and `gov plane doctor`. Each check reports a result and the next step.
 * This file has the runner and the checks that both commands share. Proven by `test/host/service/doctor.test.ts`
 * and `test/plane/serve/doctor.test.ts`.
 */
import { accessSync, constants } from 'node:fs';
import type { ClientRequest } from 'node:http';
import { createServer } from 'node:net';
import { GovNetworkError } from '../../client/errors.ts';
import { GovError } from '../../contract/problems.ts';
import type { Address } from '../config/layers.ts';
import { bytesText } from '../../core/byte-size.ts';
import { artifactBytes } from '../exports/artifact-bytes.ts';
import type { MigrationStep } from '../../store/file/migrate.ts';
import { hasSpace } from './probe.ts';

interface Check {
  readonly name: string;
  /** `warn`: it serves, but not as it should. */
  readonly status: 'ok' | 'warn' | 'fail';
  /** The result. */
  readonly detail: string;
  /** The next step, where one is needed. */
  readonly advice: string | null;
}

export interface DoctorReport {
  /** Whether no check failed. */
  readonly ok: boolean;
  readonly checks: readonly Check[];
}

export type CheckResult = Omit<Check, 'name'>;

export const ok = (detail: string): CheckResult => ({ status: 'ok', detail, advice: null });
export const warn = (detail: string, advice: string): CheckResult => ({ status: 'warn', detail, advice });
export const fail = (detail: string, advice: string): CheckResult => ({ status: 'fail', detail, advice });

export type Examine = (name: string, look: () => Promise<CheckResult> | CheckResult) => Promise<void>;

/** Runs checks one after the other. A check that throws has failed. */
export function examiner(): { readonly examine: Examine; report(): DoctorReport } {
  const checks: Check[] = [];
  return {
    examine: async (name, look) => {
      checks.push({ name, ...(await Promise.resolve().then(look).catch(refusal)) });
    },
    report: () => ({ ok: checks.every(({ status }) => status !== 'fail'), checks }),
  };
}

/** The failed check for an error: a problem names its next step, and a system error names the refused call. */
function refusal(error: unknown): CheckResult {
  if (error instanceof Error && 'syscall' in error) {
    return fail(error.message, 'run as the owner of the data directory, or give it back to this user');
  }
  if (error instanceof GovNetworkError) {
    return fail(error.message, error.hint ?? 'check the network between the two');
  }
  if (!(error instanceof GovError)) throw error;
  const [detail = '', ...advice] = error.message.split('; ');
  return fail(detail, advice.join('; ') || 'fix the cause above');
}

/** What the next start migrates. A check that reads newer tables has to wait for it. */
export function lookAtMigrations(due: readonly MigrationStep[]): CheckResult {
  const steps = due.map(({ file, from, to }) => `${file} from version ${from} to ${to}`).join(' and ');
  return warn(
    `of an older release: the next start migrates ${steps}`,
    'make a backup first: docs/how-to/upgrade.md',
  );
}

/** Whether this user can write the directory, on a disk that SQLite can rely on. */
export async function lookAtFilesystem(dataDir: string): Promise<CheckResult> {
  const { judgeFilesystem } = await import('../../store/file/filesystem.ts');
  accessSync(dataDir, constants.R_OK | constants.W_OK);
  const warning = judgeFilesystem(dataDir);
  return warning === null
    ? ok('local and writable')
    : warn(warning, 'move it to a local disk, unless it is on one');
}

export const lookAtSpace = async (dataDir: string): Promise<CheckResult> =>
  (await hasSpace(dataDir))
    ? ok('more than 5 % and 512 MiB are free')
    : warn(
        `less than 5 % or 512 MiB are free${ofExports(dataDir)}`,
        'free space: readiness answers 503 until then',
      );

/** The space that exports use, or '' where there are none. */
export function ofExports(dataDir: string): string {
  const bytes = artifactBytes(dataDir);
  return bytes === 0 ? '' : `; exports take ${bytesText(bytes)}`;
}

/** `flag` chooses another address. Listens for a moment. Where the address is taken, checks whether gov serves there. */
export async function lookAtAddress(
  { host, port }: Address,
  isOurs: (place: string) => Promise<boolean> | boolean = servesAt,
  flag = '--listen',
): Promise<CheckResult> {
  if (port === 0) return ok('chosen by the system at each start');
  const place = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const code = await new Promise<string | null>((settle) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
    server.listen(port, host, () => server.close(() => settle(null)));
  });
  if (code === null) return ok(`${place} is free`);
  if (code === 'EADDRINUSE' && (await isOurs(place))) return ok(`gov serves at ${place}`);
  const why = code === 'EADDRINUSE' ? 'another program listens there' : code;
  return fail(`${place}: ${why}`, `give ${flag} HOST:PORT`);
}

/** Asks over HTTP, then over TLS with any certificate. The request contains nothing secret. */
async function servesAt(place: string): Promise<boolean> {
  const reachable = place.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:');
  const { request: plain } = await import('node:http');
  const { request: secure } = await import('node:https');
  const ask = (open: () => ClientRequest): Promise<boolean> =>
    new Promise((settle) => {
      const asking = open();
      asking.setTimeout(2000, () => asking.destroy());
      asking.once('error', () => settle(false));
      asking.once('response', (answer) => {
        answer.resume();
        settle(answer.headers['gov-api-version'] !== undefined);
      });
      asking.end();
    });
  const path = `${reachable}/api/v1/health/live`;
  const options = { rejectUnauthorized: false, agent: false };
  return (
    (await ask(() => plain(`http://${path}`, { agent: false }))) ||
    (await ask(() => secure(`https://${path}`, options)))
  );
}
