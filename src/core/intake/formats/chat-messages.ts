/**
 * Chat messages in OpenAI's form, as events. The header of `chat.ts` has the table.
 * Tested by `test/core/intake/formats/openai-chat.test.ts`.
 */
import { CallIds } from '../call-ids.ts';
import { isSource, textOf, type Party, type RunBuilder, type Source } from '../run.ts';
import { parseLoose } from '../source.ts';
import { readTime, type SourceTime } from '../time.ts';

export const isMessage = (value: unknown): value is Source =>
  isSource(value) &&
  typeof value['role'] === 'string' &&
  ('content' in value || 'tool_calls' in value || 'function_call' in value);

/** Returns the time of a message, if it has one. */
export const messageTime = (message: Source): SourceTime | null =>
  readTime(message['timestamp'] ?? message['created_at'] ?? message['created']);

/** Converts the messages of a run to events, one by one. */
export class MessageWriter {
  readonly #run: RunBuilder;
  readonly #agent: Party;
  readonly #model: string | undefined;
  readonly #callIds: CallIds;
  #unreadResults: string[] = [];

  constructor(run: RunBuilder, { agent, model }: { agent: Party; model: string | undefined }) {
    this.#run = run;
    this.#agent = agent;
    this.#model = model;
    this.#callIds = new CallIds(run.changes);
  }

  write(message: Source, at: SourceTime | null): void {
    switch (message['role']) {
      case 'system':
      case 'developer':
        this.#run.add({
          eventType: 'snapshot.captured',
          actor: this.#agent,
          action: 'capture',
          resource: { name: 'system prompt', type: 'prompt' },
          metadata: { content: message['content'], extra: extra(message) },
          at,
        });
        break;
      case 'user':
        this.#run.add({
          eventType: 'prompt.submitted',
          actor: { name: textOf(message['name']) ?? 'user', role: 'user', type: 'human' },
          action: 'submit',
          metadata: { content: message['content'], extra: extra(message) },
          at,
        });
        break;
      case 'assistant':
        this.#assistant(message, at);
        break;
      case 'tool':
      case 'function':
        this.#result(message, at);
        break;
      default:
        this.#run.add({
          eventType: 'agent.step',
          actor: { name: String(message['role']) },
          action: 'record',
          metadata: { content: message['content'], extra: extra(message) },
          at,
        });
    }
  }

  #assistant(message: Source, at: SourceTime | null): void {
    const calls = readCalls(message).map((call) =>
      Object.assign(call, { id: this.#callIds.called(call.sourceId, call.name) }),
    );
    const silent = calls.length === 0 && (message['content'] ?? null) === null;
    const delivered = calls.length === 0 && !silent;
    const model = textOf(message['model']) ?? this.#model;
    const invoked = this.#run.add({
      eventType: 'model.invoked',
      actor: this.#agent,
      action: 'inference',
      resource: model === undefined ? undefined : { name: model, type: 'model' },
      metadata: {
        // the text appears once: in the delivery, if there is one
        content: delivered ? undefined : message['content'],
        toolCallIds: calls.length === 0 ? undefined : calls.map((call) => call.id),
        toolResultIds: this.#unreadResults.length === 0 ? undefined : this.#unreadResults,
        toolCallsMissing: silent ? true : undefined,
        extra: extra(message),
      },
      at,
    });
    this.#unreadResults = [];
    if (delivered) {
      this.#run.add({
        eventType: 'output.delivered',
        actor: this.#agent,
        action: 'deliver',
        metadata: { content: message['content'] },
        causedBy: [invoked],
        at,
      });
    }
    for (const call of calls) {
      this.#run.add({
        eventType: 'tool.call',
        actor: this.#agent,
        action: 'execute',
        resource: { name: call.name, type: 'tool' },
        metadata: {
          toolCallId: call.id,
          sourceToolCallId: call.id === call.sourceId ? undefined : call.sourceId,
          arguments: call.arguments,
        },
        at,
      });
    }
  }

  #result(message: Source, at: SourceTime | null): void {
    const sourceId = textOf(message['tool_call_id']);
    const toolCallId = this.#callIds.answered(sourceId);
    if (toolCallId !== undefined) this.#unreadResults.push(toolCallId);
    const content = message['content'];
    const name = textOf(message['name']) ?? this.#callIds.nameOf(toolCallId) ?? 'unknown';
    this.#run.add({
      eventType: 'tool.result',
      actor: this.#agent,
      action: 'return',
      resource: { name, type: 'tool' },
      metadata: {
        toolCallId,
        sourceToolCallId: toolCallId === sourceId ? undefined : sourceId,
        content,
        outcome: typeof content === 'string' && content.startsWith('Error') ? 'error' : 'ok',
        extra: extra(message),
      },
      at,
    });
  }
}

interface Call {
  readonly sourceId: string | undefined;
  readonly name: string;
  readonly arguments: unknown;
}

/** Returns the calls of an assistant message, in the current form (`tool_calls`) or the old one (`function_call`). */
export function readCalls(message: Source): Call[] {
  const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'].filter(isSource) : [];
  const old = message['function_call'];
  return [...calls, ...(isSource(old) ? [{ function: old }] : [])].map((call: Source) => {
    const called = [call['function'], call['custom']].find(isSource) ?? call;
    return {
      sourceId: textOf(call['id']),
      name: textOf(called['name']) ?? 'unknown',
      arguments: readArguments(called['arguments'] ?? called['input']),
    };
  });
}

function readArguments(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return parseLoose(value);
  } catch {
    return value;
  }
}

const known = new Set(
  'role content tool_calls function_call tool_call_id name timestamp created created_at model'.split(' '),
);

/** Returns members of a message that have no place in an event. */
function extra(message: Source): Source | undefined {
  const members = Object.entries(message).filter(([name, value]) => !known.has(name) && value !== null);
  return members.length === 0 ? undefined : Object.fromEntries(members);
}
