/** `gov planes enroll ID FILE`: what a data plane asked by file is answered by file. `test/cli/commands/plane/enroll-by-file.test.ts` proves it. */
import type { EnrolmentRequest } from '../../../contract/telemetry.ts';
import { canonicalize, parseJson } from '../../../core/json/parse.ts';
import type { Run } from '../../program/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { isStdout, openOutput } from '../../terminal/output-file.ts';
import { readInput } from '../../program/input.ts';
import { safe } from '../../terminal/safe.ts';
import type { planesEnroll as spec } from './spec.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, session, settings } = call;
  const { dataPlaneId } = args;
  const { file, bytes } = await readInput(args.file, call);
  const target = flags.out ?? '-';
  const request = {
    params: { dataPlaneId },
    // what is in it is the service's to judge
    body: requestIn(file, bytes),
    idempotencyKey: settings.idempotencyKey,
  };
  // before the service ends what the plane had
  const output = await openOutput(target, call);
  try {
    const client = await session.client();
    const { body } = await client.enrollDataPlaneByFile(request);
    // JSON by its type; it is sealed, so whoever carries it may read it
    await output.write(Buffer.from(`${canonicalize(body)}\n`)).catch(lost(dataPlaneId, file));
  } finally {
    output.close();
  }
  if (isStdout(target, call)) return;
  await out.note(safe`wrote ${target} for data plane ${dataPlaneId}, which alone can open it`);
  return out.note(safe`on the plane: gov plane enroll --answer ${target}`);
};

const lost =
  (dataPlaneId: string, file: string) =>
  (cause: unknown): never => {
    if (!(cause instanceof CliError)) throw cause;
    const message = `the service has answered data plane ${dataPlaneId}, and the answer is lost: ${cause.message}`;
    const next = [`gov planes enroll ${dataPlaneId} ${file} -O FILE`];
    throw new CliError(exit.error, message, { code: cause.code, next, cause });
  };

function requestIn(file: string, bytes: Uint8Array): EnrolmentRequest {
  try {
    return parseJson(bytes) as unknown as EnrolmentRequest;
  } catch (cause) {
    throw usage(`${file}: expected an enrolment request in JSON: ${String((cause as Error).message)}`);
  }
}
