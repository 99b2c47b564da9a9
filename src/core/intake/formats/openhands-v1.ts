/**
 * Event streams of OpenHands from 1.0 on (its agent SDK): one event a line or a list, each with a `kind` and an id of its
 * own. An observation names the action that it answers. Tested by `test/core/intake/formats/openhands-v1.test.ts`.
 */
import { digestOf } from '../../json/digest.ts';
import { Conversation, extraOf, readArguments, splitParts, words } from '../conversation.ts';
import { endingOf } from '../ending.ts';
import type { Format } from '../format.ts';
import {
  idOf,
  isSource,
  RunBuilder,
  textOf,
  type ImportContext,
  type ImportedRun,
  type Source,
} from '../run.ts';
import { readTime } from '../time.ts';

const name = 'openhands-v1';

const isEvent = (value: unknown): value is Source =>
  isSource(value) &&
  typeof value['id'] === 'string' &&
  typeof value['source'] === 'string' &&
  typeof value['kind'] === 'string' &&
  'timestamp' in value;

const isList = (value: unknown): value is readonly Source[] =>
  Array.isArray(value) && value.length > 0 && value.every(isEvent);

const eventsOf = (document: unknown): readonly Source[] | undefined =>
  [document, isSource(document) ? (document['events'] ?? document['items']) : undefined].find(isList);

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  const events = eventsOf(document) ?? [];
  const record = isSource(document) ? document : {};
  const state = events.find((event) => event['key'] === 'full_state')?.['value'];
  const id =
    textOf(record['conversation_id']) ??
    textOf(record['id']) ??
    (isSource(state) ? textOf(state['id']) : undefined);
  // the first event of a stream has an id that no other stream has
  const identity = id === undefined ? { opening: events[0]?.['id'] } : { id };
  const run = new RunBuilder(name, identity, context);
  const system = events.find((event) => event['kind'] === 'SystemPromptEvent');
  const agent = { name: 'openhands', role: 'agent' };
  const writer = new EventWriter(new Conversation(run, { agent }));
  run.add({
    eventType: 'run.started',
    actor: agent,
    action: 'start',
    key: 'start',
    at: readTime(events[0]?.['timestamp']),
    metadata: { importer: name, tools: system?.['tools'] },
  });
  for (const event of events) writer.write(event);
  yield run.finish(events.length);
}

const partTypes = words('text image');
const members = words(
  'id timestamp source kind thought reasoning_content action tool_name tool_call_id tool_call llm_response_id observation action_id llm_message system_prompt',
);

/** Adds the id of the answer of the model, which its telemetry has too. */
const withResponse = ({ llm_response_id: id }: Source, extra?: Source): Source | undefined =>
  textOf(id) === undefined ? extra : { ...extra, responseId: id };

class EventWriter {
  readonly #conversation: Conversation;
  /** The model event of each response, which may ask for several actions. */
  readonly #responses = new Map<unknown, string>();
  /** Own ids of actions, for the observations that name them. */
  readonly #calls = new Map<unknown, string>();

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
  }

  write(event: Source): void {
    const key = this.#conversation.run.keyOf(String(event['id']), event);
    if (key === undefined) return;
    const at = readTime(event['timestamp']);
    if (at === null) this.#conversation.run.changes.add('time_unreadable');
    const said = { at, key, extra: extraOf(event, members) };
    switch (event['kind']) {
      case 'SystemPromptEvent':
        this.#conversation.instructed({ ...said, content: event['system_prompt'] });
        break;
      case 'MessageEvent':
        this.#message(event, said);
        break;
      case 'ActionEvent':
        this.#action(event, said);
        break;
      case 'ObservationEvent':
      case 'UserRejectObservation':
      case 'AgentErrorEvent':
        this.#observation(event, said);
        break;
      case 'ConversationStateUpdateEvent':
        this.#state(event, said);
        break;
      case 'ConversationErrorEvent':
        this.#conversation.run.add({
          eventType: 'run.error',
          actor: this.#conversation.agent,
          action: 'fail',
          metadata: { extra: said.extra },
          key,
          at,
        });
        break;
      case 'PauseEvent':
      case 'Condensation':
      case 'CondensationRequest':
      case 'CondensationSummaryEvent':
      case 'TokenEvent':
      case 'LLMCompletionLogEvent':
        this.#conversation.step(String(event['kind']), { extra: said.extra }, said);
        break;
      default:
        this.#conversation.unknown(`an event of kind ${String(event['kind'])}`, event, said);
    }
  }

  #message(event: Source, said: KeyedPrompt): void {
    const message = isSource(event['llm_message']) ? event['llm_message'] : {};
    const { content, unknown } = splitParts(message['content'], partTypes);
    if (event['source'] === 'user') this.#conversation.prompted({ ...said, content });
    else this.#conversation.answered({ ...said, content, extra: withResponse(event, said.extra) });
    for (const [index, part] of unknown.entries())
      this.#conversation.unknown('a part of a message', part, {
        ...said,
        key: `${said.key}.part${index + 1}`,
      });
  }

  #action(event: Source, said: KeyedPrompt): void {
    const call = isSource(event['tool_call']) ? event['tool_call'] : {};
    const response = event['llm_response_id'] ?? said.key;
    const content = { thought: event['thought'], reasoning: event['reasoning_content'] };
    const invoked =
      this.#responses.get(response) ??
      this.#conversation.answered({
        at: said.at,
        content,
        delivers: false,
        key: `${said.key}.model`,
        extra: withResponse(event),
      });
    this.#responses.set(response, invoked);
    const sourceId = idOf(event['tool_call_id']) ?? said.key;
    this.#calls.set(event['id'], sourceId);
    const { action } = event;
    const asked = readArguments(call['arguments']) ?? action;
    // the model asked for one, and the program ran the other
    const extra = saysNoMore(action, asked) ? said.extra : { ...said.extra, action };
    this.#conversation.called(
      { sourceId, name: textOf(event['tool_name']) ?? textOf(call['name']) ?? 'unknown', arguments: asked },
      { ...said, extra },
      invoked,
    );
  }

  #observation(event: Source, said: KeyedPrompt): void {
    const observation = isSource(event['observation']) ? event['observation'] : {};
    const { content, is_error: isError, ...details } = observation;
    const isRejected = event['kind'] === 'UserRejectObservation';
    if (isRejected) {
      this.#conversation.run.add({
        eventType: 'approval.rejected',
        actor: { name: 'user', role: 'user' },
        action: 'reject',
        metadata: { toolCallId: idOf(event['tool_call_id']), reason: event['rejection_reason'] },
        key: `${said.key}.rejection`,
        at: said.at,
      });
    }
    const hasFailed = isError === true || details['error'] === true || event['kind'] === 'AgentErrorEvent';
    const stated = isRejected
      ? 'refused'
      : details['timeout'] === true
        ? 'timed_out'
        : hasFailed
          ? 'error'
          : undefined;
    this.#conversation.returned({
      ...said,
      sourceId: idOf(event['tool_call_id']) ?? this.#calls.get(event['action_id']),
      name: textOf(event['tool_name']),
      content: content ?? event['error'] ?? event['rejection_reason'],
      // content that a tool printed may hold an error of something else
      outcome: endingOf({ stated: stated ?? 'ok', results: [], record: { ...details, is_error: isError } }),
      details: Object.keys(details).length === 0 ? undefined : details,
    });
  }

  /** A state says that the conversation has finished; others are steps of the program. */
  #state(event: Source, said: KeyedPrompt): void {
    const ended = event['key'] === 'execution_status' && isFinal(event['value']);
    if (!ended) {
      this.#conversation.step('update state', { stateKey: event['key'], value: event['value'] }, said);
      return;
    }
    this.#conversation.run.add({
      eventType: 'run.ended',
      actor: this.#conversation.agent,
      action: 'end',
      metadata: { status: event['value'] },
      key: said.key,
      at: said.at,
    });
  }
}

const isSame = (a: unknown, b: unknown): boolean => b !== undefined && digestOf(a).hash === digestOf(b).hash;

/** Whether an action has nothing but its kind, members without a value, and what the model asked for. */
function saysNoMore(action: unknown, asked: unknown): boolean {
  if (action === undefined || action === null || isSame(action, asked)) return true;
  const given = isSource(asked) ? asked : {};
  return (
    isSource(action) &&
    Object.entries(action).every(
      ([member, value]) =>
        member === 'kind' || value === null || value === false || isSame(value, given[member]),
    )
  );
}

type KeyedPrompt = Parameters<Conversation['prompted']>[0] & { readonly key: string };

const isFinal = (status: unknown): boolean => ['finished', 'error', 'stuck'].includes(String(status));

export const openhandsV1: Format = {
  name,
  about: 'Event streams of OpenHands from 1.0 on',
  expects: 'events with id, source and kind',
  maps: [
    ['SystemPromptEvent', 'snapshot.captured'],
    ['MessageEvent', 'prompt.submitted, or model.invoked and output.delivered'],
    ['ActionEvent', 'model.invoked once for each response, tool.call'],
    ['ObservationEvent, AgentErrorEvent', 'tool.result'],
    ['UserRejectObservation', 'approval.rejected, tool.result'],
    ['ConversationStateUpdateEvent', 'agent.step; run.ended where it says finished, error or stuck'],
    ['ConversationErrorEvent', 'run.error'],
    ['another kind', 'x.unknown'],
  ],
  example: [
    {
      kind: 'ActionEvent',
      id: 'e1',
      timestamp: '2026-01-05T09:00:00',
      source: 'agent',
      tool_name: 'terminal',
      tool_call_id: 'call_1',
      tool_call: { id: 'call_1', name: 'terminal', arguments: '{"command":"ls"}' },
    },
    {
      kind: 'ObservationEvent',
      id: 'e2',
      timestamp: '2026-01-05T09:00:01',
      source: 'environment',
      tool_name: 'terminal',
      tool_call_id: 'call_1',
      action_id: 'e1',
      observation: { content: [{ type: 'text', text: 'README.md' }] },
    },
  ],
  detect: (document) => (eventsOf(document) === undefined ? undefined : 'events with id, source and kind'),
  isLine: isEvent,
  runs,
};
