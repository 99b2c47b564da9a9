/**
 * Importer `langfuse`: exported traces, `{trace, observations}` or a trace that contains its observations. Each trace is
 * one run with the trace's id. Each observation gives one event at its start, and a tool gives a second one at its end.
 * Ids come from the source alone, so the same trace in two files is the same run. Events are ordered by time, parents
 * first. Tested by `test/core/intake/formats/langfuse.test.ts`.
 */
import {
  callIdOf,
  calledName,
  kindOf,
  nameOf,
  parsed,
  readIds,
  type Kind,
  type Observation,
} from './langfuse-observation.ts';
import { ancestors, buildTree, innermostCalls } from './langfuse-tree.ts';
import {
  isSource,
  RunBuilder,
  textOf,
  type Draft,
  type ImportContext,
  type ImportedRun,
  type Party,
  type Source,
} from '../run.ts';
import { readTime } from '../time.ts';

const format = 'langfuse';

const isObservation = (value: unknown): value is Source =>
  isSource(value) &&
  typeof value['id'] === 'string' &&
  typeof value['type'] === 'string' &&
  'startTime' in value;

const observationsOf = (document: Source): readonly unknown[] =>
  [
    document['observations'],
    isSource(document['trace']) ? document['trace']['observations'] : undefined,
  ].find(Array.isArray) ?? [];

const isTrace = (value: unknown): value is Source => {
  if (!isSource(value)) return false;
  const trace = isSource(value['trace']) ? value['trace'] : value;
  return (
    typeof trace['id'] === 'string' &&
    Array.isArray(value['observations'] ?? trace['observations']) &&
    observationsOf(value).every(isObservation)
  );
};

/** Returns whether a document has this format. */
export const detectLangfuse = (document: unknown): boolean =>
  isTrace(document) || (Array.isArray(document) && document.length > 0 && document.every(isTrace));

/** Yields the runs of a document that `detectLangfuse` accepts. The source controls all of its content. */
export function* importLangfuse(document: unknown, context: ImportContext): Generator<ImportedRun> {
  for (const entry of Array.isArray(document) ? document : [document]) {
    if (isTrace(entry)) yield importTrace(entry, context);
  }
}

function importTrace(entry: Source, context: ImportContext): ImportedRun {
  const { observations: _inside, ...trace } = isSource(entry['trace']) ? entry['trace'] : entry;
  const prefix = context.runPrefix === undefined ? '' : `${context.runPrefix}-`;
  const run = new RunBuilder(format, `${prefix}${String(trace['id'])}`, context);
  const observations = buildTree(observationsOf(entry).filter(isObservation));
  const asked = innermostCalls(observations);
  const { input, output, scores, metadata, timestamp, ...facts } = trace;
  const agent: Party = { name: textOf(trace['name']) ?? format, role: 'agent' };
  const timed = observations
    .flatMap((observation) => describe(observation, { run, agent, asked }))
    .toSorted((a, b) => byOrder(a.order, b.order) || (a.key < b.key ? -1 : 1));
  run.add({
    eventType: 'run.started',
    actor: agent,
    action: 'start',
    key: 'start',
    at: timed[0]?.at ?? readTime(timestamp),
    metadata: {
      importer: format,
      observations: observations.length,
      trace: present(facts),
      input,
      attributes: parsed(metadata),
    },
  });
  for (const event of timed) run.add(event);
  const last = timed.reduce(
    (late, event) => (event.order[0] > (late?.order[0] ?? 0) ? event : late),
    timed[0],
  );
  run.add({
    eventType: 'run.ended',
    actor: agent,
    action: 'end',
    key: 'end',
    at: last?.at ?? readTime(timestamp),
    metadata: { output, scores: Array.isArray(scores) && scores.length === 0 ? undefined : scores },
  });
  return run.finish(observations.length);
}

interface Surroundings {
  readonly run: RunBuilder;
  readonly agent: Party;
  readonly asked: ReadonlyMap<Observation, readonly string[]>;
}

/**
 * Order within one millisecond: first the container, then tools with their results, then the models that read them. A
 * graph accepts only causes that were recorded before their effects.
 */
type Order = readonly [unixMs: number, rank: number, depth: number];
type Timed = Draft & { readonly key: string; readonly order: Order };

const byOrder = (a: Order, b: Order): number => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
const rankOf = (kind: Kind): number =>
  kind === 'model' || kind === 'embedding' ? 2 : kind === 'tool' || kind === 'retrieval' ? 1 : 0;

function describe(observation: Observation, { run, agent, asked }: Surroundings): Timed[] {
  const { source, parent, parentId } = observation;
  const kind = kindOf(observation);
  const start = readTime(source['startTime']);
  const end = readTime(source['endTime']);
  if (start === null) run.changes.add('time_unreadable');
  if (parentId !== undefined && parent === undefined) run.changes.add('parent_unknown');
  const depth = [...ancestors(observation)].length;
  const toolCallId = kind === 'tool' ? (callIdOf(observation) ?? `import:${observation.id}`) : undefined;
  const shared = { actor: actorOf(observation, agent), ...callee(observation, kind) };
  const first: Timed = {
    ...shared,
    key: observation.id,
    at: start,
    order: [start?.unixMs ?? 0, rankOf(kind), depth],
    metadata: {
      parentEventId: parent === undefined ? undefined : run.idOf(parent.id),
      sourceParentId: parent === undefined ? parentId : undefined,
      toolCallId,
      toolCallIds: some(asked.get(observation)),
      toolResultIds: kind === 'model' ? some(readIds(observation)) : undefined,
      ...particulars(observation, {
        kind,
        durationMs: start === null || end === null ? undefined : end.unixMs - start.unixMs,
      }),
    },
  };
  if (kind !== 'tool' || (source['output'] ?? null) === null) return [first];
  const failed = source['level'] === 'ERROR';
  const result: Timed = {
    ...shared,
    eventType: 'tool.result',
    action: 'return',
    key: `${observation.id}.result`,
    at: end ?? start,
    order: [(end ?? start)?.unixMs ?? 0, rankOf(kind), depth],
    metadata: {
      parentEventId: run.idOf(observation.id),
      toolCallId,
      content: source['output'],
      outcome: failed ? 'error' : 'ok',
    },
  };
  return [first, result];
}

const some = (ids: readonly string[] | undefined): readonly string[] | undefined =>
  ids === undefined || ids.length === 0 ? undefined : ids;

/** Returns the content of an observation, without content that other events or members have. */
function particulars(
  { source, metadata }: Observation,
  { kind, durationMs }: { kind: Kind; durationMs: number | undefined },
): Source {
  const {
    id: _id,
    traceId: _trace,
    parentObservationId: _parent,
    metadata: _metadata,
    startTime: _start,
    ...rest
  } = source;
  const {
    name,
    type,
    input,
    output,
    model,
    modelParameters,
    usageDetails,
    costDetails,
    endTime,
    level,
    ...others
  } = rest;
  return {
    name,
    sourceType: type,
    endTime,
    durationMs,
    level: level === 'DEFAULT' ? undefined : level,
    [kind === 'tool' ? 'arguments' : 'input']: kind === 'tool' ? parsed(input) : input,
    output: kind === 'tool' ? undefined : output,
    model,
    modelParameters: present(modelParameters),
    usage: present(usageDetails),
    cost: present(costDetails),
    attributes: metadata,
    other: present(others),
  };
}

/** Returns the non-empty members of an object; undefined if all are empty. */
function present(value: unknown): Source | undefined {
  if (!isSource(value)) return undefined;
  const members = Object.entries(value).filter(
    ([, member]) =>
      member !== null && member !== 0 && !(typeof member === 'object' && Object.keys(member).length === 0),
  );
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

/** Returns the actor: the nearest agent above, else the service, else the trace. */
function actorOf(observation: Observation, fallback: Party): Party {
  for (const above of ancestors(observation)) {
    if (kindOf(above) === 'agent') return { name: calledName(above, 'agent'), role: 'agent' };
  }
  const { metadata } = observation;
  const resource =
    isSource(metadata) && isSource(metadata['resourceAttributes']) ? metadata['resourceAttributes'] : {};
  const service = textOf(resource['service.name']);
  return service === undefined || service.startsWith('unknown_service')
    ? fallback
    : { name: service, role: 'agent' };
}

function callee(observation: Observation, kind: Kind): Pick<Draft, 'eventType' | 'action' | 'resource'> {
  const model: Party = { name: textOf(observation.source['model']) ?? 'unknown', type: 'model' };
  switch (kind) {
    case 'model':
      return { eventType: 'model.invoked', action: 'inference', resource: model };
    case 'embedding':
      return { eventType: 'model.invoked', action: 'embed', resource: model };
    case 'tool':
      return {
        eventType: 'tool.call',
        action: 'execute',
        resource: { name: calledName(observation, 'tool'), type: 'tool' },
      };
    case 'agent':
      return {
        eventType: 'agent.invoked',
        action: 'invoke',
        resource: { name: calledName(observation, 'agent'), type: 'agent' },
      };
    case 'retrieval':
      return {
        eventType: 'kb.query',
        action: 'query',
        resource: { name: nameOf(observation), type: 'data' },
      };
    case 'guardrail':
      return { eventType: 'policy.evaluated', action: 'decide' };
    case 'workflow':
      return { eventType: 'workflow.invoked', action: 'invoke' };
    case 'step':
      return { eventType: 'agent.step', action: nameOf(observation) };
  }
}
