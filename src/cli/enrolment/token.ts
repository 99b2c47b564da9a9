/** Shows an enrolment token once, or writes it to a file. Tested by `test/cli/commands/planes/create.test.ts`. */
import { resolve } from 'node:path';
import type { Client } from '../../client/create.ts';
import { GovError } from '../../contract/problems.ts';
import { shellWord } from '../../core/shell-word.ts';
import { CliError, exit, exitOf } from '../program/exit.ts';
import type { Io } from '../terminal/io.ts';
import type { Out } from '../terminal/out.ts';
import { safe } from '../terminal/safe.ts';
import { refuseOpenPlace, reserveSecretFile, type SecretPlace } from '../context/secret-file.ts';
import type { Session } from '../context/session.ts';
import { plainView } from '../terminal/view.ts';

interface Call {
  readonly flags: SecretPlace;
  readonly io: Io;
  readonly out: Out;
  readonly session: Session;
}

/** The response of both operations. */
type IssuedToken = Awaited<ReturnType<Client['createDataPlane']>>['body'];

/**
 * Reserves a place for the token, asks for it and shows it. `undo`: the command to run after exit 1, when the service has
 * issued the token and gov could not write it.
 */
export async function showToken(
  { flags, io, out, session }: Call,
  ask: (client: Client) => Promise<{ readonly body: IssuedToken }>,
  undo: (dataPlaneId: string) => string,
): Promise<void> {
  refuseOpenPlace(out, flags);
  const { out: name } = flags;
  const path = name === undefined ? undefined : resolve(io.cwd, name);
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
    const message = `the token of data plane ${dataPlaneId} was issued and is lost: ${String(cause)}`;
    throw new CliError(exit.error, message, { code: 'WRITE_FAILED', next: [undo(dataPlaneId)], cause });
  }
  const token = path === undefined ? { enrolmentToken } : { tokenFile: path };
  const service = session.baseUrl().value;
  const word =
    name === undefined ? `--token ${shellWord(enrolmentToken)}` : `--token-file ${shellWord(name)}`;
  const again = dataPlane.status === 'pending' ? '' : ' --force';
  const next = `gov plane enroll --service ${shellWord(service)} ${word}${again}`;
  if (out.isJson || out.format === 'yaml') {
    await out.one({ dataPlane, ...token, expiresAt, next }, plainView([]));
    return;
  }
  const shown = { dataPlaneId, name: dataPlane.name, ...token, expiresAt };
  await out.one(shown, plainView(Object.keys(shown), 'dataPlaneId'));
  await out.note(safe`gov shows the token only this once; run on the data plane: ${next}`);
  await out.note(
    safe`if it cannot reach the service: gov plane enroll --request request.json --token-file FILE${again}`,
  );
}

/** Rethrows with `hint`: signing in does not help if the service rejects a token or a plane's credentials. */
export const hintedBy =
  (hint: string) =>
  (cause: unknown): never => {
    if (!(cause instanceof GovError)) throw cause;
    const { code, message, status } = cause;
    if (code !== 'INVALID_CREDENTIAL' && code !== 'UNAUTHENTICATED') throw cause;
    throw new CliError(exitOf(code, status), message, { code, hint, cause });
  };
