/**
 * `gov plane enroll`: exchanges a one-time token for credentials.
 * Tested by `test/cli/commands/plane/telemetry.test.ts`.
 */
import { resolve } from 'node:path';
import type { Invocation, Run } from '../../context/command.ts';
import { readSecret } from '../../context/config.ts';
import { refuseMixed, takeAnswer, writeRequest } from '../../enrolment/by-file.ts';
import { hintedBy } from '../../enrolment/token.ts';
import { usage } from '../../program/exit.ts';
import { readInput } from '../../terminal/input.ts';
import { isPrivate } from '../../context/place.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeEnroll as spec } from '../../specs/operate/plane-telemetry.ts';
import { plainView } from '../../terminal/view.ts';

/** The printed parts of an enrolment. The plane's code is loaded only when needed. */
interface EnrolmentSummary {
  readonly dataPlaneId: string;
  readonly projectId: string;
  readonly environment: string;
  readonly service: string | null;
  readonly current: { readonly key: string };
  readonly previous: unknown;
}

/** The data directory, and how to reach the service. */
interface EnrolmentTarget {
  readonly dataDir: string;
  readonly service: string;
  readonly caFile: string | undefined;
  readonly certificateFile: string | undefined;
  readonly certificateKeyFile: string | undefined;
}

/** Clock difference that the command reports. The service refuses messages from five minutes on. */
const reportedSkewSeconds = 30;

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, out, session, settings, io } = invocation;
  refuseMixed(invocation);
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { service, request, answer } = flags;
  if (request !== undefined)
    return writeRequest(invocation, { dataDir, file: request, token: await tokenOf(invocation) });
  const at = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : resolve(io.cwd, file);
  const reached = {
    caFile: at(settings.cacert ?? (io.env['SSL_CERT_FILE'] || undefined)),
    certificateFile: at(flags.clientCert),
    certificateKeyFile: at(flags.clientKey),
  };
  if (answer !== undefined) {
    const { enrolment, mode, held } = await takeAnswer(invocation, { dataDir, file: answer, ...reached });
    await show(invocation, enrolment, { mode });
    if (held !== null) await out.warn(safe`${held}`);
    return out.note(safe`send its reports by file: gov plane usage export -O usage.ndjson`);
  }
  if (service === undefined) throw new Error('expected --service: refuseMixed has checked the flags');
  const { enrolment, ...enrolled } = await exchangeToken(invocation, { dataDir, service, ...reached });
  await show(invocation, enrolment, enrolled);
  const apart = enrolled.clockAheadSeconds;
  if (Math.abs(apart) >= reportedSkewSeconds) {
    const way = apart < 0 ? 'behind' : 'ahead of';
    await out.warn(safe`this clock is ${Math.abs(apart)} s ${way} the service’s; set it`);
  }
  return out.note(safe`see its messages: gov plane telemetry show --pending`);
};

async function exchangeToken(invocation: Invocation<typeof spec>, reached: EnrolmentTarget) {
  const { flags, out, io } = invocation;
  const { service } = reached;
  if (URL.canParse(service) && !isPrivate(new URL(service)))
    await out.warn(safe`the credentials come unencrypted from ${new URL(service).host}; use https://`);
  const token = await tokenOf(invocation);
  const { mode, force } = flags;
  const { enrolPlane } = await import('../../../../plane/enrolment/exchange.ts');
  return enrolPlane({ ...reached, token, mode, force, env: io.env, now: io.now }).catch(hintedBy(another));
}

async function show(
  { out }: Invocation<typeof spec>,
  enrolment: EnrolmentSummary,
  enrolled: { readonly mode: string },
): Promise<void> {
  const { current, previous: _previous, ...shown } = enrolment;
  const result = { ...shown, ...enrolled, keyLast4: current.key.slice(-4) };
  if (!out.isHuman) return out.one(result, plainView(Object.keys(result)));
  await out.lines([
    safe`${out.styles.green('✓')} enrolled as ${out.styles.bold(enrolment.dataPlaneId)}`,
    safe`  service  ${enrolment.service ?? 'reached by file'}`,
    safe`  project  ${enrolment.projectId} (${enrolment.environment})`,
    safe`  mode     ${enrolled.mode}`,
  ]);
}

const another =
  'a token works once, for a limited time: ask the operator of the service for another one, with ' +
  'gov planes create, or gov planes token ID for a data plane that it knows';

async function tokenOf(call: Invocation<typeof spec>): Promise<string> {
  const { flags, io } = call;
  const { token = io.env['GOV_ENROLMENT_TOKEN'], tokenFile } = flags;
  const found = tokenFile === undefined ? (token ?? '') : await tokenIn(tokenFile, call);
  if (/^gov_enr_[0-9A-Za-z]{38}$/.test(found)) return found;
  throw usage(
    'expected an enrolment token, gov_enr_…, got none',
    'give --token, --token-file or GOV_ENROLMENT_TOKEN',
  );
}

async function tokenIn(file: string, place: Invocation<typeof spec>): Promise<string> {
  if (file !== '-') return readSecret(resolve(place.io.cwd, file));
  return Buffer.from((await readInput(file, place)).bytes)
    .toString()
    .trim();
}
