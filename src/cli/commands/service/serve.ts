/**
 * `gov service serve`: runs until a signal or a disk error (exit 74, EX_IOERR). Logs go to standard error.
 * Tested by `test/cli/commands/service/serve.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { serviceServe as spec } from '../../specs/operate/service.ts';

export const run: Run<typeof spec> = async ({ flags, out, io }) => {
  const { data: dataDir, devIssuer, devIssuerListen, ...options } = flags;
  if (devIssuerListen !== undefined && !devIssuer) {
    throw usage(
      '--dev-issuer-listen: expected together with --dev-issuer',
      'it lets anybody sign in, so it needs a flag of its own',
    );
  }
  const { serviceServe } = await import('../../../host/service/serve.ts');
  const service = await serviceServe({
    ...options,
    dataDir,
    env: io.env,
    devIssuer: devIssuerListen ?? devIssuer,
  });
  if (io.stderr.isTTY === true)
    await out.note(safe`serving ${dataDir} at ${service.baseUrl}; Ctrl-C stops it`);
  return service.untilStopped();
};
