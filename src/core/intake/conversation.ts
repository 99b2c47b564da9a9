/**
 * What all recordings of conversations have in common, as events: instructions, prompts, answers of the model with their
 * tool calls, results, and parts that gov does not understand. Importers of messages translate to these.
 * Tested by `test/core/intake/formats/openai-chat.test.ts` and the tests of the other formats.
 */
import type { Ending } from '../../contract/endings.ts';
import { isObject } from '../json/object.ts';
import { CallIds, readOpenCalls, type OpenCalls } from './call-ids.ts';
import { isSource, type Party, type RunBuilder, type Source } from './run.ts';
import { parseShallow } from './source.ts';
import type { SourceTime } from './time.ts';

export interface Call {
  readonly sourceId: string | undefined;
  readonly name: string;
  readonly arguments: unknown;
  /** `mcp_tool`, or the kind of a tool that the provider runs. */
  readonly type?: string | undefined;
}

export interface Utterance {
  readonly at: SourceTime | null;
  readonly content?: unknown;
  readonly extra?: Source | undefined;
  /** Prefix of the clientEventIds, for sources with ids of their own. */
  readonly key?: string | undefined;
  readonly actor?: Party | undefined;
}

export interface Answer extends Utterance {
  readonly calls?: readonly Call[];
  readonly model?: string | undefined;
  readonly refusal?: string | undefined;
  readonly usage?: unknown;
  /** False: the text goes with the model event even if no call follows. */
  readonly delivers?: boolean;
}

export interface Result extends Utterance {
  readonly sourceId: string | undefined;
  readonly name?: string | undefined;
  readonly outcome: Ending;
  readonly details?: unknown;
}

/** What a later part of a conversation needs of the earlier ones. It is JSON. */
export interface ConversationState {
  /** Results that no model has read, by the agent that asked for them. */
  readonly unread: readonly (readonly [agent: string, ids: readonly string[]])[];
  readonly calls: OpenCalls;
}

/** Reads what `state` returned, after its way through a file. Undefined: it is something else. */
export function readConversationState(value: unknown): ConversationState | undefined {
  if (!isObject(value) || !Array.isArray(value['unread'])) return undefined;
  const calls = readOpenCalls(value['calls']);
  const unread: unknown[] = value['unread'];
  return calls !== undefined && unread.every(isUnread) ? { unread, calls } : undefined;
}

const isUnread = (value: unknown): value is [string, string[]] =>
  Array.isArray(value) && typeof value[0] === 'string' && isTexts(value[1]);

export const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

export class Conversation {
  readonly run: RunBuilder;
  readonly agent: Party;
  readonly #user: Party;
  readonly #model: string | undefined;
  readonly #callIds: CallIds;
  readonly #unread: Map<string, readonly string[]>;
  /** What each call returned last. */
  readonly #returned = new Map<string, unknown>();

  /** `user`: who prompts the agent; absent: a person. */
  constructor(
    run: RunBuilder,
    {
      agent,
      user,
      model,
      earlier,
    }: {
      agent: Party;
      user?: Party | undefined;
      model?: string | undefined;
      earlier?: ConversationState | undefined;
    },
  ) {
    this.run = run;
    this.agent = agent;
    this.#user = user ?? { name: 'user', role: 'user' };
    this.#model = model;
    this.#callIds = new CallIds(run.changes, earlier?.calls);
    this.#unread = new Map(earlier?.unread);
  }

  state(): ConversationState {
    return { unread: [...this.#unread], calls: this.#callIds.state() };
  }

  /** The system prompt, or other text that the harness gave the model. */
  instructed({ at, content, extra, key }: Utterance, name = 'system prompt'): void {
    this.run.add({
      eventType: 'snapshot.captured',
      actor: this.agent,
      action: 'capture',
      resource: { name, type: 'prompt' },
      metadata: { content, extra },
      key,
      at,
    });
  }

  /** The words of a user. */
  prompted({ at, content, extra, key, actor }: Utterance): void {
    this.run.add({
      eventType: 'prompt.submitted',
      actor: actor ?? this.#user,
      action: 'submit',
      metadata: { content, extra },
      key,
      at,
    });
  }

  /** An answer of the model. Returns the clientEventId of its model event. */
  answered(answer: Answer): string {
    const { at, content, extra, key, usage, refusal } = answer;
    const actor = answer.actor ?? this.agent;
    const unread = this.#unread.get(actor.name);
    this.#unread.delete(actor.name);
    this.#callIds.message();
    const calls = (answer.calls ?? []).map((call) => ({
      ...call,
      id: this.#callIds.called(call.sourceId, call.name),
    }));
    const silent = calls.length === 0 && (content ?? null) === null && refusal === undefined;
    const delivered = calls.length === 0 && !silent && answer.delivers !== false;
    const model = answer.model ?? this.#model;
    const invoked = this.run.add({
      eventType: 'model.invoked',
      actor,
      action: 'inference',
      resource: model === undefined ? undefined : { name: model, type: 'model' },
      metadata: {
        // the text appears once: in the delivery, if there is one
        content: delivered ? undefined : content,
        toolCallIds: calls.length === 0 ? undefined : calls.map((call) => call.id),
        toolResultIds: unread,
        toolCallsMissing: silent && answer.delivers !== false ? true : undefined,
        usage,
        extra,
      },
      key,
      at,
    });
    if (delivered) this.#deliver(answer, invoked);
    for (const [index, call] of calls.entries()) this.#called(call, { answer, index });
    return invoked;
  }

  #deliver({ at, content, refusal, key, actor }: Answer, invoked: string): void {
    this.run.add({
      eventType: 'output.delivered',
      actor: actor ?? this.agent,
      action: refusal === undefined ? 'deliver' : 'refuse',
      metadata: { content, refusal, outcome: refusal === undefined ? undefined : 'refused' },
      causedBy: [invoked],
      key: key === undefined ? undefined : `${key}.output`,
      at,
    });
  }

  #called(call: Call & { readonly id: string }, { answer, index }: { answer: Answer; index: number }): void {
    this.run.add({
      eventType: 'tool.call',
      actor: answer.actor ?? this.agent,
      action: 'execute',
      resource: { name: call.name, type: call.type ?? 'tool' },
      metadata: {
        toolCallId: call.id,
        sourceToolCallId: call.id === call.sourceId ? undefined : call.sourceId,
        arguments: call.arguments,
      },
      key: answer.key === undefined ? undefined : `${answer.key}.call${index === 0 ? '' : index + 1}`,
      at: answer.at,
    });
  }

  /** A further call of an answer that was recorded before. Returns its clientEventId. */
  called(call: Call, { at, key, actor, extra }: Utterance, invoked: string | undefined): string {
    const id = this.#callIds.called(call.sourceId, call.name);
    return this.run.add({
      eventType: 'tool.call',
      actor: actor ?? this.agent,
      action: 'execute',
      resource: { name: call.name, type: call.type ?? 'tool' },
      metadata: {
        toolCallId: id,
        sourceToolCallId: id === call.sourceId ? undefined : call.sourceId,
        arguments: call.arguments,
        extra,
      },
      causedBy: invoked === undefined ? undefined : [invoked],
      key,
      at,
    });
  }

  /** The result of a call. */
  returned({ at, content, extra, key, sourceId, name, details, actor, ...result }: Result): void {
    const { id, matched, isGuess } = this.#callIds.answered({ sourceId, name });
    // another call may have ended so
    const outcome = isGuess ? 'unknown' : result.outcome;
    if (this.#isRepeat(id, [content, outcome, details])) return;
    const { name: reader } = actor ?? this.agent;
    if (id !== undefined) this.#unread.set(reader, [...(this.#unread.get(reader) ?? []), id]);
    this.run.add({
      eventType: 'tool.result',
      actor: actor ?? this.agent,
      action: 'return',
      resource: { name: name ?? this.#callIds.nameOf(id) ?? 'unknown', type: 'tool' },
      metadata: {
        toolCallId: id,
        sourceToolCallId: id === sourceId ? undefined : sourceId,
        matchedBy: matched === 'order' || matched === 'name' ? matched : undefined,
        content,
        outcome,
        details,
        extra,
      },
      marks: matched === 'ambiguous' ? ['ambiguous'] : [],
      key,
      at,
    });
  }

  /** Whether a call has returned the same before: a source may send a result again. */
  #isRepeat(id: string | undefined, result: unknown): boolean {
    if (id === undefined) return false;
    const before = this.#returned.get(id);
    const isRepeat = before !== undefined && JSON.stringify(before) === JSON.stringify(result);
    this.#returned.set(id, result);
    if (isRepeat) this.run.changes.add('block_repeated');
    return isRepeat;
  }

  /** A step of the agent or its harness of no kind that is listed before. */
  step(action: string, metadata: Source, { at, key, actor }: Utterance): void {
    this.run.add({ eventType: 'agent.step', actor: actor ?? this.agent, action, metadata, key, at });
  }

  /** A part of the source that gov does not understand: kept whole, with its text, and marked. */
  unknown(what: string, value: unknown, { at, key, actor }: Utterance): void {
    this.run.unknown(what, value, { at, key, actor: actor ?? this.agent });
  }
}

/** Returns arguments as JSON where they are a JSON text, else as they are. */
export function readArguments(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return parseShallow(value);
  } catch {
    return value;
  }
}

/** A block without a type is a text only if its text says so: other programs name their blocks by a member. */
const isText = (part: Source): boolean => typeof part['text'] === 'string';

/** Splits a list of content parts into those of known types and the others. Other content is known. */
export function splitParts(
  content: unknown,
  known: ReadonlySet<string>,
): { readonly content: unknown; readonly unknown: readonly unknown[] } {
  if (!Array.isArray(content)) return { content, unknown: [] };
  const isKnown = (part: unknown): boolean =>
    typeof part === 'string' ||
    (isSource(part) && (part['type'] === undefined ? isText(part) : known.has(String(part['type']))));
  const unknown = content.filter((part) => !isKnown(part));
  return unknown.length === 0 ? { content, unknown } : { content: content.filter(isKnown), unknown };
}

/** Returns the members of an object that have no place in an event; undefined if there are none. */
export function extraOf(source: Source, known: ReadonlySet<string>): Source | undefined {
  const members = Object.entries(source).filter(([name, value]) => !known.has(name) && value !== null);
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

export const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));
