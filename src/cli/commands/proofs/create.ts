/** `gov proofs create`: at once, as a job, or as a job that is waited for. */
import type { ProofRequest } from '../../../contract/proofs.ts';
import type { Invocation, Run } from '../../program/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import type { Out } from '../../terminal/out.ts';
import { safe } from '../../terminal/safe.ts';
import type { proofsCreate as spec } from './spec.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import { plainView } from '../../terminal/view.ts';
import { defaultWaitMs, jobError, waitForJob } from '../../terminal/waiting.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, out, session, settings } = invocation;
  if (flags.async && flags.wait) throw usage('expected --async or --wait, got both');
  const client = await session.client();
  const body: ProofRequest = {
    runId: flags.run,
    ...(flags.schemaVersion === undefined ? {} : { schemaVersion: flags.schemaVersion }),
    ...(flags.layers.length === 0 ? {} : { composed: { layers: [...flags.layers] } }),
    ...(flags.async || flags.wait ? { async: true } : {}),
  };
  const answer = await client.createProof({ body, idempotencyKey: settings.idempotencyKey });
  if (answer.status === 201) {
    await printProof(out, answer.body);
    return exit.ok;
  }
  if (flags.wait) return awaited(invocation, answer.body.jobId);
  await out.one(answer.body, plainView(['jobId']));
  if (out.isHuman) await out.note(safe`wait for it: gov jobs wait ${answer.body.jobId}`);
  return exit.ok;
};

async function awaited(
  { out, session, settings, signal }: Invocation<typeof spec>,
  jobId: string,
): Promise<number> {
  const client = await session.client();
  const deadline = performance.now() + (settings.timeoutMs ?? defaultWaitMs);
  const job = await waitForJob(client, { jobId, deadline, signal });
  if (job.status === 'completed') {
    await printProof(out, job.result);
    return exit.ok;
  }
  const reason = await jobError(client, job);
  throw new CliError(exit.error, `job ${jobId} failed${reason === '' ? '' : `: ${reason}`}`, {
    code: 'JOB_FAILED',
    next: [`gov jobs retry ${jobId}`],
  });
}

/** A layer can hold because nothing was governed; only a verification says so. */
async function printProof(out: Out, proof: unknown): Promise<void> {
  await out.one(proof, viewOf('getProof'));
  if (!out.isHuman || typeof proof !== 'object' || proof === null || !('proofId' in proof)) return;
  await out.note(safe`what each layer rests on: gov proofs verify ${String(proof.proofId)}`);
}
