/**
 * Step 7 of the verification: the events and the graph that a bundle encloses are held against the tree of S and
 * against what the layers state, and the layers that follow from them are computed again. A layer is
 * *recomputed* only where everything it depends on is enclosed; else it stays *attested*, the word of the log.
 * All of it may be an attacker's; nothing here throws on it. Proven by `test/core/proof/verify.test.ts`.
 */
import { checkRecomputed } from './artifact.ts';
import { type Bundle, pathHashes } from './bundle.ts';
import { openDisclosures } from './disclosed.ts';
import type { ErasedDigests } from './erasures.ts';
import { checkDerivation, checkGraph } from './check-graph.ts';
import { EventIntegrity, eventIntegrity, type IntegrityFacts, type TimestampSources } from './integrity.ts';
import type { Json } from '../json/parse.ts';
import { causalConsistency } from './layers.ts';
import { verifyInclusion } from '../merkle/tree.ts';
import { readRunEvent, type RunEvent } from '../event/run-entry.ts';
import { RunIndex } from '../event/run-index.ts';
import { sharedRoot } from '../merkle/shared-path.ts';
import { type Evidence, type LayerResult, layerStatement, type Statement } from './statement.ts';
import type { CheckList, DigestCounts } from './verdict.ts';

/** What the earlier steps found. */
export interface Stated {
  /** The statements that hold, by layer. */
  readonly statements: ReadonlyMap<string, Statement>;
  readonly evidence: Evidence | null;
  /** The root of checkpoint S, 32 bytes. */
  readonly root: Uint8Array | null;
  readonly erased: ErasedDigests;
}

export interface Recomputation {
  /** Layers that were computed again, and whether they came out as stated. */
  readonly recomputed: ReadonlyMap<string, boolean>;
  readonly digests: DigestCounts | null;
  readonly notes: readonly string[];
}

/** Checks what is enclosed. Cost: about 25 µs an event with its path, 5 µs a graph item. */
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
 * The enclosed events are events of the run, in order, and in the tree; where they are all of them, they have
 * the run's root. What they amount to where they are all, and all are shown to be in the tree; else null.
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
    if (clear === null || clear.runId !== evidence.runId) return fail(`leaf ${index} is no event of the run`);
    if (index <= before) return fail(`leaf ${index} is out of order`);
    before = index;
  }
  const all = events.length > 0 && events.length === evidence.runEvents;
  const facts = all ? integrityOf(events, evidence) : null;
  if (facts !== null && facts.run.runRoot !== evidence.runRoot) {
    return fail('the events do not have the root of the run');
  }
  const { unplaced, wrong } = placement(enclosure, events);
  if (wrong !== null || (unplaced !== null && !(all && unplaced.count === events.length))) {
    const index = wrong ?? unplaced?.first;
    checks.fail('events', 'NOT_INCLUDED', `leaf ${index} is not shown to be in the tree`);
    return null;
  }
  const how = unplaced === null ? 'each in the tree' : 'without paths';
  checks.pass('events', `${events.length} of ${evidence.runEvents} events, ${how}`);
  return unplaced === null ? facts : null;
}

interface Placement {
  /** The index of an event whose path is wrong. */
  readonly wrong: number | null;
  /** Events without a path: the first index, and how many. */
  readonly unplaced: { readonly first: number; readonly count: number } | null;
}

/** Every path that is enclosed is checked, the shared one and those of single events. */
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

/** Judged as if each leaf hash were the tree's, which `placement` shows. */
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
  return [`PARTIAL: ${enclosed} of the ${runEvents} events of the run are enclosed`];
}
