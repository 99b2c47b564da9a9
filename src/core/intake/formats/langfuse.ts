/**
 * Importer `langfuse`: exported traces, `{trace, observations}` or a trace that contains its observations. Each trace is
 * one run with the trace's id. Each observation gives one event at its start, and a tool gives a second one at its end.
 * Ids come from the source alone, so the same trace in two files is the same run. Events are ordered by time, parents
 * first. Tested by `test/core/intake/formats/langfuse.test.ts`.
 */
import type { Ending } from '../../../contract/endings.ts';
import { hasEnded, joinCalls, type JoinedCall } from '../pieces/langfuse-calls.ts';
import {
  calledName,
  endingIn,
  kindOf,
  nameOf,
  parsed,
  readIds,
  type AskedCall,
  type Kind,
  type Observation,
} from '../pieces/langfuse-observation.ts';
import type { Format } from '../format.ts';
import { ancestors, buildTree, distinct, innermostCalls } from '../pieces/langfuse-tree.ts';
import {
  isSource,
  RunBuilder,
  shortHash,
  textOf,
  type Draft,
  type ImportContext,
  type ImportedRun,
  type Party,
  type Source,
} from '../run.ts';
import { readTime } from '../time.ts';

const name = 'langfuse';

const isObservation = (value: unknown): value is Source =>
  isSource(value) &&
  typeof value['id'] === 'string' &&
  typeof value['type'] === 'string' &&
  'startTime' in value;

/** An export may have the observations twice: beside the trace, and in it. */
const listsOf = (document: Source): readonly (readonly unknown[])[] =>
  [
    document['observations'],
    isSource(document['trace']) ? document['trace']['observations'] : undefined,
  ].filter((list) => Array.isArray(list));

const observationsOf = (document: Source): readonly unknown[] => listsOf(document)[0] ?? [];

/** Values of the second list that the first one does not have, by their ids. */
function othersOf(document: Source): readonly unknown[] {
  const [first = [], second = []] = listsOf(document);
  const ids = new Set(first.filter(isSource).map(({ id }) => id));
  return second.filter((value) => !isObservation(value) || !ids.has(value['id']));
}

const isTrace = (value: unknown): value is Source => {
  if (!isSource(value)) return false;
  const trace = isSource(value['trace']) ? value['trace'] : value;
  return (
    typeof trace['id'] === 'string' &&
    Array.isArray(value['observations'] ?? trace['observations']) &&
    observationsOf(value).every(isObservation)
  );
};

const detect = (document: unknown): string | undefined =>
  isTrace(document) || (Array.isArray(document) && document.length > 0 && document.every(isTrace))
    ? 'a trace with observations'
    : undefined;

/** Yields the runs of a document that `detect` accepts. The source controls all of its content. */
function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  for (const entry of Array.isArray(document) ? document : [document]) {
    if (isTrace(entry)) yield importTrace(entry, context);
  }
}

/** Members of a trace that each export computes again from the observations so far. */
const derived = new Set(['latency', 'totalCost', 'updatedAt', 'createdAt', 'htmlPath']);

function importTrace(entry: Source, context: ImportContext): ImportedRun {
  const { observations: _inside, ...trace } = isSource(entry['trace']) ? entry['trace'] : entry;
  const run = new RunBuilder(name, { id: String(trace['id']) }, context);
  const others = othersOf(entry);
  const given = [...observationsOf(entry), ...others].filter(isObservation);
  const observations = buildTree(distinct(given, run.changes));
  const asked = innermostCalls(observations);
  const joined = joinCalls(observations, { asked, changes: run.changes });
  const { input, output, scores, metadata, timestamp, ...facts } = trace;
  const members = Object.entries(facts);
  const agent: Party = { name: textOf(trace['name']) ?? name, role: 'agent' };
  const timed = observations
    .flatMap((observation) => describe(observation, { run, agent, asked, joined }))
    .toSorted((a, b) => byOrder(a.order, b.order) || (a.key < b.key ? -1 : 1));
  run.add({
    eventType: 'run.started',
    actor: agent,
    action: 'start',
    key: 'start',
    at: readTime(timestamp) ?? timed[0]?.at ?? null,
    metadata: {
      importer: name,
      trace: present(Object.fromEntries(members.filter(([member]) => !derived.has(member)))),
      input,
      attributes: parsed(metadata),
    },
  });
  for (const event of timed) run.add(event);
  for (const [at, value] of others.filter((each) => !isObservation(each)).entries())
    run.unknown('a value in a list of observations that is none', value, {
      actor: agent,
      at: undefined,
      key: `other${at}`,
    });
  const last = timed.reduce(
    (late, event) => (event.order[0] > (late?.order[0] ?? 0) ? event : late),
    timed[0],
  );
  const roots = observations.filter(({ parent }) => parent === undefined);
  const isOver = roots.length > 0 && roots.every(({ source }) => readTime(source['endTime']) !== null);
  if (isOver || (output ?? null) !== null) {
    const ended = {
      output,
      scores: Array.isArray(scores) && scores.length === 0 ? undefined : scores,
      observations: observations.length,
      trace: present(Object.fromEntries(members.filter(([member]) => derived.has(member)))),
    };
    run.add({
      eventType: 'run.ended',
      actor: agent,
      action: 'end',
      // a trace may go on after an end, and end again
      key: `end.${shortHash(JSON.stringify(ended))}`,
      at: last?.at ?? readTime(timestamp),
      metadata: ended,
    });
  }
  return run.finish(given.length);
}

interface Surroundings {
  readonly run: RunBuilder;
  readonly agent: Party;
  readonly asked: ReadonlyMap<Observation, readonly AskedCall[]>;
  readonly joined: ReadonlyMap<Observation, JoinedCall>;
}

/**
 * Order within one millisecond: first the container, then tools with their results, then the models that read them. A
 * graph accepts only causes that were recorded before their effects.
 */
type Order = readonly [unixMs: number, rank: number, depth: number];
type OrderedDraft = Draft & { readonly key: string; readonly order: Order };

const byOrder = (a: Order, b: Order): number => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
const rankOf = (kind: Kind): number =>
  kind === 'model' || kind === 'embedding' ? 2 : kind === 'tool' || kind === 'retrieval' ? 1 : 0;

function describe(observation: Observation, { run, agent, asked, joined }: Surroundings): OrderedDraft[] {
  const { source, parent, parentId } = observation;
  const kind = kindOf(observation);
  const start = readTime(source['startTime']);
  const end = readTime(source['endTime']);
  if (start === null) run.changes.add('time_unreadable');
  if (parentId !== undefined && parent === undefined) run.changes.add('parent_unknown');
  const depth = [...ancestors(observation)].length;
  const result = kind === 'tool' ? resultOf(observation) : undefined;
  // the output may contain the id, and may come later
  const call: JoinedCall | undefined =
    joined.get(observation) ?? (result === undefined ? undefined : { id: `import:${observation.id}` });
  const shared = { actor: actorOf(observation, agent), ...callee(observation, kind) };
  const first: OrderedDraft = {
    ...shared,
    key: observation.id,
    at: start,
    order: [start?.unixMs ?? 0, rankOf(kind), depth],
    metadata: {
      parentEventId: parent === undefined ? undefined : run.idOf(parent.id),
      sourceParentId: parentId,
      toolCallId: call?.id,
      matchedBy: call?.matchedBy,
      toolCallIds: some(asked.get(observation)?.map(({ id }) => id)),
      toolResultIds: kind === 'model' ? some(readIds(observation)) : undefined,
      ...particulars(observation, {
        kind,
        durationMs: start === null || end === null ? undefined : end.unixMs - start.unixMs,
      }),
    },
  };
  if (result === undefined) return [first];
  const returned: OrderedDraft = {
    ...shared,
    eventType: 'tool.result',
    action: 'return',
    key: `${observation.id}.result`,
    at: end ?? start,
    order: [(end ?? start)?.unixMs ?? 0, rankOf(kind), depth],
    metadata: {
      parentEventId: run.idOf(observation.id),
      toolCallId: call?.id,
      matchedBy: call?.matchedBy,
      ...result,
      // another call may have ended so
      ...(call?.isGuess === true ? { outcome: 'unknown' } : {}),
    },
    marks: call?.isAmbiguous === true ? ['ambiguous'] : [],
  };
  return [first, returned];
}

/**
 * What a tool returned: its output, or the message of its error. A tool of Langfuse that has ended without an output has
 * returned nothing; a span that only looks like a tool may be a part of one.
 */
function resultOf(observation: Observation): { content: unknown; outcome: Ending } | undefined {
  const { source } = observation;
  const output = source['output'] ?? null;
  const failed = source['level'] === 'ERROR';
  const hasReturned = output !== null || failed || source['type'] === 'TOOL';
  if (!hasReturned || !hasEnded(observation)) return undefined;
  return {
    content: output ?? textOf(source['statusMessage']),
    outcome: endingIn(observation),
  };
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

export const langfuse: Format = {
  name,
  about: 'Exported traces of Langfuse, with their observations',
  expects: '{trace, observations}',
  maps: [
    ['trace', 'run.started; run.ended if it has an output or its roots have ended'],
    ['GENERATION, EMBEDDING', 'model.invoked'],
    ['TOOL', 'tool.call, and tool.result once it has an output or has ended'],
    ['AGENT, CHAIN', 'agent.invoked, workflow.invoked'],
    ['RETRIEVER', 'kb.query'],
    ['GUARDRAIL, EVALUATOR', 'policy.evaluated'],
    ['SPAN, EVENT', 'by its OpenTelemetry attributes or its name, else agent.step'],
  ],
  example: {
    trace: { id: 'trace-1', name: 'agent', timestamp: '2026-01-05T09:00:00Z', output: 'paid' },
    observations: [
      {
        id: 'o1',
        type: 'TOOL',
        name: 'pay',
        startTime: '2026-01-05T09:00:01Z',
        endTime: '2026-01-05T09:00:02Z',
        input: { amount: 5 },
        output: { receipt: 'r-77' },
      },
    ],
  },
  detect,
  runs,
};
