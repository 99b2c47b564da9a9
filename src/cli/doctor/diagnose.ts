/**
 * Runs the checks of `gov doctor`, all at the same time: the slowest one decides how long a person waits.
 * Tested by `test/cli/doctor/run.test.ts`.
 */
import { Session } from '../context/session.ts';
import type { SessionOptions } from '../context/session.ts';
import type { Settings } from '../context/settings.ts';
import type { Integrity } from '../../contract/operations.ts';
import type { Invocation } from '../context/command.ts';
import { lookAtAgents } from './agents.ts';
import { attemptMs, examine, patienceMs, type DoctorFinding } from './finding.ts';
import {
  keychainFaultIn,
  lookAtCompletion,
  lookAtConfiguration,
  lookAtDisk,
  lookAtKeychain,
  lookAtNode,
  lookAtTelemetry,
  lookAtVersion,
} from './machine.ts';
import { lookAtPlane } from './plane.ts';
import { ServerChecks, type Health } from './server.ts';

export interface Diagnosis {
  readonly checks: readonly DoctorFinding[];
  /** What the server says of itself; null where it could not be asked. */
  readonly health: Health | null;
  readonly integrity: Integrity | null;
}

type Call = Pick<Invocation, 'io' | 'signal' | 'settings'>;

/** Never rejects. Cost: at most `patienceMs`. */
export async function diagnose(call: Call): Promise<Diagnosis> {
  const { io } = call;
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(patienceMs)]);
  const session = new Session(sessionOptions(call, signal));
  const keychainFault = keychainFaultIn(io.env);
  const server = new ServerChecks({ session, io, signal, keychainFault });
  try {
    const checks = await Promise.all([
      examine('node', lookAtNode),
      examine('version', () => lookAtVersion(io)),
      examine('configuration', () => lookAtConfiguration(io)),
      examine('context', () => server.lookAtContext()),
      examine('server', () => server.lookAtServer()),
      examine('server version', () => server.lookAtVersion()),
      examine('clock', () => server.lookAtClock()),
      examine('key', () => server.lookAtKey()),
      examine('trust', () => server.lookAtTrust()),
      examine('health', () => server.lookAtHealth()),
      examine('integrity', () => server.lookAtIntegrity()),
      examine('data plane', () => lookAtPlane(session, io)),
      examine('telemetry', () => lookAtTelemetry(io, session.hasTarget() ? session.baseUrl().value : null)),
      examine('disk', () => lookAtDisk(io)),
      examine('keychain', () => lookAtKeychain(io, keychainFault)),
      examine('completion', () => lookAtCompletion(io)),
      lookAtAgents(io),
    ]);
    return { checks: checks.flat(), ...(await server.answers()) };
  } finally {
    session.close();
  }
}

/** The session of a check: one attempt, whatever --timeout and --retries say. */
function sessionOptions({ io, settings }: Call, signal: AbortSignal): SessionOptions {
  // a view, not a copy: copying would open standard input and read the project's file
  const bounded: Settings = Object.create(settings, {
    timeoutMs: { value: attemptMs },
    retries: { value: 0 },
  });
  return { settings: bounded, io, signal, observe: () => {}, warn: () => {} };
}
