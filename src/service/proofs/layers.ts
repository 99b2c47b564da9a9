/**
 * Task: computes the layers of a run at tree size S from the leaves below it (docs/explanation/what-a-proof-says.md). Proving and
 * checking call the same function: with the same nonces it returns the same texts. Proven by
 * `test/service/proofs/handlers.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { LayerName } from '../../contract/proofs.ts';
import { GovError } from '../../contract/problems.ts';
import { coverageLayer } from '../../core/proofs/coverage.ts';
import { recordingsLayer, RecordingsJudge, type Recordings } from '../../core/proofs/recordings.ts';
import { openCheckpoint, openTrustedCheckpoint, type Checkpoint } from '../../core/note/checkpoint.ts';
import { sourcePointer } from '../../core/events/links.ts';
import type { GraphFacts } from '../../core/graphs/rows.ts';
import { GraphRows } from '../../core/graphs/builder.ts';
import { equalHash, hashText } from '../../core/hash.ts';
import { eventIntegrity, type IntegrityFacts } from '../../core/proofs/integrity.ts';
import { causalConsistency, logInclusion } from '../../core/proofs/layers.ts';
import { leafHash } from '../../core/merkle/tree.ts';
import { splitNote, type NoteSignature } from '../../core/note/signed.ts';
import { keyIdText, parseVerifierKey } from '../../core/note/key.ts';
import { strictObject } from '../../core/events/run-entry.ts';
import type { RunIndex } from '../../core/events/run-index.ts';
import { layerStatement, type Evidence, type LayerResult } from '../../core/proofs/statement.ts';
import type { StoreReader } from '../../store/port/store.ts';
import { coverageOf } from '../coverage/task.ts';
import { openOwn } from '../log/checkpoints.ts';
import { erasureNoting } from '../erased/noting.ts';
import { decisionLineage, replayedDecisions } from './decided-layers.ts';
import { policyCompliance } from './policy-compliance.ts';
import { graphRows } from '../graphs/rows.ts';
import { runEvents } from '../events/run-stream.ts';
import { LeafHashes, RunJudge } from '../events/run-judge.ts';
import { rootAt } from '../log/tree-proofs.ts';
import type { Layers, LayersInput, LoggedGraph, StatedLayer, Task, TaskContext } from '../call/work.ts';

export const layers: Task<'layers'> = async (context, input) => {
  const { projectId, runId, treeSize, origin } = input;
  const { integrity, index } = await checkedEvents(context, input);
  const treeRoot = await rootAt(context.reader, projectId, treeSize);
  const evidence: Evidence = { origin, treeSize, treeRoot: hashText(treeRoot), ...integrity.run };
  const stated: StatedLayer[] = [];
  const erased: LayerName[] = [];
  for (const name of input.layers) {
    const noting = erasureNoting(context.reader, projectId);
    const reading = { ...context, reader: noting.reader };
    const result = await layerResult(reading, input, { name, integrity, index });
    if (noting.found()) erased.push(name);
    const { preimage, hash } = layerStatement(result, evidence, nonceOf(input, name));
    stated.push({ name, hash, verified: result.verdict === 'pass', statement: preimage });
  }
  if (evidence.runId !== runId)
    throw new Error('expected evidence of the run that is proved, got that of another run');
  const anchorFault = await findAnchorFault(context.reader, input, treeRoot);
  return { evidence, layers: stated, erased, anchorFault };
};

/** Whether checkpoint S is signed and has this root, and whether the tree contains the proof. */
export async function findAnchorFault(
  reader: StoreReader,
  { projectId, treeSize, origin, keys, proofLeaf }: LayersInput,
  treeRoot: Buffer,
): Promise<Layers['anchorFault']> {
  if (proofLeaf === undefined) return null;
  const note = await reader.checkpointFrom(projectId, 'audit', treeSize);
  const opened = note === null ? null : openQuietly(note, keys, origin);
  if (opened === null) return 'SIGNATURE_INVALID';
  if (opened.size !== treeSize || !opened.root.equals(treeRoot)) return 'ROOT_MISMATCH';
  const leaf = await reader.leaf(projectId, proofLeaf.index);
  const fields = leaf === null ? null : strictObject(leaf.record);
  const hashes = new LeafHashes(reader, projectId);
  await hashes.load([proofLeaf.index]);
  const holds =
    leaf !== null &&
    equalHash(leafHash(leaf.record), hashes.at(proofLeaf.index)) &&
    fields?.['type'] === 'gov.proof/1' &&
    fields['proofId'] === proofLeaf.proofId &&
    fields['proofHash'] === proofLeaf.proofHash;
  return holds ? null : 'NOT_INCLUDED';
}

/** The checkpoint in a note, or null where none of the keys signed it. */
function openQuietly(note: string, keys: readonly string[], origin: string): Checkpoint | null {
  try {
    return openCheckpoint(note, keys.map(parseVerifierKey), origin).checkpoint;
  } catch (error) {
    if (error instanceof GovError) return null;
    throw error;
  }
}

function nonceOf({ nonces }: LayersInput, name: LayerName): string {
  const nonce = nonces[name];
  if (nonce === undefined) throw new Error(`expected a nonce for layer ${name}, got none`);
  return nonce;
}

async function layerResult(
  context: TaskContext,
  input: LayersInput,
  { name, integrity, index }: { name: LayerName; integrity: IntegrityFacts; index: RunIndex | null },
): Promise<LayerResult> {
  switch (name) {
    case 'event_integrity':
      return eventIntegrity(integrity, input.statedSources);
    case 'causal_consistency':
      return judgeGraph(context, input, index);
    case 'policy_compliance':
      return policyCompliance(context, input);
    case 'decision_lineage':
      return decisionLineage(context, input);
    case 'replay_determinism':
      return replayedDecisions(context, input);
    case 'log_inclusion':
      return judgeLog(context.reader, input);
    case 'x-coverage':
      return coverageLayer(
        await coverageOf(context, { ...input, rules: input.coverageRules }, input.treeSize),
      );
    case 'x-recordings':
      return recordingsLayer(await recordingsOf(context, input));
  }
}

/** Cost: about 5 µs an event. */
async function recordingsOf(context: TaskContext, input: LayersInput): Promise<Recordings> {
  const judge = new RecordingsJudge();
  for await (const chunk of runEvents(context, input, { fromSeq: 0, beforeIndex: input.treeSize }))
    for (const event of chunk) judge.add(event);
  return judge.finish();
}

interface CheckedEvents {
  readonly integrity: IntegrityFacts;
  /** The run index that checks the rows of a logged graph; null where there is no such graph. */
  readonly index: RunIndex | null;
}

/** The checks that were made with the graph, where they cover exactly the events below S; else those of a read of these. */
async function checkedEvents(context: TaskContext, input: LayersInput): Promise<CheckedEvents> {
  const { projectId, runId, treeSize, graph } = input;
  const integrity = graph?.integrity ?? null;
  const below = integrity === null ? 0 : await context.reader.runEventsBelow(projectId, runId, treeSize);
  if (integrity?.run.runEvents === below) return { integrity, index: null };
  return readEvents(context, input);
}

/**
 * Checks the events below S. RUN_HAS_NO_EVENTS where there are none. Reads only timestamp sources from the
 * bodies; for a recomputation of a large run not even those, because the first statement lists them.
 */
async function readEvents(context: TaskContext, input: LayersInput): Promise<CheckedEvents> {
  const { runId, treeSize, graph, statedSources } = input;
  const judge = new RunJudge(context.reader, input, { indexed: graph?.facts === null });
  const isRead = statedSources === undefined || input.events <= limits.syncProofEvents;
  const bodies = isRead && { at: sourcePointer };
  const range = { fromSeq: 0, beforeIndex: treeSize, bodies };
  for await (const chunk of runEvents(context, input, range)) {
    await judge.load(chunk);
    for (const event of chunk) judge.add(event);
  }
  if (judge.events > 0) return { integrity: judge.finish(), index: judge.index };
  throw new GovError('RUN_HAS_NO_EVENTS', `expected events of run ${runId}, got none`);
}

async function judgeGraph(
  context: TaskContext,
  input: LayersInput,
  index: RunIndex | null,
): Promise<LayerResult> {
  const { graph, projectId, runId, treeSize } = input;
  if (graph === null) throw new Error('expected a logged graph for the layer causal_consistency, got none');
  const facts = graph.facts ?? (await factsFromRows(context, input, { graph, index }));
  const { leafIndex: graphIndex } = graph;
  const below = (end: number): Promise<number> => context.reader.runEventsBelow(projectId, runId, end);
  if (graphIndex === null || graphIndex >= treeSize) {
    const runEvents = await below(treeSize);
    return causalConsistency(facts, { graphIndex: null, through: treeSize, runEvents });
  }
  const runEvents = await below(graphIndex);
  if (index === null || facts.events >= runEvents) {
    return causalConsistency(facts, { graphIndex, runEvents });
  }
  // the graph was sealed while the run was written to: its leaf follows events that it does not cover
  const through = index.indexAt(facts.events - 1) + 1;
  return causalConsistency(facts, { graphIndex, through, runEvents: await below(through) });
}

async function factsFromRows(
  { reader, breathe }: TaskContext,
  { projectId, runId }: LayersInput,
  { graph, index }: { graph: LoggedGraph; index: RunIndex | null },
): Promise<GraphFacts> {
  if (index === null) throw new Error('expected an index of the run for the rows of a graph, got none');
  const rows = new GraphRows(runId, index);
  for (const list of ['nodes', 'edges'] as const) {
    for await (const chunk of graphRows(reader, { projectId, graphId: graph.graphId, list })) {
      for (const row of chunk) {
        if (list === 'nodes') rows.node(row);
        else rows.edge(row);
      }
      await breathe();
    }
  }
  return rows.finish(graph.unresolved);
}

/** Checks checkpoint S with the log's keys and against the signed checkpoint before it. */
async function judgeLog(reader: StoreReader, input: LayersInput): Promise<LayerResult> {
  const { projectId, treeSize, origin, keys } = input;
  const note = await reader.checkpointFrom(projectId, 'audit', treeSize);
  if (note === null) throw new Error(`expected a signed checkpoint of size ${treeSize}, got none`);
  const { text } = openCheckpoint(note, keys.map(parseVerifierKey), origin);
  const cosigners = cosignersOf(note, input);
  const before = await reader.checkpointBelow(projectId, 'audit', treeSize);
  const previous = before === null ? null : openOwn(before);
  const consistent =
    previous === null || previous.root.equals(await rootAt(reader, projectId, previous.size));
  return logInclusion({
    checkpoint: text,
    signed: true,
    previous: previous === null ? null : { size: previous.size, consistent },
    cosigners,
    quorum: input.witnesses.quorum,
  });
}

/** `<name>+<key id>` of the witnesses that cosigned S. Stored lines were verified when they arrived. */
function cosignersOf(
  note: string,
  { origin, keys, witnesses: { keys: configured, stated, quorum } }: LayersInput,
) {
  if (configured !== undefined) {
    const trust = {
      origin,
      keys: keys.map(parseVerifierKey),
      witnesses: configured.map(parseVerifierKey),
      quorum,
    };
    return openTrustedCheckpoint(note, trust).witnessedBy.map(({ key }) => keyText(key));
  }
  const under = new Set(splitNote(note).signatures.map(keyText));
  return (stated ?? []).filter((name) => under.has(name));
}

const keyText = ({ name, keyId }: NoteSignature): string => `${name}+${keyIdText(keyId)}`;
