/**
 * `gov proofs create`: creates a proof at once, in a job, or in a job that it waits for.
 * Tested by `test/cli/commands/proofs/verify.test.ts`.
 */
import { completenessHeader, type ComplianceProof, type ProofRequest } from '../../../contract/proofs.ts';
import type { Invocation, Run } from '../../program/command.ts';
import { CliError, exit, usage, type ExitCode } from '../../program/exit.ts';
import { isStdout, refuseExisting } from '../../terminal/output-file.ts';
import { safe } from '../../terminal/safe.ts';
import { lacksIndex, noteUnchecked, printProof, saveBundle } from './get.ts';
import type { proofsCreate as spec } from './spec.ts';
import { plainView } from '../../terminal/view.ts';
import { defaultWaitMs, failureOf, waitForJob } from '../../terminal/waiting.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, out, session, settings } = invocation;
  if (flags.async && flags.wait) throw usage('expected --async or --wait, got both');
  if (flags.async && flags.failOn !== undefined) {
    throw usage('--fail-on: expected a proof to judge, got --async', 'use --wait');
  }
  if (flags.out !== undefined) {
    if (flags.async) throw usage('--out: expected a proof to write, got --async', 'use --wait');
    if (isStdout(flags.out, invocation)) throw usage('--out: expected a file, got standard output');
    refuseExisting(flags.out, flags, invocation);
  }
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
    return show(invocation, answer.body, isUnchecked);
  }
  if (flags.wait) return awaited(invocation, answer.body.jobId);
  await out.one(answer.body, plainView(['jobId']));
  if (out.isHuman) await out.note(safe`wait for it: gov jobs wait ${answer.body.jobId}`);
  return exit.ok;
};

async function awaited(invocation: Invocation<typeof spec>, jobId: string): Promise<number> {
  const { session, settings, signal } = invocation;
  const client = await session.client();
  const deadline = performance.now() + (settings.timeoutMs ?? defaultWaitMs);
  const job = await waitForJob(client, { jobId, deadline, signal });
  // the result of a job that makes a proof
  if (job.status === 'completed') return show(invocation, job.result as unknown as ComplianceProof);
  throw new CliError(exit.error, failureOf(job), {
    code: 'JOB_FAILED',
    next: [`gov jobs retry ${jobId}`],
  });
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
  isUnchecked = false,
): Promise<number> {
  const { flags, out, session } = call;
  out.verdict = exitOf(proof, flags.failOn);
  await printProof(proof, out);
  if (flags.out !== undefined) {
    const client = await session.client();
    const { bytes } = await client.getProofBundle({ params: { proofId: proof.proofId } });
    await saveBundle(flags.out, bytes, call);
    if (lacksIndex(bytes)) await noteUnchecked(out, proof.proofId);
  } else if (isUnchecked) {
    await noteUnchecked(out, proof.proofId);
  } else if (out.isHuman) {
    // a layer can hold because nothing was governed, which only a verification shows
    await out.note(safe`see the basis of each layer: gov proofs verify ${proof.proofId}`);
  }
  return out.verdict;
}
