/**
 * `gov plane enroll --request` and `--answer`: enrolment by files that a person carries. Neither the output nor the files
 * contain a secret in the clear. Tested by `test/cli/commands/plane/enroll-by-file.test.ts`.
 */
import { canonicalize } from '../../core/json/parse.ts';
import { shellWord } from '../../core/shell-word.ts';
import type { Invocation } from '../context/command.ts';
import { usage } from '../program/exit.ts';
import { isStdout, openOutput, refuseSame } from '../terminal/output-file.ts';
import { readInput } from '../terminal/input.ts';
import { safe } from '../terminal/safe.ts';
import type { planeEnroll as spec } from '../specs/operate/plane-telemetry.ts';

type Call = Invocation<typeof spec>;

/** Errors: exit 2 if the flags do not name exactly one way to enrol. */
export function refuseMixed({ flags, io }: Pick<Call, 'flags' | 'io'>): void {
  const { service, request, answer, token, tokenFile } = flags;
  const hint =
    'give --service; or --request FILE and later --answer FILE if the plane cannot reach the service';
  if (request !== undefined && (answer !== undefined || service !== undefined))
    throw usage('expected --request without --service and --answer, got both', hint);
  if (answer !== undefined && (token !== undefined || tokenFile !== undefined))
    throw usage('expected --answer without a token: the request had it', hint);
  if (service === undefined && request === undefined && answer === undefined)
    throw usage('expected the address of a service, got none', hint);
  if (request !== undefined && tokenFile !== undefined)
    refuseSame(['--request', request], [tokenFile], { io });
}

/** Writes the request with the enrolment token `token`. */
export async function writeRequest(
  call: Call,
  { dataDir, file, token }: { readonly dataDir: string; readonly file: string; readonly token: string },
): Promise<void> {
  const { flags, out } = call;
  const { askByFile } = await import('../../../plane/enrolment/by-file.ts');
  // opened first: if this fails, a request already on its way stays valid
  const output = await openOutput(file, call);
  try {
    const request = askByFile({ dataDir, token, force: flags.force });
    await output.write(Buffer.from(`${canonicalize(request)}\n`));
  } finally {
    output.close();
  }
  if (isStdout(file, call)) return;
  await out.note(
    safe`wrote ${shellWord(file)}; at the service: gov planes enroll ID ${shellWord(file)} -O answer.json`,
  );
}

/** Stores the answer. The other options say how to reach the service, as for online enrolment. */
export async function takeAnswer(
  { flags, io, signal }: Call,
  {
    dataDir,
    file,
    ...reached
  }: {
    readonly dataDir: string;
    readonly file: string;
    readonly caFile: string | undefined;
    readonly certificateFile: string | undefined;
    readonly certificateKeyFile: string | undefined;
  },
) {
  const { bytes } = await readInput(file, { io, signal });
  const { takeEnrolmentAnswer } = await import('../../../plane/enrolment/by-file.ts');
  const { service = null, mode, force } = flags;
  return takeEnrolmentAnswer({ dataDir, answer: bytes, service, mode, force, now: io.now, ...reached });
}
