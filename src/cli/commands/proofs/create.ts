/**
 * `gov proofs create`: creates a proof at once, in a job, or in a job that it waits for.
 * Tested by `test/cli/commands/proofs/verify.test.ts`.
 */
import type { ComplianceProof, ProofRequest } from '../../../contract/proofs.ts';
import type { Invocation, Run } from '../../program/command.ts';
import { CliError, exit, usage, type ExitCode } from '../../program/exit.ts';
import type { Out } from '../../terminal/out.ts';
import { safe } from '../../terminal/safe.ts';
import type { proofsCreate as spec } from './spec.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import { plainView } from '../../terminal/view.ts';
import { defaultWaitMs, jobError, waitForJob } from '../../terminal/waiting.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, out, session, settings } = invocation;
  if (flags.async && flags.wait) throw usage('expected --async or --wait, got both');
  if (flags.async && flags.failOn !== undefined) {
    throw usage('--fail-on: expected a proof to judge, got --async', 'use --wait');
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
    out.verdict = exitOf(answer.body, flags.failOn);
    await printProof(out, answer.body);
    return out.verdict;
  }
  if (flags.wait) return awaited(invocation, answer.body.jobId);
  await out.one(answer.body, plainView(['jobId']));
  if (out.isHuman) await out.note(safe`wait for it: gov jobs wait ${answer.body.jobId}`);
  return exit.ok;
};

async function awaited(
  { flags, out, session, settings, signal }: Invocation<typeof spec>,
  jobId: string,
): Promise<number> {
  const client = await session.client();
  const deadline = performance.now() + (settings.timeoutMs ?? defaultWaitMs);
  const job = await waitForJob(client, { jobId, deadline, signal });
  if (job.status === 'completed') {
    // the result of a job that makes a proof
    out.verdict = exitOf(job.result as unknown as ComplianceProof, flags.failOn);
    await printProof(out, job.result);
    return out.verdict;
  }
  const reason = await jobError(client, job);
  throw new CliError(exit.error, `job ${jobId} failed${reason === '' ? '' : `: ${reason}`}`, {
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

/** A layer can pass because nothing was governed; only a verification shows that. */
async function printProof(out: Out, proof: unknown): Promise<void> {
  await out.one(proof, viewOf('getProof'));
  if (!out.isHuman || typeof proof !== 'object' || proof === null || !('proofId' in proof)) return;
  await out.note(safe`see the basis of each layer: gov proofs verify ${String(proof.proofId)}`);
}
