/** `gov plane enroll`: a one-time token for credentials. `test/cli/planetelemetry.test.ts` proves it. */
import { resolve } from 'node:path';
import type { Invocation, Run } from '../command.ts';
import { usage } from '../exit.ts';
import { readInput } from '../input.ts';
import { isPrivate } from '../place.ts';
import { safe } from '../safe.ts';
import type { planeEnroll as spec } from '../specs/telemetry.ts';
import { plainView } from '../view.ts';

/** How far clocks may be apart before it is said; messages are refused from five minutes on. */
const tellSeconds = 30;

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, out, session, settings, io } = invocation;
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { service, mode, force, clientCert, clientKey } = flags;
  if (URL.canParse(service) && !isPrivate(new URL(service)))
    await out.warn(safe`the credentials come unencrypted from ${new URL(service).host}; use https://`);
  const token = await tokenOf(invocation);
  const { enrolPlane } = await import('../../../plane/enrol.ts');
  const at = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : resolve(io.cwd, file);
  const { enrolment, ...enrolled } = await enrolPlane({
    dataDir,
    service,
    token,
    mode,
    force,
    caFile: at(settings.cacert ?? (io.env['SSL_CERT_FILE'] || undefined)),
    certificateFile: at(clientCert),
    certificateKeyFile: at(clientKey),
    env: io.env,
    now: io.now,
  });
  const { current, previous: _previous, ...shown } = enrolment;
  const result = { ...shown, ...enrolled, keyLast4: current.key.slice(-4) };
  if (out.isHuman) {
    await out.lines([
      safe`${out.styles.green('✓')} enrolled as ${out.styles.bold(enrolment.dataPlaneId)}`,
      safe`  service  ${enrolment.service}`,
      safe`  project  ${enrolment.projectId} (${enrolment.environment})`,
      safe`  mode     ${enrolled.mode}`,
    ]);
  } else await out.one(result, plainView(Object.keys(result)));
  const apart = enrolled.clockAheadSeconds;
  if (Math.abs(apart) >= tellSeconds) {
    const way = apart < 0 ? 'behind' : 'ahead of';
    await out.warn(safe`this clock is ${Math.abs(apart)} s ${way} the service’s; set it`);
  }
  return out.note(safe`what it sends: gov plane telemetry show --pending`);
};

async function tokenOf({ flags, io, signal }: Invocation<typeof spec>): Promise<string> {
  const { token = io.env['GOV_ENROLMENT_TOKEN'], tokenFile } = flags;
  const text = tokenFile === undefined ? (token ?? '') : (await readInput(tokenFile, { io, signal })).bytes;
  const found = Buffer.from(text).toString().trim();
  if (/^gov_enr_[0-9A-Za-z]{38}$/.test(found)) return found;
  throw usage('expected an enrolment token, gov_enr_…', 'give --token, --token-file or GOV_ENROLMENT_TOKEN');
}
