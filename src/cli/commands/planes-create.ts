/** `gov planes create NAME`: the token once, and the command that exchanges it on the plane. */
import { resolve } from 'node:path';
import type { Run } from '../command.ts';
import { CliError, exit } from '../exit.ts';
import { safe } from '../safe.ts';
import { reserveSecretFile } from '../secretfile.ts';
import type { planesCreate as spec } from '../specs/planes.ts';
import { plainView } from '../view.ts';

export const run: Run<typeof spec> = async ({ args, flags, io, out, session, settings }) => {
  const path = flags.out === undefined ? undefined : resolve(io.cwd, flags.out);
  const file = path === undefined ? null : reserveSecretFile(path, flags);
  const client = await session.client();
  const request = { body: { name: args.name }, idempotencyKey: settings.idempotencyKey };
  const { body } = await client.createDataPlane(request).catch((cause: unknown) => {
    file?.cancel();
    throw cause;
  });
  const { dataPlane, enrolmentToken, expiresAt } = body;
  const { dataPlaneId } = dataPlane;
  try {
    file?.write(`${enrolmentToken}\n`);
  } catch (cause) {
    throw new CliError(
      exit.error,
      `data plane ${dataPlaneId} was registered, its token is lost: ${String(cause)}`,
      {
        code: 'WRITE_FAILED',
        next: [`gov planes revoke ${dataPlaneId}`],
        cause,
      },
    );
  }
  const token = path === undefined ? { enrolmentToken } : { tokenFile: path };
  const service = session.baseUrl().value;
  const word = path === undefined ? `--token ${enrolmentToken}` : `--token-file ${flags.out}`;
  const next = `gov plane enroll --service ${service} ${word}`;
  if (out.isJson || out.format === 'yaml') {
    await out.one({ dataPlane, ...token, expiresAt, next }, plainView([]));
    return;
  }
  const shown = { dataPlaneId, name: dataPlane.name, ...token, expiresAt };
  await out.one(shown, plainView(Object.keys(shown), 'dataPlaneId'));
  await out.note(safe`the token is shown this once; run on the data plane: ${next}`);
};
