/** An enrolment token as `gov planes create` and `gov planes token` show it: once, or in a file, with what comes next. */
import { resolve } from 'node:path';
import type { Client } from '../../../client/create.ts';
import { GovError } from '../../../contract/problems.ts';
import { CliError, exit, exitOf } from '../../program/exit.ts';
import type { Io } from '../../terminal/io.ts';
import type { Out } from '../../terminal/out.ts';
import { safe } from '../../terminal/safe.ts';
import { refuseIdAlone, reserveSecretFile } from '../../context/secret-file.ts';
import type { Session } from '../../context/session.ts';
import { plainView } from '../../terminal/view.ts';

interface Call {
  readonly flags: { readonly out: string | undefined; readonly force: boolean };
  readonly io: Io;
  readonly out: Out;
  readonly session: Session;
}

/** What both operations answer. */
type Issued = Awaited<ReturnType<Client['createDataPlane']>>['body'];

/**
 * Asks for a token once there is a place for it, and shows it. Exit 1 where it was issued and is lost; `undo`: what is to
 * be run then.
 */
export async function showToken(
  { flags, io, out, session }: Call,
  ask: (client: Client) => Promise<{ readonly body: Issued }>,
  undo: (dataPlaneId: string) => string,
): Promise<void> {
  refuseIdAlone(out, flags.out);
  const path = flags.out === undefined ? undefined : resolve(io.cwd, flags.out);
  const file = path === undefined ? null : reserveSecretFile(path, flags);
  const client = await session.client();
  const { body } = await ask(client).catch((cause: unknown) => {
    file?.cancel();
    throw cause;
  });
  const { dataPlane, enrolmentToken, expiresAt } = body;
  const { dataPlaneId } = dataPlane;
  try {
    file?.write(`${enrolmentToken}\n`);
  } catch (cause) {
    const message = `the token of data plane ${dataPlaneId} was issued, and is lost: ${String(cause)}`;
    throw new CliError(exit.error, message, { code: 'WRITE_FAILED', next: [undo(dataPlaneId)], cause });
  }
  const token = path === undefined ? { enrolmentToken } : { tokenFile: path };
  const service = session.baseUrl().value;
  const word = path === undefined ? `--token ${enrolmentToken}` : `--token-file ${flags.out}`;
  const again = dataPlane.status === 'pending' ? '' : ' --force';
  const next = `gov plane enroll --service ${service} ${word}${again}`;
  if (out.isJson || out.format === 'yaml') {
    await out.one({ dataPlane, ...token, expiresAt, next }, plainView([]));
    return;
  }
  const shown = { dataPlaneId, name: dataPlane.name, ...token, expiresAt };
  await out.one(shown, plainView(Object.keys(shown), 'dataPlaneId'));
  await out.note(safe`the token is shown this once; run on the data plane: ${next}`);
  await out.note(
    safe`where it has no way here: gov plane enroll --request request.json --token-file FILE${again}`,
  );
}

/** Rethrows: what the service says against a token or the credentials of a plane is not answered by signing in. */
export const hintedBy =
  (hint: string) =>
  (cause: unknown): never => {
    if (!(cause instanceof GovError)) throw cause;
    const { code, message, status } = cause;
    if (code !== 'INVALID_CREDENTIAL' && code !== 'UNAUTHENTICATED') throw cause;
    throw new CliError(exitOf(code, status), message, { code, hint, cause });
  };
