/**
 * Task: derives the graph of a run and stores rows as they become complete. A run that is written to meanwhile is
 * covered up to a checkpoint that is signed then, so nothing waits and nothing is repeated. A crash leaves staged rows that no leaf names; the store deletes them at the next start. Proven by
 * `test/service/graphs/handlers.engines.test.ts`.
 */
import { deflateRawSync } from 'node:zlib';
import { declarationHash, readDeclaration } from '../../core/graphs/declaration.ts';
import type { GraphChunk } from '../../core/graphs/rows.ts';
import { GraphBuilder } from '../../core/graphs/builder.ts';
import type { GraphPart } from '../../store/port/store.ts';
import { openOwn } from '../log/checkpoints.ts';
import { runEvents } from '../events/run-stream.ts';
import { keptJudges, RunJudge } from '../events/run-judge.ts';
import type { Task } from '../call/work.ts';

const allIndexes = Number.MAX_SAFE_INTEGER;

export const deriveGraph: Task<'deriveGraph'> = async (context, input) => {
  const { projectId, runId, graphId, proves, grows } = input;
  const { reader, host } = context;
  const { declaration } = await reader.graphState(projectId, runId);
  const builder = new GraphBuilder(runId, declaration === null ? null : readDeclaration(declaration));
  const judge = proves ? new RunJudge(reader, input, { indexed: false }) : null;
  let events = 0;
  const catchUp = async (beforeIndex: number): Promise<void> => {
    const range = { fromSeq: events, beforeIndex };
    for await (const chunk of runEvents(context, { projectId, runId }, range)) {
      await judge?.load(chunk);
      for (const event of chunk) {
        judge?.add(event);
        builder.add(event);
      }
      events += chunk.length;
      await stageAll(builder.drain());
    }
  };
  const stageAll = async (chunks: readonly GraphChunk[]): Promise<void> => {
    for (const chunk of chunks) await host.stage(partOf(chunk));
  };
  await catchUp(allIndexes);
  const grew = grows || (await reader.run(projectId, runId))?.events !== events;
  const treeSize = proves && grew ? openOwn(await host.sign()).size : null;
  if (treeSize !== null) await catchUp(treeSize);
  const facts = builder.finish();
  await stageAll(builder.drain());
  if (judge !== null) keptJudges.keep(graphId, judge);
  return { facts, declarationHash: declaration === null ? null : declarationHash(declaration), treeSize };
};

/** Compresses twice as fast as zlib's default, into 5 % more bytes. */
const level = 3;

const partOf = ({ list, part, rows }: GraphChunk): GraphPart => ({
  list,
  part,
  items: deflateRawSync(rows, { level }),
});
