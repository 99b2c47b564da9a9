/**
 * The tree of observations in a Langfuse trace. Tested by `test/core/intake/formats/langfuse.test.ts`.
 */
import { askedCalls, kindOf, parsed, type AskedCall, type Observation } from './langfuse-observation.ts';
import { readTime } from '../time.ts';
import type { Changes } from '../fit.ts';
import { isSource, textOf, type Source } from '../run.ts';

/**
 * Returns each observation once. Of several versions of one observation the newest counts; different observations under one
 * id are numbered. Both are counted.
 */
export function distinct(sources: readonly Source[], changes: Changes): Source[] {
  const kept = new Map<string, Source>();
  for (const source of sources) {
    const id = String(source['id']);
    let place = id;
    for (let number = 2; isOther(kept.get(place), source); number++) place = `${id}~${number}`;
    const before = kept.get(place);
    if (before !== undefined) changes.add('version_replaced');
    else if (place !== id) changes.add('observation_numbered');
    if (before === undefined || !isNewer(before, source)) kept.set(place, { ...source, id: place });
  }
  return [...kept.values()];
}

/** Whether two observations of one id are not versions of each other: what was known at the start differs. */
const isOther = (before: Source | undefined, after: Source): boolean =>
  before !== undefined &&
  ['name', 'type', 'startTime', 'input'].some((member) => {
    const [a, b] = [before[member] ?? null, after[member] ?? null];
    return a !== null && b !== null && JSON.stringify(a) !== JSON.stringify(b);
  });

/** Whether `a` is newer than `b`: by updatedAt, else by having ended. The later of equals counts. */
function isNewer(a: Source, b: Source): boolean {
  const [first, second] = [a['updatedAt'], b['updatedAt']].map(readTime);
  if (first && second && first.unixMs !== second.unixMs) return first.unixMs > second.unixMs;
  return (a['endTime'] ?? null) !== null && (b['endTime'] ?? null) === null;
}

/** Returns observations with their parents. A parent is never below its child. */
export function buildTree(sources: readonly Source[]): Observation[] {
  const byId = new Map(sources.map((source) => [String(source['id']), source]));
  const built = new Map<string, Observation>();
  const build = (source: Source, below: ReadonlySet<string>): Observation => {
    const id = String(source['id']);
    const known = built.get(id);
    if (known !== undefined) return known;
    const parentId = textOf(source['parentObservationId']);
    const parent = parentId === undefined || below.has(parentId) ? undefined : byId.get(parentId);
    const metadata = parsed(source['metadata']);
    const attributes = isSource(metadata) && isSource(metadata['attributes']) ? metadata['attributes'] : {};
    const observation: Observation = {
      id,
      source,
      metadata,
      attributes,
      parentId,
      parent: parent === undefined ? undefined : build(parent, new Set([...below, id])),
    };
    built.set(id, observation);
    return observation;
  };
  return sources.map((source) => build(source, new Set([String(source['id'])])));
}

/** Yields the containers of an observation, from the inside out. */
export function* ancestors(observation: Observation): Generator<Observation> {
  for (let above = observation.parent; above !== undefined; above = above.parent) yield above;
}

/** Returns the calls of each model observation. A wrapper repeats its model's output, so the innermost one counts. */
export function innermostCalls(observations: readonly Observation[]): Map<Observation, AskedCall[]> {
  const models = observations.filter((observation) => kindOf(observation) === 'model');
  const asked = new Map(models.map((model) => [model, askedCalls(model)]));
  for (const [model, calls] of asked) {
    const ids = new Set(calls.map(({ id }) => id));
    for (const above of ancestors(model)) {
      const outer = asked.get(above);
      if (outer !== undefined)
        asked.set(
          above,
          outer.filter(({ id }) => !ids.has(id)),
        );
    }
  }
  return asked;
}
