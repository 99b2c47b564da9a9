/**
 * The checks of `gov doctor` on the clients of agents, as `gov agents doctor` finds them: one for each client on this
 * machine. Tested by `test/cli/doctor/run.test.ts`.
 */
import { inspect, type ClientReport } from '../agents/doctor.ts';
import { setups } from '../agents/setup/all.ts';
import type { Setup } from '../agents/setup/edit.ts';
import { etc } from '../agents/target.ts';
import type { Io } from '../terminal/io.ts';
import {
  attemptMs,
  examine,
  failed,
  ok,
  skipped,
  warning,
  type DoctorFinding,
  type CheckResult,
} from './finding.ts';

export async function lookAtAgents({ env, cwd }: Io): Promise<DoctorFinding[]> {
  const found = await Promise.all(setups.map((setup) => lookAt(setup, { env, cwd })));
  const here = found.flatMap((each) => each ?? []);
  return here.length > 0 ? here : [{ name: 'agents', ...skipped('no client of agents on PATH') }];
}

/** Null for a client that is neither on PATH nor set up. */
async function lookAt(setup: Setup, { env, cwd }: Pick<Io, 'env' | 'cwd'>): Promise<DoctorFinding | null> {
  let isHere = true;
  // a program and then the plane: both within the time of one check
  const around = { env, cwd, etc, timeoutMs: attemptMs / 2 };
  const finding = await examine(setup.client, async () => {
    const report = await inspect(setup, around);
    isHere = report.found !== null || report.installed !== null;
    return judged(report);
  });
  return isHere ? finding : null;
}

function judged({ installed, version, failsClosed, reachable, problems }: ClientReport): CheckResult {
  const named = version === null ? '' : `${version}, `;
  if (installed === null) return warning(`${named}not governed: no hooks of gov`, 'gov agents install');
  const detail = `${named}governed (${installed})`;
  if (problems.length === 0) return ok(detail);
  const what = `${detail}; ${problems.join('; ')}`;
  return failsClosed && reachable ? warning(what, 'gov agents doctor') : failed(what, 'gov agents doctor');
}
