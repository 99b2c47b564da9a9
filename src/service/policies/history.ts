/**
 * Task: computes the impact of a proposed version on recorded evaluations, newest first. Reads a few at a
 * time, so that a long history or large checkpoints never fill memory. Where a checkpoint was erased, the
 * task uses the values that its conditions read, and names any others that the version needs. Proven by
 * `test/service/policies/history.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { openEvaluation, type Evaluation } from '../../core/decided/evaluation.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { readJson, type Json } from '../../core/json/parse.ts';
import { compile, type PolicyInput } from '../../core/policies/evaluate/compile.ts';
import { HistoryTally, type Example, type RecordedInput } from '../../core/policies/impact/history.ts';
import type { Side } from '../../core/policies/impact/changes.ts';
import { parseCondition } from '../../core/policies/language/parse.ts';
import { readPaths } from '../../core/policies/language/read-set.ts';
import { reasoning } from '../../core/policies/explain/reasoning.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { StoreReader } from '../../store/port/store.ts';
import type { Leaf } from '../../store/port/store.ts';
import type { HistoryExample, HistoryInput, HistorySide, Task, TaskContext } from '../call/work.ts';

/** Leaves read at once. One can be twice `limits.checkpointBytes` large. */
const chunkLeaves = 10;

/** Evaluations are in the order of recording; their times can be out of order by this much. */
const disorderMs = limits.recordedSkewSeconds * 1000;

export const policyHistory: Task<'policyHistory'> = async (context, input) => {
  const before = input.before === null ? null : sideOf(input.before);
  const after = sideOf(input.after);
  const tally = new HistoryTally(before, { ...after, version: null });
  const paths = new RetainedPaths(context.reader, input.projectId);
  let evaluations = 0;
  let complete = true;
  for await (const evaluation of evaluationsOf(context, input)) {
    if (evaluations === input.limit) {
      complete = false;
      break;
    }
    evaluations += 1;
    tally.add(await recordOf(evaluation, paths));
  }
  const { examples, ...impact } = tally.impact();
  const told = (example: Example): HistoryExample => toldExample(example, input.after, after);
  const { tightened, loosened } = examples;
  const toldExamples = { tightened: tightened.map(told), loosened: loosened.map(told) };
  return { impact: { ...impact, examples: toldExamples }, evaluations, complete };
};

/** A version of a policy, compiled for comparison. */
export const sideOf = ({ version, action, onIndeterminate, condition }: HistorySide): Side => ({
  version,
  action,
  onIndeterminate,
  condition: compile(parseCondition(condition)),
});

/** An example with the reason of the proposed version, under the version number that it would get. */
function toldExample(
  { evaluationId, runId, before, after, input }: Example,
  { action, onIndeterminate, version }: HistorySide,
  { condition }: Side,
): HistoryExample {
  const sentence = reasoning({ action, onIndeterminate, version, node: condition.node, input });
  return { evaluationId, runId, before, after, reasoning: sentence };
}

/** The evaluations of the period, newest first. */
async function* evaluationsOf(
  { reader, breathe }: TaskContext,
  input: HistoryInput,
): AsyncGenerator<Evaluation, void, undefined> {
  const { projectId, startMs = -Infinity, endMs = Infinity } = input;
  const filter = { type: 'gov.evaluation/1' } as const;
  let after = endMs === Infinity ? undefined : await indexAfter(reader, projectId, endMs + disorderMs);
  for (;;) {
    const page = { ...(after === undefined ? {} : { after }), limit: chunkLeaves, order: 'desc' } as const;
    const leaves: Leaf[] = await reader.leavesOf(projectId, filter, page);
    for (const leaf of leaves) {
      const evaluation = openEvaluation(openLeaf(leaf));
      const atMs = parseTimestamp(evaluation.evaluatedAt) ?? 0;
      if (atMs < startMs - disorderMs) return;
      if (atMs >= startMs && atMs <= endMs) yield evaluation;
      after = leaf.index;
    }
    if (leaves.length < chunkLeaves) return;
    await breathe();
  }
}

/**
 * An index after which all evaluations are later than a time. Cost: one read for each doubling of the log.
 */
async function indexAfter(reader: StoreReader, projectId: string, ms: number): Promise<number> {
  let from = 0;
  let to = (await reader.head(projectId, 'audit')).size;
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    const [newest] = await reader.leavesOf(
      projectId,
      { type: 'gov.evaluation/1', beforeIndex: middle + 1 },
      { limit: 1, order: 'desc' },
    );
    const isLater = newest !== undefined && evaluatedMs(newest) > ms;
    if (isLater) to = middle;
    else from = middle + 1;
  }
  return to;
}

const evaluatedMs = (leaf: Leaf): number => parseTimestamp(openEvaluation(openLeaf(leaf)).evaluatedAt) ?? 0;

async function recordOf(evaluation: Evaluation, paths: RetainedPaths): Promise<RecordedInput> {
  const { id, runId, checkpoint, readSet } = evaluation;
  // the log committed to both as checkpoints
  const retained = (checkpoint ?? readSet ?? { context: {} }) as unknown as PolicyInput;
  const { actor, tool } = retained.context;
  return {
    evaluationId: id,
    runId,
    agent: nameOf(actor),
    tool: nameOf(tool),
    input: retained,
    paths: checkpoint === null ? await paths.of(evaluation) : ['$'],
  };
}

/** The name of an agent or tool: a text, or the `name` or `id` of an object. */
function nameOf(party: Json | undefined): string | null {
  if (typeof party === 'string') return party;
  if (typeof party !== 'object' || party === null || Array.isArray(party)) return null;
  const name = [party['name'], party['id']].find((each) => typeof each === 'string');
  return name ?? null;
}

/** The values that the policies of an evaluation read, by the versions that it names. */
class RetainedPaths {
  readonly #reader: StoreReader;
  readonly #projectId: string;
  readonly #known = new Map<string, readonly string[]>();

  constructor(reader: StoreReader, projectId: string) {
    this.#reader = reader;
    this.#projectId = projectId;
  }

  async of({ decisions, shadow, readSet }: Evaluation): Promise<readonly string[]> {
    if (readSet === null) return [];
    const paths = new Set<string>();
    for (const { policyId, version } of [...decisions, ...shadow]) {
      if (version === null) continue;
      for (const path of await this.#pathsOf(policyId, version)) paths.add(path);
    }
    return [...paths].sort();
  }

  async #pathsOf(policyId: string, version: number): Promise<readonly string[]> {
    const key = `${policyId} ${version}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const stored = await this.#reader.policyVersion(this.#projectId, policyId, version);
    const paths = stored === null ? [] : readPaths(parseCondition(readJson(stored.normalized)));
    this.#known.set(key, paths);
    return paths;
  }
}
