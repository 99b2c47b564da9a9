/**
 * Task: derives the graph of a run and stores rows as they become complete. A run that is written to meanwhile is
 * covered up to a checkpoint that is signed then, so nothing waits and nothing is repeated. The thread keeps what it derived
 * for a proof: the next proof of the run reads only later events. A crash leaves staged rows that no leaf names; the store
 * deletes them at the next start. Proven by `test/service/graphs/handlers.engines.test.ts` and
 * `test/service/proofs/continued.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { declarationHash, readDeclaration } from '../../core/graphs/declaration.ts';
import { GraphBuilder } from '../../core/graphs/builder.ts';
import { changedSince } from '../events/changed.ts';
import { openOwn } from '../log/checkpoints.ts';
import { keptJudges, RunJudge } from '../events/run-judge.ts';
import { Kept } from '../call/kept.ts';
import type { Task } from '../call/work.ts';
import { GrowingRun } from './growing-run.ts';

const allIndexes = Number.MAX_SAFE_INTEGER;

/** What was derived for the newest proof of each run. A task that fails leaves nothing. */
const keptRuns = new Kept<GrowingRun>(limits.keptRunBytes);

export const deriveGraph: Task<'deriveGraph'> = async (context, input) => {
  const { projectId, runId, graphId, proves, grows } = input;
  const { reader, host } = context;
  const { declaration } = await reader.graphState(projectId, runId);
  const hash = declaration === null ? null : declarationHash(declaration);
  const key = [projectId, runId, hash ?? ''].join(' ');
  const { size } = await reader.head(projectId, 'audit');
  const kept = proves ? keptRuns.take(key) : undefined;
  const isKept = kept !== undefined && !(await changedSince(reader, projectId, kept));
  const run = isKept
    ? kept
    : new GrowingRun(input, {
        builder: new GraphBuilder(runId, declaration === null ? null : readDeclaration(declaration)),
        judge: proves ? new RunJudge(reader, input, { indexed: false }) : null,
      });
  run.size = size;
  await run.stageAgain(context);
  await run.catchUp(context, allIndexes);
  const grew = grows || (await reader.run(projectId, runId))?.events !== run.events;
  const treeSize = proves && grew ? openOwn(await host.sign()).size : null;
  if (treeSize !== null) await run.catchUp(context, treeSize);
  const facts = await run.facts(context);
  if (run.judge !== null) {
    keptJudges.keep(graphId, run.judge.fork(), size);
    keptRuns.keep(key, run);
  }
  return { facts, declarationHash: hash, treeSize };
};
