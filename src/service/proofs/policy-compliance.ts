/**
 * The layer `policy_compliance` for a proof, and for a check of one. The thread keeps the pass of a proof: the next proof of
 * the run continues it, where its size is not smaller and nothing that it read has changed. A check of a proof reads every
 * leaf. Proven by `test/service/proofs/continued.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { LayerResult } from '../../core/proofs/statement.ts';
import { Kept } from '../call/kept.ts';
import type { LayersInput, TaskContext } from '../call/work.ts';
import { changedSince } from '../events/changed.ts';
import { Runs } from '../log/runs.ts';
import { CompliancePass } from './compliance-pass.ts';

/** By run. A task that fails leaves nothing. */
const passes = new Kept<CompliancePass>(limits.keptRunBytes);
/** Proofs of one run continue its pass one after another. */
const turns = new Runs();

export async function policyCompliance(context: TaskContext, input: LayersInput): Promise<LayerResult> {
  if (input.proofLeaf !== undefined) return (await newPass(context, input)).result;
  return turns.inTurn(input, async () => {
    const key = `${input.projectId} ${input.runId}`;
    const { pass, result } =
      (await continuedPass(context, input, passes.take(key))) ?? (await newPass(context, input));
    passes.keep(key, pass);
    return result;
  });
}

interface Passed {
  readonly pass: CompliancePass;
  readonly result: LayerResult;
}

/** Null where only a new pass is right. */
async function continuedPass(
  context: TaskContext,
  input: LayersInput,
  pass: CompliancePass | undefined,
): Promise<Passed | null> {
  if (pass === undefined || pass.size > input.treeSize) return null;
  const changing = { size: pass.size, types: ['gov.approver/1'] } as const;
  if (await changedSince(context.reader, input.projectId, changing)) return null;
  const result = await pass.advance(context, input);
  return result === null ? null : { pass, result };
}

async function newPass(context: TaskContext, input: LayersInput): Promise<Passed> {
  const pass = await CompliancePass.start(context, input);
  const result = await pass.advance(context, input);
  if (result === null) throw new Error('expected one pass over all leaves to judge each event once');
  return { pass, result };
}
