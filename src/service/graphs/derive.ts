/**
 * Task: derives the graph of a run below a tree size and stores rows as they become complete. The thread keeps what it
 * derived for a proof: the next proof of the run reads only later events, where the log still has the earlier ones
 * (`ReadSoFar`). A crash leaves staged rows that no leaf names; the store deletes them at the next start. Proven by
 * `test/service/graphs/handlers.engines.test.ts` and `test/service/proofs/continued.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { declarationHash, readDeclaration } from '../../core/graphs/declaration.ts';
import { Kept } from '../call/kept.ts';
import type { Task } from '../call/work.ts';
import { GrowingRun } from './growing-run.ts';

/** What was derived for the newest proof of each run. A task that fails leaves nothing. */
const keptRuns = new Kept<GrowingRun>(limits.keptRunBytes);

export const deriveGraph: Task<'deriveGraph'> = async (context, input) => {
  const { projectId, runId, treeSize, proves } = input;
  const { reader } = context;
  const { declaration } = await reader.graphState(projectId, runId);
  const hash = declaration === null ? null : declarationHash(declaration);
  const key = [projectId, runId, hash ?? ''].join(' ');
  const kept = proves ? keptRuns.take(key) : undefined;
  const run =
    kept !== undefined && kept.size <= treeSize && (await kept.isStill(reader))
      ? kept
      : new GrowingRun(reader, input, declaration === null ? null : readDeclaration(declaration));
  await run.stageAgain(context);
  await run.catchUp(context, treeSize);
  const facts = await run.facts(context);
  if (proves) keptRuns.keep(key, run);
  return { facts, integrity: run.integrity(), declarationHash: hash };
};
