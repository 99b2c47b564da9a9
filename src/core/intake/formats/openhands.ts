/**
 * Importer `openhands`: event streams of OpenHands. It reads saved trajectories (a list of events), records of its
 * benchmarks and resolver (`{history, …}`), old histories without ids and times, and lists of [action, observation]
 * pairs. A `cause` of the source becomes `causedBy`, and nothing else does, so the graph's `causes` edges are the source's
 * own. Tested by `test/core/intake/formats/openhands.test.ts`.
 */
import { hash } from 'node:crypto';
import {
  isSource,
  RunBuilder,
  textOf,
  type Draft,
  type Identity,
  type ImportContext,
  type ImportedRun,
  type Party,
  type Source,
} from '../run.ts';
import type { Ending } from '../../../contract/endings.ts';
import { endingOf } from '../ending.ts';
import type { Format } from '../format.ts';
import { readTime } from '../time.ts';

const name = 'openhands';

/** The tool's own events also have an action, and in addition an eventType. */
const isEvent = (value: unknown): value is Source =>
  isSource(value) &&
  (typeof value['action'] === 'string' || typeof value['observation'] === 'string') &&
  !('eventType' in value);

const isHistory = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((item) => (Array.isArray(item) ? item.every(isEvent) : isEvent(item)));

const isRecord = (value: unknown): value is Source & { history: readonly unknown[] } =>
  isSource(value) && isHistory(value['history']) && !('trajectory' in value);

function detect(document: unknown): string | undefined {
  if (isHistory(document)) return 'events with action or observation';
  const records = Array.isArray(document) ? document : [document];
  return records.length > 0 && records.every(isRecord) ? 'records with a history of events' : undefined;
}

/** Yields the runs of a document that `detect` accepts. The source controls all of its content. */
function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  if (isHistory(document)) {
    const file = context.sourceName.replace(/(\.jsonl?)+$/i, '');
    const identity = { opening: document[0], name: `openhands-${file || 'import'}` };
    yield importHistory(document, { identity, record: {} }, context);
    return;
  }
  for (const record of Array.isArray(document) ? document : [document]) {
    if (!isRecord(record)) continue;
    const { history, ...rest } = record;
    yield importHistory(history, { identity: identityOf(rest, history), record: rest }, context);
  }
}

function identityOf(record: Source, history: readonly unknown[]): Identity {
  const instance = textOf(record['instance_id']);
  if (instance !== undefined) return { id: `openhands-${instance}` };
  const issue = record['issue'];
  if (!isSource(issue)) return { opening: history[0] };
  return { id: ['openhands', issue['owner'], issue['repo'], issue['number']].map(String).join('-') };
}

function importHistory(
  history: readonly unknown[],
  { identity, record }: { identity: Identity; record: Source },
  context: ImportContext,
): ImportedRun {
  const events = history.flat() as Source[]; // detectOpenHands has checked it
  const run = new RunBuilder(name, identity, context);
  const agent: Party = { name: agentName(record, events), role: 'agent' };
  const times = events.map((event) => readTime(event['timestamp']));
  const known = times.filter((time) => time !== null);
  const { test_result: testResult, metrics, error, git_patch: gitPatch, success, ...facts } = record;
  run.add({
    eventType: 'run.started',
    actor: agent,
    action: 'start',
    key: 'start',
    at: known[0] ?? null,
    metadata: {
      importer: name,
      source: Object.keys(facts).length > 0 ? facts : null,
    },
  });
  // a cause may follow its effect, so all ids are known before the first event is written
  const keys = new Map(events.map((event, index) => [event['id'], String(index)]));
  const responses = new Set<string>();
  const seen = new Map<unknown, string>();
  for (const [index, event] of events.entries()) {
    const own = hash('sha256', JSON.stringify(event), 'hex');
    if (event['id'] !== undefined && seen.get(event['id']) === own) {
      run.changes.add('id_repeated');
      continue;
    }
    seen.set(event['id'], own);
    run.add({
      ...describe(event, { agent, responses }),
      ...causeOf(event, { run, keys }),
      key: String(index),
      at: times[index] ?? null,
    });
    if (event['timestamp'] !== undefined && times[index] === null) run.changes.add('time_unreadable');
  }
  // a record of a benchmark is written after its run; a list of events does not say that no more follow
  const outcome = { testResult, metrics, error, gitPatch, success };
  if (Object.values(outcome).some((value) => (value ?? null) !== null)) {
    run.add({
      eventType: 'run.ended',
      actor: agent,
      action: 'end',
      key: 'end',
      at: known.at(-1) ?? null,
      metadata: { events: events.length, ...outcome },
    });
  }
  return run.finish(events.length);
}

function agentName(record: Source, events: readonly Source[]): string {
  const metadata = record['metadata'];
  const named = isSource(metadata) ? textOf(metadata['agent_class']) : undefined;
  const system = events.find((event) => event['action'] === 'system')?.['args'];
  return named ?? (isSource(system) ? textOf(system['agent_class']) : undefined) ?? 'openhands';
}

/** Returns the event's `cause` as a clientEventId. A cause that the file lacks stays in the metadata alone. */
function causeOf(
  event: Source,
  { run, keys }: { run: RunBuilder; keys: ReadonlyMap<unknown, string> },
): { causedBy?: readonly string[] } {
  const cause = event['cause'];
  if (cause === undefined || cause === null) return {};
  const key = keys.get(cause);
  if (key === undefined) run.changes.add('cause_unknown');
  return key === undefined ? {} : { causedBy: [run.idOf(key)] };
}

interface Surroundings {
  readonly agent: Party;
  /** Ids of model responses that an earlier event contains in full. */
  readonly responses: Set<string>;
}

function describe(event: Source, { agent, responses }: Surroundings): Draft {
  const call = isSource(event['tool_call_metadata']) ? event['tool_call_metadata'] : undefined;
  const kind = kindOf(event, call);
  const { id, timestamp, source, message, cause, action, observation, content, ...rest } = event;
  const { tool_call_metadata: _call, args, extras, ...others } = rest;
  // old events have their details next to `action` or `observation`, new ones in `args` (actions) or `extras` (observations)
  const old = args === undefined && extras === undefined;
  const { content: said, ...particulars } = toSource(old ? others : (args ?? extras));
  const text = content ?? said;
  return {
    eventType: kind.eventType,
    actor: actorOf(source ?? (action === 'message' ? 'user' : 'agent'), agent),
    action: kind.action,
    resource: kind.resource,
    metadata: {
      sourceId: id,
      sourceCause: cause,
      sourceKind: action ?? observation,
      sourceTime: readTime(timestamp) === null ? timestamp : undefined,
      content: text,
      message: message === text ? undefined : message,
      [observation === undefined ? 'arguments' : 'details']: particulars,
      outcome: observation === undefined ? undefined : outcomeOf(event),
      ...callMetadata(call, responses),
      other: old || Object.keys(others).length === 0 ? undefined : others,
    },
  };
}

/** Returns a member that should be an object; keeps any other value under the name `value`. */
const toSource = (value: unknown): Source => (isSource(value) ? value : value === undefined ? {} : { value });

/** Keeps a model's response in full with the first event that it led to. */
function callMetadata(call: Source | undefined, responses: Set<string>): Source {
  if (call === undefined) return {};
  const { tool_call_id: toolCallId, function_name: functionName, model_response: response, ...rest } = call;
  const responseId = isSource(response) ? textOf(response['id']) : undefined;
  const repeated = responseId !== undefined && responses.has(responseId);
  if (responseId !== undefined) responses.add(responseId);
  return {
    toolCallId,
    functionName,
    modelResponseId: responseId,
    modelResponse: repeated ? undefined : response,
    callDetails: Object.keys(rest).length === 0 ? undefined : rest,
  };
}

function actorOf(source: unknown, agent: Party): Party {
  switch (source) {
    case 'user':
      return { name: 'user', role: 'user', type: 'human' };
    case 'agent':
      return agent;
    default:
      return { name: String(source), role: 'environment' };
  }
}

interface Kind {
  readonly eventType: string;
  readonly action: string;
  readonly resource?: Party;
}

/** Actions that are tool calls even if the source names no function. */
const toolActions = new Set(
  'run run_ipython read write edit browse browse_interactive call_tool_mcp mcp task_tracking'.split(' '),
);

function kindOf(event: Source, call: Source | undefined): Kind {
  const action = textOf(event['action']);
  const name = action ?? textOf(event['observation']) ?? 'null';
  const tool: Party = {
    name: (call === undefined ? undefined : textOf(call['function_name'])) ?? name,
    type: /mcp/.test(name) ? 'mcp_tool' : 'tool',
  };
  return action === undefined ? observationKind(name, tool, call) : actionKind(event, { action, tool, call });
}

function actionKind(
  event: Source,
  { action, tool, call }: { action: string; tool: Party; call: Source | undefined },
): Kind {
  switch (action) {
    case 'system':
      return {
        eventType: 'snapshot.captured',
        action: 'capture',
        resource: { name: 'system prompt', type: 'prompt' },
      };
    case 'message':
      return event['source'] === 'agent'
        ? { eventType: 'output.delivered', action: 'deliver' }
        : { eventType: 'prompt.submitted', action: 'submit' };
    case 'finish':
    case 'reject':
      return { eventType: 'output.delivered', action };
    case 'recall':
      return { eventType: 'kb.query', action: 'query', resource: { name: 'recall', type: 'data' } };
    case 'delegate':
      return { eventType: 'agent.invoked', action: 'invoke', resource: { name: 'delegate', type: 'agent' } };
    default:
      return call !== undefined || toolActions.has(action)
        ? { eventType: 'tool.call', action: 'execute', resource: tool }
        : { eventType: 'agent.step', action };
  }
}

function observationKind(observation: string, tool: Party, call: Source | undefined): Kind {
  switch (observation) {
    case 'recall':
      return { eventType: 'memory.read', action: 'read', resource: { name: 'recall', type: 'data' } };
    case 'error':
      return { eventType: 'run.error', action: 'fail' };
    case 'user_rejected':
      return { eventType: 'approval.rejected', action: 'reject' };
    default:
      return call !== undefined || toolActions.has(observation)
        ? { eventType: 'tool.result', action: 'return', resource: tool }
        : { eventType: 'agent.step', action: `observe ${observation}` };
  }
}

/** By an exit code, `success`, the editor's `ERROR:`, or a result of MCP. */
function outcomeOf(event: Source): Ending {
  if (event['observation'] === 'user_rejected') return 'refused';
  const { observation, content, success } = event;
  const extras = isSource(event['extras']) ? event['extras'] : {};
  const shell = isSource(extras['metadata']) ? extras['metadata'] : {};
  const exitCode = event['exit_code'] ?? extras['exit_code'] ?? shell['exit_code'];
  const isError =
    observation === 'error' ||
    success === false ||
    (typeof content === 'string' && content.startsWith('ERROR'));
  const facts = [event, { exit_code: exitCode, success: typeof success === 'boolean' ? success : undefined }];
  return endingOf({
    stated: isError ? 'error' : undefined,
    results: String(observation).includes('mcp') ? [...facts, content] : facts,
  });
}

export const openhands: Format = {
  name,
  about: 'Event streams and benchmark records of OpenHands before 1.0',
  expects: 'a list of events or {history}',
  maps: [
    ['message of a user, of the agent', 'prompt.submitted, output.delivered'],
    ['an action that calls a tool', 'tool.call'],
    ['its observation', 'tool.result'],
    ['cause', 'causedBy'],
    ['error observation', 'run.error'],
    ['the outcome in a record', 'run.ended'],
  ],
  example: [
    { id: 0, source: 'user', action: 'message', args: { content: 'List the files.' } },
    { id: 1, source: 'agent', action: 'run', args: { command: 'ls' } },
    { id: 2, source: 'agent', observation: 'run', content: 'README.md', cause: 1 },
  ],
  detect,
  isLine: isEvent,
  runs,
};
