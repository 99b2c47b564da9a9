/**
 * Task: derives the graph of a run up to its newest event, handing its rows out as they become complete. A
 * crash leaves staged rows that no leaf names; the store sweeps them at start.
 * Proven by `test/service/graphs/handlers.engines.test.ts`.
 */
import { deflateRawSync } from 'node:zlib';
import { declarationHash, readDeclaration } from '../../core/graph/declaration.ts';
import type { GraphChunk } from '../../core/graph/rows.ts';
import { GraphBuilder } from '../../core/graph/builder.ts';
import type { GraphPart } from '../../store/port/store.ts';
import { runEvents } from '../events/run-stream.ts';
import { keptJudges, RunJudge } from '../events/run-judge.ts';
import type { Task } from '../call/work.ts';

const allIndexes = Number.MAX_SAFE_INTEGER;

export const deriveGraph: Task<'deriveGraph'> = async (context, input) => {
  const { projectId, runId, graphId, hold } = input;
  const { reader, host } = context;
  const { declaration } = await reader.graphState(projectId, runId);
  const builder = new GraphBuilder(runId, declaration === null ? null : readDeclaration(declaration));
  const judge = input.judge ? new RunJudge(reader, input, { indexed: false }) : null;
  let events = 0;
  const catchUp = async (): Promise<void> => {
    const range = { fromSeq: events, beforeIndex: allIndexes };
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
  await catchUp();
  if (hold) {
    await host.hold();
    await catchUp();
  }
  const facts = builder.finish();
  await stageAll(builder.drain());
  if (judge !== null) keptJudges.keep(graphId, judge);
  return { facts, declarationHash: declaration === null ? null : declarationHash(declaration) };
};

/** Twice as quick as zlib's own choice, for a twentieth more bytes. */
const level = 3;

const partOf = ({ list, part, rows }: GraphChunk): GraphPart => ({
  list,
  part,
  items: deflateRawSync(rows, { level }),
});
