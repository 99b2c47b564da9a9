/** `gov service serve`: runs until a signal or a storage fault (exit 74, EX_IOERR). Logs go to standard error. */
import type { Run } from '../../program/command.ts';
import { usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { serviceServe as spec } from './spec.ts';

export const run: Run<typeof spec> = async ({ flags, out, io }) => {
  const { data: dataDir, devIssuer, devIssuerListen, ...options } = flags;
  if (devIssuerListen !== undefined && !devIssuer) {
    throw usage(
      'expected --dev-issuer beside --dev-issuer-listen',
      'it lets anybody sign in, so it is asked for by name',
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
