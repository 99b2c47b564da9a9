/** A small log in memory that records runs and proves them, as the service does it, from fixed seeds. */
import { createHash, createPrivateKey } from 'node:crypto';
import type { EventInput } from '../../../src/contract/events.ts';
import {
  type Bundle,
  bundleEvent,
  type BundleGraph,
  bundleText,
  composeBundle,
  type IncludedRecord,
  pathText,
} from '../../../src/core/proofs/bundle.ts';
import { graphItems } from '../graphs/items.ts';
import {
  ed25519Cosigner,
  ed25519Signer,
  type NoteSigner,
  parseVerifierKey,
} from '../../../src/core/note/signed.ts';
import { signCheckpoint, type Trust } from '../../../src/core/note/checkpoint.ts';
import type { Declaration } from '../../../src/core/graphs/declaration.ts';
import { signDsse, inTotoPayloadType } from '../../../src/core/note/dsse.ts';
import { type GraphFacts, graphLeafFields } from '../../../src/core/graphs/rows.ts';
import { GraphBuilder } from '../../../src/core/graphs/builder.ts';
import { hashText } from '../../../src/core/hash.ts';
import { eventIntegrity, IntegrityJudge } from '../../../src/core/proofs/integrity.ts';
import type { Json } from '../../../src/core/json/parse.ts';
import {
  causalConsistency,
  type GraphExtent,
  chooseLayers,
  decisionNotRun,
  logInclusion,
  noPolicyActive,
  replayNotRun,
} from '../../../src/core/proofs/layers.ts';
import { leafHash, nodeHash } from '../../../src/core/merkle/tree.ts';
import { composeProof, inTotoPayload, proofLeafFields } from '../../../src/core/proofs/binding.ts';
import { draftEvent, draftLeaf, type LeafDraft, sealEvent } from '../../../src/core/events/record.ts';
import { readRunEvent, type RunEvent, type RunLeaf } from '../../../src/core/events/run-entry.ts';
import { sharedPath } from '../../../src/core/merkle/shared-path.ts';
import { type Evidence, type LayerResult, layerStatement } from '../../../src/core/proofs/statement.ts';
import { formatTimestamp, parseTimestamp } from '../../../src/core/time.ts';
import type { CheckId, CheckResult, ProofVerdict } from '../../../src/core/proofs/verdict.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';

export const origin = 'gov.local/prj_test/audit';
export const startMs = Date.UTC(2026, 0, 5, 9, 0, 0);

/** Bytes that look random and are the same in every run of the tests. */
export const seeded = (seed: string, size: number): Buffer => {
  const blocks = Array.from({ length: Math.ceil(size / 32) }, (_, block) =>
    createHash('sha256').update(`${seed}/${block}`).digest(),
  );
  return Buffer.concat(blocks).subarray(0, size);
};

const ed25519Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
export const privateKey = (seed: string) =>
  createPrivateKey({
    key: Buffer.concat([ed25519Prefix, seeded(seed, 32)]),
    format: 'der',
    type: 'pkcs8',
  });

export const logSigner: NoteSigner = ed25519Signer(origin, privateKey('log'));
export const witnessSigner: NoteSigner = ed25519Cosigner('witness.example/w1', privateKey('witness'));
export const trust: Trust = {
  origin,
  keys: [parseVerifierKey(logSigner.verifierKey)],
  witnesses: [],
  quorum: 0,
};

export interface ProveOptions {
  readonly layers?: readonly string[];
  readonly schemaVersion?: string;
  readonly declaration?: Declaration | null;
  readonly disclose?: (pointer: string) => boolean;
  readonly events?: 'none' | 'records' | 'paths';
  readonly graph?: boolean;
  readonly signers?: readonly NoteSigner[];
  readonly dsseKey?: Parameters<typeof signDsse>[2];
  /** Events of other runs between S and the proof. */
  readonly between?: number;
  /** As a log that says of every graph that its nodes are bound to leaves. */
  readonly blindToPosing?: boolean;
  /**
   * The run is written to while its graph is made: `proved`, so that the graph is that of the events below S, or
   * `sealed`, so that two events precede the leaf of its graph which that does not cover.
   */
  readonly writtenTo?: 'proved' | 'sealed';
  /** What the log says in the layer `policy_compliance`. */
  readonly compliance?: LayerResult;
  /** What the log says in another layer. */
  readonly stated?: LayerResult;
}

export class ProofLog {
  readonly leaves: RunLeaf[] = [];
  readonly hashes: Buffer[] = [];
  readonly #runs = new Map<string, number[]>();
  readonly #subtrees = new Map<string, Buffer>();
  #salts = 0;
  /** Leaves that stand in the tree, while the tables say that they are not of their run. */
  readonly lost = new Set<number>();

  constructor() {
    this.append(draftLeaf('gov.genesis/1', { origin, vkey: logSigner.verifierKey }));
  }

  readonly salt = (): string => seeded(`salt ${this.#salts++}`, 16).toString('base64url');

  /** Records an event; index, eventId and the usual server time follow from its place. */
  record(input: Partial<EventInput> & { runId: string }, seconds = this.leaves.length): RunEvent {
    const index = this.leaves.length;
    const event = {
      eventType: 'agent.step',
      actor: { name: 'planner', role: 'agent' },
      action: 'execute',
      timestamp: formatTimestamp(startMs + index * 1000),
      ...input,
    } as EventInput;
    const draft = draftEvent(event, parseTimestamp(event.timestamp) ?? 0, this.salt);
    if (!('head' in draft)) throw new Error(draft.detail);
    const run = this.#runs.get(input.runId) ?? [];
    const place = { index, runSeq: run.length, serverMs: startMs + seconds * 1000 + 7, random: index * 7919 };
    const { record, leaf } = sealEvent(draft, place);
    this.#runs.set(input.runId, [...run, index]);
    this.#push(record, draft.disclosures, leaf);
    return readRunEvent(this.leaves[index]!);
  }

  append(draft: LeafDraft): number {
    if (draft.kind === 'event') throw new Error('record() appends events');
    this.#push(draft.record, draft.disclosures, leafHash(draft.record));
    return this.leaves.length - 1;
  }

  #push(record: string, disclosures: string | null, leaf: Buffer): void {
    this.leaves.push({ index: this.leaves.length, record, disclosures });
    this.hashes.push(leaf);
  }

  run(runId: string, before = this.leaves.length): RunEvent[] {
    return (this.#runs.get(runId) ?? [])
      .filter((index) => index < before && !this.lost.has(index))
      .map((index) => readRunEvent(this.leaves[index]!));
  }

  /** RFC 6962 MTH of [start, end). */
  hash(start: number, end: number): Buffer {
    if (end - start === 1) return this.hashes[start]!;
    const key = `${start} ${end}`;
    const known = this.#subtrees.get(key);
    if (known !== undefined) return known;
    const middle = start + split(end - start);
    const hash = nodeHash(this.hash(start, middle), this.hash(middle, end));
    this.#subtrees.set(key, hash);
    return hash;
  }

  root(size = this.leaves.length): Buffer {
    return this.hash(0, size);
  }

  path(index: number, size: number, start = 0): Buffer[] {
    if (size - start === 1) return [];
    const middle = start + split(size - start);
    return index < middle
      ? [...this.path(index, middle, start), this.hash(middle, size)]
      : [...this.path(index, size, middle), this.hash(start, middle)];
  }

  consistency(first: number, second: number, start = 0, known = true): Buffer[] {
    if (first === second) return known ? [] : [this.hash(start, second)];
    const middle = start + split(second - start);
    return first <= middle
      ? [...this.consistency(first, middle, start, known), this.hash(middle, second)]
      : [...this.consistency(first, second, middle, false), this.hash(start, middle)];
  }

  checkpoint(size: number, signers: readonly NoteSigner[] = [logSigner]): string {
    const head = { origin, size, root: this.root(size), extensions: [] };
    return signCheckpoint(head, signers, { timestampSeconds: Math.floor(startMs / 1000) });
  }

  evidence(runId: string, size: number): { evidence: Evidence; integrity: LayerResult } {
    const judge = new IntegrityJudge(runId, size);
    for (const event of this.run(runId, size)) judge.add(event, this.hashes[event.index]!);
    const facts = judge.finish();
    const evidence = { origin, treeSize: size, treeRoot: hashText(this.root(size)), ...facts.run };
    return { evidence, integrity: eventIntegrity(facts) };
  }

  /** Proves a run and bundles the proof. */
  prove(runId: string, options: ProveOptions = {}): Bundle {
    const signers = options.signers ?? [logSigner];
    const graph = this.#logGraph(runId, options);
    const size = this.leaves.length;
    const checkpoint = this.checkpoint(size, signers);
    const layers = this.#state(runId, { size, checkpoint, graph, options });
    const { proof, preimage } = composeProof({
      proofId: 'prf_01kfn3v5k8hf7wb3c9x2m4n6p8',
      runId,
      schemaVersion: options.schemaVersion ?? '1.0',
      timestamp: formatTimestamp(startMs + size * 1000),
      layers,
    });
    for (let other = 0; other < (options.between ?? 0); other++) this.record({ runId: 'another' });
    const leafIndex = this.append(draftLeaf('gov.proof/1', proofLeafFields(proof), { runId }));
    const later = this.leaves.length;
    const { dsseKey } = options;
    return composeBundle({
      proof,
      proofPreimage: preimage,
      layerStatements: Object.fromEntries(layers.map(({ name, statement }) => [name, statement])),
      proofLeaf: this.#included(leafIndex, later),
      checkpoint,
      proofCheckpoint: this.checkpoint(later, signers),
      consistency: pathText(this.consistency(size, later)),
      ...this.#enclosedEvents(runId, size, options),
      ...(options.graph === false ? {} : { graph: this.#enclosedGraph(graph, size) }),
      ...(dsseKey === undefined ? {} : { dsse: signDsse(inTotoPayloadType, inTotoPayload(proof), dsseKey) }),
    });
  }

  #logGraph(runId: string, { declaration = null, writtenTo }: ProveOptions): LoggedGraph {
    const builder = new GraphBuilder(runId, declaration);
    const covered = this.run(runId);
    for (const event of covered) builder.add(event);
    const { facts, last } = builder.at();
    const rows: LoggedGraph['rows'] = { nodes: [], edges: [] };
    const chunks = [...builder.drain(), ...last];
    for (const { list, rows: text } of chunks) rows[list].push(...text.toString().split('\n'));
    const leaf = draftLeaf('gov.graph/1', graphLeafFields(runId, facts, writtenTo === 'sealed'));
    const made = { facts, rows, covered: covered.length };
    if (writtenTo === undefined) return { ...made, extent: { graphIndex: this.append(leaf) } };
    if (writtenTo === 'proved') return { ...made, extent: { graphIndex: null, through: this.leaves.length } };
    const through = covered.at(-1)!.index + 1;
    for (let late = 0; late < 2; late++) this.record({ runId });
    return { ...made, extent: { graphIndex: this.append(leaf), through } };
  }

  #state(
    runId: string,
    at: { size: number; checkpoint: string; graph: LoggedGraph; options: ProveOptions },
  ): { name: string; statement: string; verified: boolean }[] {
    const { size, checkpoint, graph, options } = at;
    const checks = { ...graph.facts.checks, ...(options.blindToPosing ? { nodesBoundToLeaves: true } : {}) };
    const { evidence, integrity } = this.evidence(runId, size);
    const witnesses = options.signers?.slice(1) ?? [];
    const results: Record<string, () => LayerResult> = {
      event_integrity: () => integrity,
      causal_consistency: () =>
        causalConsistency({ ...graph.facts, checks }, { ...graph.extent, runEvents: graph.covered }),
      policy_compliance: () => options.compliance ?? noPolicyActive(),
      decision_lineage: decisionNotRun,
      replay_determinism: replayNotRun,
      log_inclusion: () =>
        logInclusion({
          checkpoint: noteText(checkpoint),
          signed: true,
          previous: null,
          cosigners: witnesses.map(({ name }) => name),
          quorum: witnesses.length,
        }),
    };
    const { stated } = options;
    return chooseLayers(options.layers).map((name) => {
      const result = stated?.layer === name ? stated : results[name]!();
      const statement = layerStatement(result, evidence, seeded(`nonce ${name} ${size}`, 16)).preimage;
      return { name, statement, verified: result.verdict === 'pass' };
    });
  }

  #included(index: number, size: number): IncludedRecord {
    return { index, record: this.leaves[index]!.record, inclusion: pathText(this.path(index, size)) };
  }

  #enclosedEvents(
    runId: string,
    size: number,
    { events = 'records', disclose }: ProveOptions,
  ): Pick<Bundle, 'events' | 'eventsInclusion'> {
    if (events === 'none') return {};
    const list = this.run(runId, size).map((event) =>
      bundleEvent(event, {
        ...(disclose === undefined ? {} : { disclose }),
        ...(events === 'paths' ? { inclusion: this.path(event.index, size) } : {}),
      }),
    );
    if (events === 'paths') return { events: list };
    const indexes = list.map(({ index }) => index);
    return {
      events: list,
      eventsInclusion: pathText(sharedPath(indexes, size, (index) => this.path(index, size))),
    };
  }

  #enclosedGraph({ extent: { graphIndex }, rows }: LoggedGraph, size: number): BundleGraph {
    const { nodes, edges } = graphItems(rows);
    const leaf = graphIndex === null ? {} : { leaf: this.#included(graphIndex, size) };
    return { ...leaf, nodes, edges };
  }
}

interface LoggedGraph {
  readonly facts: GraphFacts;
  readonly rows: { readonly nodes: string[]; readonly edges: string[] };
  readonly extent: GraphExtent;
  readonly covered: number;
}

/** What is signed of a note. */
export const noteText = (note: string): string => note.slice(0, note.indexOf('\n\n') + 1);

function split(size: number): number {
  let k = 1;
  while (k * 2 < size) k *= 2;
  return k;
}

/** A run of a coding agent: a model asks for calls, tools answer, something is remembered. */
export function recordSampleRun(log: ProofLog, runId = 'run-1'): RunEvent[] {
  const model = { name: 'model-x', type: 'model' };
  const events: RunEvent[] = [];
  const add = (input: Omit<Partial<EventInput>, 'runId'>): RunEvent => {
    const event = log.record({ runId, clientEventId: `${runId}:${events.length}`, ...input });
    events.push(event);
    return event;
  };
  add({ eventType: 'run.started', actor: { name: 'Ada', role: 'user' }, action: 'start' });
  add({
    eventType: 'model.invoked',
    resource: model,
    action: 'inference',
    metadata: { toolCallIds: ['call_1', 'call_2'], parentEventId: `${runId}:0` },
  });
  log.record({ runId: 'other' });
  add({
    eventType: 'tool.call',
    resource: { name: 'search files', type: 'tool' },
    metadata: { toolCallId: 'call_1', parentEventId: `${runId}:1` } as Record<string, Json>,
  });
  add({
    eventType: 'tool.result',
    resource: { name: 'search files', type: 'tool' },
    action: 'return',
    metadata: { toolCallId: 'call_1', output: 'three files', timestampSource: 'source' },
  });
  add({
    eventType: 'tool.call',
    resource: { name: 'edit', type: 'mcp_tool' },
    metadata: { toolCallId: 'call_2', parentEventId: `${runId}:1` },
  });
  add({
    eventType: 'model.invoked',
    resource: model,
    action: 'inference',
    causedBy: [`${runId}:3`],
    metadata: { toolResultIds: ['call_1'], parentEventId: events[0]!.clear!.eventId },
  });
  add({
    eventType: 'memory.write',
    resource: 'notes',
    action: 'write',
    metadata: { causedBy: `${runId}:5` },
  });
  add({ eventType: 'run.ended', action: 'end', aiSystemId: 'system-1' });
  return events;
}

/** The sample run, proved. */
export function sample(options: ProveOptions = {}): Bundle {
  const log = new ProofLog();
  recordSampleRun(log);
  return log.prove('run-1', { between: 2, ...options });
}

export const bytesOf = (bundle: Bundle): Buffer => Buffer.from(bundleText(bundle));
export const verify = (bundle: Bundle, by: Trust | null = trust): ProofVerdict =>
  verifyBundle(bytesOf(bundle), by);
export const result = (verdict: ProofVerdict, id: CheckId): CheckResult =>
  verdict.checks.find((check) => check.id === id)!;
export const failures = (verdict: ProofVerdict): string[] =>
  verdict.checks.filter(({ result }) => result === 'failed').map(({ id, code }) => `${id}: ${code}`);

/** A copy with one member replaced, by path. */
export function changed(bundle: Bundle, path: readonly (string | number)[], value: unknown): Bundle {
  const copy = structuredClone(bundle) as unknown as Record<string | number, unknown>;
  let at = copy;
  for (const step of path.slice(0, -1)) at = at[step] as Record<string | number, unknown>;
  const last = path.at(-1)!;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy as unknown as Bundle;
}
