/**
 * Step 7 of the verification: compares events and graph of a bundle with the tree of S and with the layers.
 * It recomputes each layer that follows from them. A layer is *recomputed* only if the bundle has everything that it
 * depends on; otherwise it stays *attested*, stated by the log only. Attacker controlled; nothing here throws.
 * Proven by `test/core/proofs/verify.test.ts`.
 */
import { checkRecomputed } from './artifact.ts';
import { type BundleEvent, type BundleFrame, pathHashes } from './bundle.ts';
import { Disclosures } from './disclosed.ts';
import type { ErasedDigests } from './erasures.ts';
import { checkGraph, DerivationCheck } from './check-graph.ts';
import { CoverageJudge } from '../coverage/judge.ts';
import { coverageLayer, coverageRules } from './coverage.ts';
import { IntegrityJudge, eventIntegrity, type IntegrityFacts, type TimestampSources } from './integrity.ts';
import type { Json } from '../json/parse.ts';
import { causalConsistency } from './layers.ts';
import { eventIndex } from '../id.ts';
import { verifyInclusion } from '../merkle/tree.ts';
import { readRunEvent, type RunEvent } from '../events/run-entry.ts';
import { RunIndex } from '../events/run-index.ts';
import { recordingNames, recordingsLayer, RecordingsJudge } from './recordings.ts';
import { sharedRoot } from '../merkle/shared-path.ts';
import { type Evidence, type LayerResult, layerStatement, type Statement } from './statement.ts';
import type { CheckList, DigestCounts } from './verdict.ts';

/** Results of the earlier steps. */
export interface StatedEvidence {
  /** The valid statements, by layer. */
  readonly statements: ReadonlyMap<string, Statement>;
  readonly evidence: Evidence;
  /** The root of checkpoint S, 32 bytes. */
  readonly root: Uint8Array;
  readonly erased: ErasedDigests;
}

export interface RecomputeResult {
  /** Recomputed layers, and whether each equals its statement. */
  readonly recomputed: ReadonlyMap<string, boolean>;
  readonly digests: DigestCounts | null;
  readonly notes: readonly string[];
}

/**
 * Checks events and graph of a bundle. Add each event in order, then `finish`. Cost: about 25 µs an event with its
 * inclusion proof, 5 µs a graph item. Memory: about 70 bytes an event, and 110 more where all fields are disclosed.
 */
export class Recomputation {
  readonly #frame: BundleFrame;
  readonly #stated: StatedEvidence;
  readonly #checks: CheckList;
  readonly #disclosures: Disclosures;
  readonly #events: EventsCheck;
  readonly #derivation: DerivationCheck | null;
  /** Null if the proof has no such layer, or judges it by rules that this version does not know. */
  readonly #coverage: CoverageJudge | null;
  readonly #recordings: RecordingsJudge | null;

  constructor(frame: BundleFrame, stated: StatedEvidence, checks: CheckList) {
    const { evidence, erased } = stated;
    this.#frame = frame;
    this.#stated = stated;
    this.#checks = checks;
    this.#disclosures = new Disclosures(checks, erased);
    this.#events = new EventsCheck(frame, stated);
    this.#derivation = frame.graph === undefined ? null : new DerivationCheck(frame.graph, evidence.runId);
    const covered = stated.statements.get('x-coverage');
    const rules = covered === undefined ? null : coverageRules(covered.claims);
    this.#coverage = rules === null ? null : new CoverageJudge(rules);
    this.#recordings = stated.statements.has('x-recordings') ? new RecordingsJudge() : null;
  }

  add(enclosed: BundleEvent): void {
    const { index, record, inclusion } = enclosed;
    const bodies = this.#disclosures.add(enclosed) ?? { disclosures: null };
    const event = { ...readRunEvent({ index, record, disclosures: null }), ...bodies };
    this.#events.add(event, inclusion);
    if (!this.#disclosures.complete) return;
    this.#derivation?.add(event);
    this.#coverage?.add(event);
    this.#recordings?.add(event);
  }

  finish(): RecomputeResult {
    const { evidence, root, statements } = this.#stated;
    const checks = this.#checks;
    const disclosed = this.#disclosures.finish();
    const integrity = this.#events.finish(checks);
    const run = integrity === null ? new RunIndex({ hashes: true }) : this.#events.run;
    const statement = statements.get('causal_consistency');
    const graph = checkGraph(this.#frame, { evidence, root, run, statement }, checks);
    const recomputed = new Map<string, boolean>();
    const compare = (result: LayerResult, again: Evidence): void => {
      const statement = statements.get(result.layer);
      if (statement !== undefined) recomputed.set(result.layer, isSame(result, again, statement));
    };
    if (integrity !== null) {
      const claims = statements.get('event_integrity')?.claims;
      const again = eventIntegrity(integrity, statedSources(claims?.['timestampSources']));
      compare(again, { ...evidence, ...integrity.run });
    }
    if (integrity !== null && graph !== null) {
      const { facts, extent } = graph;
      const runEvents = run.below(extent.through ?? extent.graphIndex ?? 0);
      compare(causalConsistency(facts, { ...extent, runEvents }), evidence);
      if (disclosed.complete) this.#derivation?.finish(checks);
    }
    if (integrity !== null && disclosed.complete && this.#coverage !== null) {
      compare(coverageLayer(this.#coverage.finish()), evidence);
    }
    const notes = notesOf(this.#events.run.length, evidence);
    if (integrity !== null && disclosed.complete && this.#recordings !== null) {
      const recordings = this.#recordings.finish();
      compare(recordingsLayer(recordings), evidence);
      notes.push(...recordingNames(recordings));
    }
    checkRecomputed(recomputed, checks);
    return { recomputed, digests: disclosed.counts, notes };
  }
}

function isSame(result: LayerResult, evidence: Evidence, statement: Statement): boolean {
  const again = layerStatement(result, evidence, statement.nonce);
  return again.hash === layerStatement(statement, statement.evidence, statement.nonce).hash;
}

/**
 * Checks that the events belong to the run, are in order, and are in the tree; if all events of the run are present,
 * also the root of the run.
 */
class EventsCheck {
  /** The events so far, with their hashes. */
  readonly run = new RunIndex({ hashes: true });
  readonly #frame: BundleFrame;
  readonly #stated: StatedEvidence;
  /** Assumes that each leaf hash is in the tree, which the inclusion proofs show. */
  readonly #integrity: IntegrityJudge;
  #before = -1;
  /** Why an event is not one of the run in its place. */
  #fault: string | null = null;
  /** Index of the first event with an invalid inclusion proof of its own. */
  #wrong: number | null = null;
  /** Events without an inclusion proof of their own: the first index and the count. */
  #without = { first: -1, count: 0 };

  constructor(frame: BundleFrame, stated: StatedEvidence) {
    const { runId, treeSize } = stated.evidence;
    this.#frame = frame;
    this.#stated = stated;
    this.#integrity = new IntegrityJudge(runId, treeSize);
  }

  /** `inclusion`: the path of the event in the bundle, if it has one of its own. */
  add(event: RunEvent, inclusion: readonly string[] | undefined): void {
    const { index, clear, hash } = event;
    this.#fault ??= this.#faultOf(event);
    this.#before = index;
    this.run.add(index, clear?.eventId ?? '', hash);
    this.#integrity.add(event, hash);
    if (inclusion === undefined) {
      if (this.#without.count++ === 0) this.#without.first = index;
    } else if (this.#wrong === null) {
      const { evidence, root } = this.#stated;
      const path = pathHashes(inclusion);
      const isIncluded = verifyInclusion({ index, size: evidence.treeSize, leaf: hash, path, root });
      if (!isIncluded) this.#wrong = index;
    }
  }

  #faultOf({ index, clear }: RunEvent): string | null {
    if (clear === null || clear.runId !== this.#stated.evidence.runId)
      return `leaf ${index} is not an event of the run`;
    if (index <= this.#before) return `leaf ${index} is out of order`;
    // without a path, nothing else says which leaf it is
    if (eventIndex(clear.eventId) !== index) return `leaf ${index} has the id of another leaf's event`;
    return null;
  }

  /** Returns the facts of the events if all are present and proved to be in the tree, else null. */
  finish(checks: CheckList): IntegrityFacts | null {
    const { evidence } = this.#stated;
    if (!this.#frame.hasEvents) return null;
    const count = this.run.length;
    const all = count > 0 && count === evidence.runEvents;
    const facts = all ? this.#integrity.finish() : null;
    const fault = this.#fault ?? (facts === null ? null : otherRun(facts, evidence));
    if (fault !== null) {
      checks.fail('events', 'EVENTS_MISMATCH', fault);
      return null;
    }
    const { unplaced, wrong } = this.#placement();
    if (wrong !== null || (unplaced !== null && !(all && unplaced.count === count))) {
      const index = wrong ?? unplaced?.first;
      checks.fail('events', 'NOT_INCLUDED', `leaf ${index} has no valid inclusion proof`);
      return null;
    }
    const how = unplaced === null ? 'each in the tree' : 'without paths';
    checks.pass('events', `${count} of ${evidence.runEvents} events, ${how}`);
    return unplaced === null ? facts : null;
  }

  /** The result of every inclusion proof in the bundle: the shared one and those of single events. */
  #placement(): Placement {
    if (this.#wrong !== null) return { wrong: this.#wrong, unplaced: null };
    const { evidence, root } = this.#stated;
    const { eventsInclusion } = this.#frame;
    if (eventsInclusion !== undefined) {
      const computed = sharedRoot(this.run.leaves(), evidence.treeSize, pathHashes(eventsInclusion));
      const same = computed !== null && Buffer.compare(computed, root) === 0;
      return { wrong: same ? null : Math.max(0, this.run.indexAt(0)), unplaced: null };
    }
    return { wrong: null, unplaced: this.#without.count === 0 ? null : this.#without };
  }
}

interface Placement {
  /** Index of an event with an invalid inclusion proof. */
  readonly wrong: number | null;
  /** Events without an inclusion proof: the first index and the count. */
  readonly unplaced: { readonly first: number; readonly count: number } | null;
}

function otherRun({ run }: IntegrityFacts, evidence: Evidence): string | null {
  if (run.runRoot !== evidence.runRoot) return 'the root of the events differs from the root of the run';
  const isSame = run.firstIndex === evidence.firstIndex && run.lastIndex === evidence.lastIndex;
  return isSame ? null : 'the first or last leaf of the events differs from that of the run';
}

function statedSources(value: Json | undefined): TimestampSources | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const counts = Object.values(value).every((count) => Number.isSafeInteger(count));
  return counts ? (value as Record<string, number>) : undefined; // just checked
}

function notesOf(enclosed: number, { runEvents }: Evidence): string[] {
  if (enclosed === 0 || enclosed === runEvents) return [];
  return [`PARTIAL: ${enclosed} of the ${runEvents} events of the run are in the bundle`];
}
