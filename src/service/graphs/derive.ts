/**
 * Task: derives the graph of a run and stores rows as they become complete. A run that is written to meanwhile is
 * covered up to a checkpoint that is signed then, so nothing waits and nothing is repeated. The thread keeps what it derived
 * for a proof: the next proof of the run reads only later events, where the log still has the earlier ones (`ReadSoFar`). A
 * crash leaves staged rows that no leaf names; the store deletes them at the next start. Proven by
 * `test/service/graphs/handlers.engines.test.ts` and `test/service/proofs/continued.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { declarationHash, readDeclaration } from '../../core/graphs/declaration.ts';
import { openOwn } from '../log/checkpoints.ts';
import { Kept } from '../call/kept.ts';
import type { Task } from '../call/work.ts';
import { GrowingRun } from './growing-run.ts';

/** What was derived for the newest proof of each run. A task that fails leaves nothing. */
const keptRuns = new Kept<GrowingRun>(limits.keptRunBytes);

export const deriveGraph: Task<'deriveGraph'> = async (context, input) => {
  const { projectId, runId, proves, grows } = input;
  const { reader, host } = context;
  const { declaration } = await reader.graphState(projectId, runId);
  const hash = declaration === null ? null : declarationHash(declaration);
  const key = [projectId, runId, hash ?? ''].join(' ');
  const kept = proves ? keptRuns.take(key) : undefined;
  const run =
    kept !== undefined && (await kept.isStill(reader))
      ? kept
      : new GrowingRun(reader, input, declaration === null ? null : readDeclaration(declaration));
  await run.stageAgain(context);
  await run.catchUp(context, (await reader.head(projectId, 'audit')).size);
  const grew = grows || (await reader.run(projectId, runId))?.events !== run.events;
  const treeSize = proves && grew ? openOwn(await host.sign()).size : null;
  if (treeSize !== null) await run.catchUp(context, treeSize);
  const facts = await run.facts(context);
  if (proves) keptRuns.keep(key, run);
  return { facts, integrity: run.integrity(), declarationHash: hash, treeSize };
};
