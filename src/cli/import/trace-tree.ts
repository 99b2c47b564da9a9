/**
 * The tree of observations in a Langfuse trace. Proven by `test/cli/import/langfuse.test.ts`.
 */
import { askedIds, kindOf, parsed, type Observation } from './observation.ts';
import { isSource, textOf, type Source } from './run.ts';

/** Observations with their parents found; where ids repeat, the first stands. A parent never lies below its child. */
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

/** The observations around one, from the inside out. */
export function* ancestors(observation: Observation): Generator<Observation> {
  for (let above = observation.parent; above !== undefined; above = above.parent) yield above;
}

/** Calls per model observation. A wrapper around a model repeats its output; the innermost has asked. */
export function innermostCalls(observations: readonly Observation[]): Map<Observation, string[]> {
  const models = observations.filter((observation) => kindOf(observation) === 'model');
  const asked = new Map(models.map((model) => [model, askedIds(model)]));
  for (const [model, ids] of asked) {
    for (const above of ancestors(model)) {
      const outer = asked.get(above);
      if (outer !== undefined)
        asked.set(
          above,
          outer.filter((id) => !ids.includes(id)),
        );
    }
  }
  return asked;
}
