/**
 * `gov plane enroll --request` and `--answer`: an enrolment that is carried by hand. No secret is printed, and none stands
 * in the files. `test/cli/commands/plane/enroll-by-file.test.ts` proves it.
 */
import { canonicalize } from '../../../core/json/parse.ts';
import type { Invocation } from '../../program/command.ts';
import { usage } from '../../program/exit.ts';
import { isStdout, openOutput, refuseSame } from '../../terminal/output-file.ts';
import { readInput } from '../../program/input.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeEnroll as spec } from './telemetry-spec.ts';

type Call = Invocation<typeof spec>;

/** Exit 2 where the flags do not say one way to enrol. */
export function refuseMixed({ flags, io }: Pick<Call, 'flags' | 'io'>): void {
  const { service, request, answer, token, tokenFile } = flags;
  const hint = 'give --service, or --request FILE and later --answer FILE where there is no way to it';
  if (request !== undefined && (answer !== undefined || service !== undefined))
    throw usage('expected --request without --service and --answer', hint);
  if (answer !== undefined && (token !== undefined || tokenFile !== undefined))
    throw usage('expected --answer without a token, which the request had', hint);
  if (service === undefined && request === undefined && answer === undefined)
    throw usage('expected the address of a service', hint);
  if (request !== undefined && tokenFile !== undefined)
    refuseSame(['--request', request], [tokenFile], { io });
}

/** Writes the request. `token`: read where it is asked for. */
export async function writeRequest(
  call: Call,
  { dataDir, file, token }: { readonly dataDir: string; readonly file: string; readonly token: string },
): Promise<void> {
  const { flags, out } = call;
  const { askByFile } = await import('../../../../plane/enrolment/by-file.ts');
  // before a request that is on its way is replaced by this one
  const output = await openOutput(file, call);
  try {
    const request = askByFile({ dataDir, token, force: flags.force });
    await output.write(Buffer.from(`${canonicalize(request)}\n`));
  } finally {
    output.close();
  }
  if (isStdout(file, call)) return;
  await out.note(safe`wrote ${file}; at the service: gov planes enroll ID ${file} -O answer.json`);
}

/** What is kept of an answer. `reached`: how the service would be, as online. */
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
  const { takeEnrolmentAnswer } = await import('../../../../plane/enrolment/by-file.ts');
  const { service = null, mode, force } = flags;
  return takeEnrolmentAnswer({ dataDir, answer: bytes, service, mode, force, now: io.now, ...reached });
}
