/**
 * The layer `policy_compliance` for a proof, and for a check of one. The thread keeps the pass of a proof: the next proof of
 * the run reads only later leaves, where its size is not smaller and the log still has the earlier ones (`ReadSoFar`). A
 * check of a proof reads every leaf. Proven by `test/service/proofs/continued.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { LayerResult } from '../../core/proofs/statement.ts';
import { Kept } from '../call/kept.ts';
import type { LayersInput, TaskContext } from '../call/work.ts';
import { ReadSoFar } from '../events/read-so-far.ts';
import { Runs } from '../log/runs.ts';
import { CompliancePass } from './compliance-pass.ts';

interface KeptPass {
  readonly pass: CompliancePass;
  readonly read: ReadSoFar;
  readonly bytes: number;
}

/** By run. A task that fails leaves nothing. */
const passes = new Kept<KeptPass>(limits.keptRunBytes);
/** Proofs of one run continue its pass one after another. */
const turns = new Runs();

const leaves = {
  types: ['gov.event/1', 'gov.evaluation/1', 'gov.approval/1', 'gov.use/1'],
  changedBy: ['gov.erasure/1', 'gov.prune/1', 'gov.approver/1'],
} as const;

export async function policyCompliance(context: TaskContext, input: LayersInput): Promise<LayerResult> {
  if (input.proofLeaf !== undefined) return (await newPass(context, input)).result;
  return turns.inTurn(input, async () => {
    const key = `${input.projectId} ${input.runId}`;
    const kept = passes.take(key);
    const continued = kept === undefined ? null : await continuedPass(context, input, kept);
    const { pass, read, result } = continued ?? (await startedPass(context, input));
    passes.keep(key, { pass, read, bytes: pass.bytes });
    return result;
  });
}

interface Continued extends Omit<KeptPass, 'bytes'> {
  readonly result: LayerResult;
}

/** Null where only a new pass is right. */
async function continuedPass(
  context: TaskContext,
  input: LayersInput,
  { pass, read }: KeptPass,
): Promise<Continued | null> {
  const { reader } = context;
  if (read.size > input.treeSize || !(await read.isStill(reader))) return null;
  await read.extend(reader, input.treeSize);
  const result = await pass.advance(context, input);
  return result === null ? null : { pass, read, result };
}

async function startedPass(context: TaskContext, input: LayersInput): Promise<Continued> {
  const read = new ReadSoFar(input, leaves);
  await read.extend(context.reader, input.treeSize);
  const { pass, result } = await newPass(context, input);
  return { pass, read, result };
}

async function newPass(
  context: TaskContext,
  input: LayersInput,
): Promise<{ readonly pass: CompliancePass; readonly result: LayerResult }> {
  const pass = await CompliancePass.start(context, input);
  const result = await pass.advance(context, input);
  if (result === null) throw new Error('expected one pass over all leaves to judge each event once');
  return { pass, result };
}
