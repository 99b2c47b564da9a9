/**
 * `gov planes enroll ID FILE`: answers an enrolment request by file.
 * Tested by `test/cli/commands/plane/enroll-by-file.test.ts`.
 */
import type { EnrolmentRequest } from '../../../contract/telemetry.ts';
import { canonicalize } from '../../../core/json/parse.ts';
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { isStdout, openOutput } from '../../terminal/output-file.ts';
import { objectOf, readInput } from '../../terminal/input.ts';
import { safe } from '../../terminal/safe.ts';
import type { planesEnroll as spec } from '../../specs/account/planes.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, session, settings } = call;
  const { dataPlaneId } = args;
  const text = await readInput(args.file, call);
  const { file } = text;
  const target = flags.out ?? '-';
  const request = {
    params: { dataPlaneId },
    // the service checks its content
    body: objectOf(text) as unknown as EnrolmentRequest,
    idempotencyKey: settings.idempotencyKey,
  };
  // opened first: the request ends the plane's earlier credentials
  const output = await openOutput(target, call);
  try {
    const client = await session.client();
    const { body } = await client.enrollDataPlaneByFile(request);
    // the schema makes it JSON; it is encrypted, so its carrier may read the file
    await output.write(Buffer.from(`${canonicalize(body)}\n`)).catch(lost(dataPlaneId, file));
  } finally {
    output.close();
  }
  if (isStdout(target, call)) return;
  await out.note(safe`wrote ${target}; only data plane ${dataPlaneId} can open it`);
  return out.note(safe`on the plane: gov plane enroll --answer ${shellWord(target)}`);
};

const lost =
  (dataPlaneId: string, file: string) =>
  (cause: unknown): never => {
    if (!(cause instanceof CliError)) throw cause;
    const message = `the service answered data plane ${dataPlaneId}, and the answer is lost: ${cause.message}`;
    const next = [`gov planes enroll ${shellWord(dataPlaneId)} ${shellWord(file)} -O FILE`];
    throw new CliError(exit.error, message, { code: cause.code, next, cause });
  };
