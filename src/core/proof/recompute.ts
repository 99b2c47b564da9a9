/**
 * Step 7 of the verification: compares events and graph of a bundle with the tree of S and with the layers.
 * It recomputes each layer that follows from them. A layer is *recomputed* only if the bundle has everything that it
 * depends on; otherwise it stays *attested*, stated by the log only. Attacker controlled; nothing here throws.
 * Proven by `test/core/proof/verify.test.ts`.
 */
import { checkRecomputed } from './artifact.ts';
import { type Bundle, pathHashes } from './bundle.ts';
import { openDisclosures } from './disclosed.ts';
import type { ErasedDigests } from './erasures.ts';
import { checkDerivation, checkGraph } from './check-graph.ts';
import { CoverageJudge } from '../coverage/judge.ts';
import { coverageLayer } from './coverage.ts';
import { EventIntegrity, eventIntegrity, type IntegrityFacts, type TimestampSources } from './integrity.ts';
import type { Json } from '../json/parse.ts';
import { causalConsistency } from './layers.ts';
import { eventIndex } from '../id.ts';
import { verifyInclusion } from '../merkle/tree.ts';
import { readRunEvent, type RunEvent } from '../event/run-entry.ts';
import { RunIndex } from '../event/run-index.ts';
import { sharedRoot } from '../merkle/shared-path.ts';
import { type Evidence, type LayerResult, layerStatement, type Statement } from './statement.ts';
import type { CheckList, DigestCounts } from './verdict.ts';

/** Results of the earlier steps. */
export interface Stated {
  /** The valid statements, by layer. */
  readonly statements: ReadonlyMap<string, Statement>;
  readonly evidence: Evidence | null;
  /** The root of checkpoint S, 32 bytes. */
  readonly root: Uint8Array | null;
  readonly erased: ErasedDigests;
}

export interface Recomputation {
  /** Recomputed layers, and whether each equals its statement. */
  readonly recomputed: ReadonlyMap<string, boolean>;
  readonly digests: DigestCounts | null;
  readonly notes: readonly string[];
}

/** Checks events and graph of a bundle. Cost: about 25 µs an event with its inclusion proof, 5 µs a graph item. */
export function recompute(bundle: Bundle, stated: Stated, checks: CheckList): Recomputation {
  const recomputed = new Map<string, boolean>();
  const { evidence, root, statements } = stated;
  if (evidence === null || root === null) return { recomputed, digests: null, notes: [] };
  const enclosed = bundle.events ?? [];
  const disclosed = openDisclosures(enclosed, checks, stated.erased);
  const events = enclosed.map(({ index, record }, at) => {
    const bodies = disclosed.bodies[at] ?? { disclosures: null };
    return { ...readRunEvent({ index, record, disclosures: null }), ...bodies };
  });
  const integrity = checkEvents({ bundle, evidence, root, checks }, events);
  const run = indexOf(integrity === null ? [] : events);
  const statement = statements.get('causal_consistency');
  const graph = checkGraph(bundle, { evidence, root, run, statement }, checks);
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
    const { facts, graphIndex } = graph;
    compare(causalConsistency(facts, { graphIndex, runEvents: run.below(graphIndex) }), evidence);
    if (disclosed.complete) checkDerivation(bundle, events.slice(0, facts.events), checks);
  }
  if (integrity !== null && disclosed.complete && statements.has('x-coverage')) {
    const coverage = new CoverageJudge();
    for (const event of events) coverage.add(event);
    compare(coverageLayer(coverage.finish()), evidence);
  }
  checkRecomputed(recomputed, checks);
  return { recomputed, digests: disclosed.counts, notes: notesOf(events.length, evidence) };
}

function isSame(result: LayerResult, evidence: Evidence, statement: Statement): boolean {
  const again = layerStatement(result, evidence, statement.nonce);
  return again.hash === layerStatement(statement, statement.evidence, statement.nonce).hash;
}

interface Enclosure {
  readonly bundle: Bundle;
  readonly evidence: Evidence;
  /** The root of checkpoint S, 32 bytes. */
  readonly root: Uint8Array;
  readonly checks: CheckList;
}

/**
 * Checks that the events belong to the run, are in order, and are in the tree; if all events of the run are present,
 * also the root of the run. Returns their facts if all are present and proved to be in the tree, else null.
 */
function checkEvents(enclosure: Enclosure, events: readonly RunEvent[]): IntegrityFacts | null {
  const { bundle, evidence, checks } = enclosure;
  if (bundle.events === undefined) return null;
  const fail = (detail: string): null => {
    checks.fail('events', 'EVENTS_MISMATCH', detail);
    return null;
  };
  let before = -1;
  for (const { index, clear } of events) {
    if (clear === null || clear.runId !== evidence.runId)
      return fail(`leaf ${index} is not an event of the run`);
    if (index <= before) return fail(`leaf ${index} is out of order`);
    // without a path, nothing else says which leaf it is
    if (eventIndex(clear.eventId) !== index) return fail(`leaf ${index} has the id of another leaf's event`);
    before = index;
  }
  const all = events.length > 0 && events.length === evidence.runEvents;
  const facts = all ? integrityOf(events, evidence) : null;
  if (facts !== null && facts.run.runRoot !== evidence.runRoot) {
    return fail('the root of the events differs from the root of the run');
  }
  if (
    facts !== null &&
    (facts.run.firstIndex !== evidence.firstIndex || facts.run.lastIndex !== evidence.lastIndex)
  ) {
    return fail('the first or last leaf of the events differs from that of the run');
  }
  const { unplaced, wrong } = placement(enclosure, events);
  if (wrong !== null || (unplaced !== null && !(all && unplaced.count === events.length))) {
    const index = wrong ?? unplaced?.first;
    checks.fail('events', 'NOT_INCLUDED', `leaf ${index} has no valid inclusion proof`);
    return null;
  }
  const how = unplaced === null ? 'each in the tree' : 'without paths';
  checks.pass('events', `${events.length} of ${evidence.runEvents} events, ${how}`);
  return unplaced === null ? facts : null;
}

interface Placement {
  /** Index of an event with an invalid inclusion proof. */
  readonly wrong: number | null;
  /** Events without an inclusion proof: the first index and the count. */
  readonly unplaced: { readonly first: number; readonly count: number } | null;
}

/** Checks every inclusion proof in the bundle: the shared one and those of single events. */
function placement({ bundle, evidence, root }: Enclosure, events: readonly RunEvent[]): Placement {
  const { events: enclosed = [], eventsInclusion } = bundle;
  const size = evidence.treeSize;
  const without: number[] = [];
  for (const [at, { index, hash }] of events.entries()) {
    const path = enclosed[at]?.inclusion;
    if (path === undefined) without.push(index);
    else if (!verifyInclusion({ index, size, leaf: hash, path: pathHashes(path), root })) {
      return { wrong: index, unplaced: null };
    }
  }
  if (eventsInclusion !== undefined) {
    const computed = sharedRoot(events, size, pathHashes(eventsInclusion));
    const same = computed !== null && Buffer.compare(computed, root) === 0;
    return { wrong: same ? null : (events[0]?.index ?? 0), unplaced: null };
  }
  const [first] = without;
  return { wrong: null, unplaced: first === undefined ? null : { first, count: without.length } };
}

function indexOf(events: readonly RunEvent[]): RunIndex {
  const run = new RunIndex({ hashes: true });
  for (const { index, clear, hash } of events) run.add(index, clear?.eventId ?? '', hash);
  return run;
}

/** Checks the events on the assumption that each leaf hash is in the tree, which `placement` checks. */
function integrityOf(events: readonly RunEvent[], { runId, treeSize }: Evidence): IntegrityFacts {
  const integrity = new EventIntegrity(runId, treeSize);
  for (const event of events) integrity.add(event, event.hash);
  return integrity.finish();
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
