/**
 * `gov proofs create`: creates a proof at once, in a job, or in a job that it waits for.
 * Tested by `test/cli/commands/proofs/verify.test.ts`.
 */
import { completenessHeader, type ComplianceProof, type ProofRequest } from '../../../contract/proofs.ts';
import { shellWord } from '../../../core/shell-word.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { CliError, exit, failureOf, usage, type ExitCode } from '../../program/exit.ts';
import { isStdout, refuseExisting } from '../../terminal/output-file.ts';
import { safe } from '../../terminal/safe.ts';
import { openBundle } from '../../../client/open.ts';
import { noteUnchecked, openPlace, printProof, saveBundle, type NamedOutput } from './get.ts';
import type { proofsCreate as spec } from '../../specs/prove/proofs.ts';
import { plainView } from '../../terminal/view.ts';
import { defaultWaitMs, unfinished, waitForJob } from '../../progress/waiting.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { flags } = invocation;
  if (flags.async && flags.wait) throw usage('expected --async or --wait, got both');
  if (flags.async && flags.failOn !== undefined) {
    throw usage('--fail-on: expected a proof to judge, got --async', 'use --wait');
  }
  if (flags.out !== undefined) {
    if (flags.async) throw usage('--out: expected a proof to write, got --async', 'use --wait');
    if (isStdout(flags.out, invocation)) throw usage('--out: expected a file, got standard output');
    refuseExisting(flags.out, flags, invocation);
  }
  const place = flags.out === undefined ? null : await openPlace(flags.out, invocation);
  try {
    return await create(invocation, place);
  } finally {
    place?.close();
  }
};

async function create(invocation: Invocation<typeof spec>, place: NamedOutput | null): Promise<number> {
  const { flags, out, session, settings } = invocation;
  const client = await session.client();
  const body: ProofRequest = {
    runId: flags.run,
    ...(flags.schemaVersion === undefined ? {} : { schemaVersion: flags.schemaVersion }),
    ...(flags.layers.length === 0 ? {} : { composed: { layers: [...flags.layers] } }),
    ...(flags.async || flags.wait ? { async: true } : {}),
  };
  const answer = await client.createProof({ body, idempotencyKey: settings.idempotencyKey });
  if (answer.status === 201) {
    const isUnchecked = answer.headers[completenessHeader] === 'not_checked';
    return show(invocation, answer.body, { place, isUnchecked });
  }
  if (flags.wait) return awaited(invocation, answer.body.jobId, place);
  await out.one(answer.body, plainView(['jobId']));
  if (out.isHuman) await out.note(safe`wait for it: gov jobs wait ${shellWord(answer.body.jobId)}`);
  return exit.ok;
}

async function awaited(
  invocation: Invocation<typeof spec>,
  jobId: string,
  place: NamedOutput | null,
): Promise<number> {
  const { session, settings } = invocation;
  const client = await session.client();
  const deadline = performance.now() + (settings.timeoutMs ?? defaultWaitMs);
  const job = await waitForJob(client, { jobId, deadline }, invocation);
  // the result of a job that makes a proof
  if (job.status === 'completed') {
    return show(invocation, job.result as unknown as ComplianceProof, { place, isUnchecked: false });
  }
  throw unfinished(job);
}

function exitOf({ layers }: ComplianceProof, failOn: 'policy' | 'any' | undefined): ExitCode {
  const failed = layers.filter(({ verified }) => !verified).map(({ name }) => name);
  if (failOn === undefined || failed.length === 0) return exit.ok;
  const broken = failed.includes('policy_compliance');
  if (failOn === 'policy') return broken ? exit.notCompliant : exit.ok;
  return broken && failed.length === 1 ? exit.notCompliant : exit.checkFailed;
}

/** Prints the proof, and writes its bundle where --out says. Returns the exit code. */
async function show(
  call: Invocation<typeof spec>,
  proof: ComplianceProof,
  { place, isUnchecked }: { readonly place: NamedOutput | null; readonly isUnchecked: boolean },
): Promise<number> {
  const { flags, out } = call;
  out.verdict = exitOf(proof, flags.failOn);
  await printProof(proof, out);
  if (place !== null) await save(call, proof.proofId, place);
  else if (isUnchecked) await noteUnchecked(out, proof.proofId);
  else if (out.isHuman) {
    // a layer can hold because nothing was governed, which only a verification shows
    await out.note(safe`see the basis of each layer: gov proofs verify ${shellWord(proof.proofId)}`);
  }
  return out.verdict;
}

/** Errors name the command that fetches the bundle: the proof exists, and its unit was counted. */
async function save(call: Invocation<typeof spec>, proofId: string, place: NamedOutput): Promise<void> {
  try {
    const client = await call.session.client();
    const lacksIndex = await saveBundle(place, () => openBundle(client, { params: { proofId } }), call);
    if (lacksIndex) await noteUnchecked(call.out, proofId);
  } catch (failure) {
    if (call.signal.aborted || !(failure instanceof Error)) throw failure;
    const { exit: code, code: name, hint } = failureOf(failure);
    throw new CliError(
      code,
      `the proof ${proofId} was created, but its bundle was not saved: ${failure.message}`,
      {
        code: name,
        cause: failure,
        ...(hint === undefined ? {} : { hint }),
        next: [`gov proofs get ${shellWord(proofId)} --bundle --out FILE`],
      },
    );
  }
}
