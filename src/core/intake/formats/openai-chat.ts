/**
 * Conversations as OpenAI-style messages: plain lists, `{messages, …}`, requests with their chat completion, chat
 * completions alone, and τ-bench results (`{task_id, trial, reward, info, traj}`) and displays (`{messages_display}`).
 * Only a τ-bench result says that its run has ended. Tested by `test/core/intake/formats/openai-chat.test.ts`.
 */
import { Conversation } from '../conversation.ts';
import type { Format } from '../format.ts';
import {
  isSource,
  RunBuilder,
  textOf,
  type Identity,
  type ImportContext,
  type ImportedRun,
  type Source,
} from '../run.ts';
import { readTime } from '../time.ts';
import { isMessage, messageTime, opening, writeMessage } from '../pieces/chat-messages.ts';
import { partsProgram } from '../pieces/chat-parts.ts';

const name = 'openai-chat';

/** A conversation of the source and its facts. */
interface ChatRecording {
  readonly identity: Identity;
  readonly messages: readonly Source[];
  readonly agent?: string;
  readonly model?: string | undefined;
  readonly started?: Source;
  /** Absent: the source does not say that the run ended. */
  readonly ended?: Source;
  /** The chat completion that answered the messages. */
  readonly completion?: Source;
}

/** Content blocks that only Anthropic's API has: such messages belong to its importer. */
const foreign = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking']);
const hasForeign = (message: Source): boolean =>
  Array.isArray(message['content']) &&
  message['content'].some((part) => isSource(part) && foreign.has(String(part['type'])));

const isMessages = (value: unknown): value is readonly Source[] =>
  Array.isArray(value) && value.length > 0 && value.every(isMessage);

const isResult = (value: unknown): value is Source & { traj: readonly Source[] } =>
  isSource(value) && Array.isArray(value['traj']) && value['traj'].every(isMessage);

const isDisplay = (value: unknown): value is { messages_display: string } =>
  isSource(value) && typeof value['messages_display'] === 'string';

const isCompletion = (value: unknown): value is Source & { choices: readonly Source[] } =>
  isSource(value) &&
  Array.isArray(value['choices']) &&
  value['choices'].every((choice) => isSource(choice) && isSource(choice['message']));

/** Returns the completion of a document, which may stand alone or beside its request. */
const completionOf = (value: Source): (Source & { choices: readonly Source[] }) | undefined =>
  [value, value['response'], value['completion']].find(isCompletion);

const messagesOf = (value: Source): readonly Source[] | undefined =>
  [value['messages'], isSource(value['request']) ? value['request']['messages'] : undefined].find(isMessages);

function describe(value: unknown): string | undefined {
  if (isResult(value)) return 'τ-bench results with traj';
  if (isDisplay(value)) return 'displays with messages_display';
  if (isMessages(value)) {
    const program = partsProgram(value);
    return program === undefined ? 'messages with role and content' : `messages of ${program}`;
  }
  if (!isSource(value)) return undefined;
  if (completionOf(value) !== undefined) return 'a chat completion with choices';
  return isMessages(value['messages']) ? 'an object with messages' : undefined;
}

function detect(document: unknown): string | undefined {
  const entries: readonly unknown[] =
    Array.isArray(document) && !isMessages(document) ? document : [document];
  const [first] = entries;
  return entries.length > 0 && entries.every((entry) => describe(entry) !== undefined)
    ? describe(first)
    : undefined;
}

/** Yields the runs of a document that `detect` accepts. */
function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  const entries: readonly unknown[] =
    Array.isArray(document) && !isMessages(document) ? document : [document];
  for (const entry of entries) yield write(read(entry, context), context);
}

function read(entry: unknown, context: ImportContext): ChatRecording {
  if (isResult(entry)) return readResult(entry, context);
  if (isDisplay(entry)) return plain(readDisplay(entry.messages_display));
  if (isMessages(entry)) return plain(entry);
  const source = entry as Source; // detect has checked it
  const completion = completionOf(source);
  const { messages: _messages, request, ...others } = source;
  // a request that failed has an error instead of a completion
  const rest = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== completion));
  const messages = messagesOf(source) ?? [];
  const facts =
    completion === source ? {} : { ...rest, ...(isSource(request) ? withoutMessages(request) : {}) };
  return {
    identity: ownId(source, completion) ?? plain(messages).identity,
    messages,
    model: textOf(facts['model']),
    started: Object.keys(facts).length === 0 ? {} : { source: facts },
    ...(completion === undefined ? {} : { completion }),
  };
}

const withoutMessages = ({ messages: _messages, ...rest }: Source): Source => rest;

/** Names under which programs write the id of a conversation. */
const idNames = ['conversation_id', 'conversationId', 'session_id', 'sessionId', 'thread_id', 'trace_id'];

function ownId(source: Source, completion: Source | undefined): Identity | undefined {
  const id = idNames.map((each) => textOf(source[each])).find((each) => each !== undefined);
  const own = id ?? textOf(completion?.['id']);
  return own === undefined ? undefined : { id: own };
}

const plain = (messages: readonly Source[]): ChatRecording => ({
  identity: { opening: opening(messages) },
  messages,
});

/** Reads a τ-bench result. Its files are called `<model>-<domain>.json`. */
function readResult(entry: Source & { traj: readonly Source[] }, context: ImportContext): ChatRecording {
  const [, model, domain] = /^(.+?)-(airline|retail|telecom)\b/.exec(context.sourceName) ?? [];
  const { task_id: taskId, trial, reward, info, traj, ...rest } = entry;
  const facts = isSource(info) ? info : {};
  const task = isSource(facts['task']) ? facts['task'] : {};
  const rewardInfo = isSource(facts['reward_info']) ? facts['reward_info'] : {};
  const prefix = domain === undefined ? 'tau' : `tau-${domain}`;
  return {
    identity:
      taskId === undefined
        ? { opening: opening(traj) }
        : { id: `${prefix}-${String(taskId)}-${String(trial ?? 0)}` },
    messages: traj,
    agent: domain === undefined ? 'assistant' : `${domain}-agent`,
    model,
    started: {
      taskId,
      trial,
      task: facts['task'],
      ...(Object.keys(rest).length > 0 ? { source: rest } : {}),
    },
    ended: {
      messages: traj.length,
      reward,
      // runs without a verdict have no reward_info; the task's own actions are the same list
      groundTruthActions: rewardInfo['actions'] ?? task['actions'],
      rewardInfo: rewardInfo['info'],
      userCost: facts['user_cost'],
      outcome: reward === undefined ? undefined : reward === 1 ? 'success' : 'failure',
    },
  };
}

/**
 * Reads the messages of a display text: `role: content` at the start of a line, `None` for a message with only tool
 * calls.
 */
function readDisplay(display: string): Source[] {
  const parts = display.split(/^(system|user|assistant|tool): /m);
  const messages: Source[] = [];
  if (parts[0] !== undefined && parts[0].trim() !== '') messages.push({ role: 'unknown', content: parts[0] });
  for (let at = 1; at < parts.length; at += 2) {
    const content = (parts[at + 1] ?? '').replace(/\n$/, '');
    messages.push({ role: parts[at], content: content === 'None' ? null : content });
  }
  return messages;
}

function write(recording: ChatRecording, context: ImportContext): ImportedRun {
  const { messages, completion, ended } = recording;
  const run = new RunBuilder(name, recording.identity, context);
  const agent = { name: recording.agent ?? 'assistant', role: 'agent' };
  const conversation = new Conversation(run, { agent, model: recording.model });
  const times = messages.map((message) => messageTime(message));
  const answeredAt = completion === undefined ? null : readTime(completion['created']);
  run.add({
    eventType: 'run.started',
    actor: agent,
    action: 'start',
    at: times.find((time) => time !== null) ?? answeredAt,
    metadata: { importer: name, ...recording.started },
  });
  for (const [index, message] of messages.entries())
    writeMessage(message, conversation, { at: times[index] ?? null });
  const choices = completion === undefined ? [] : (completion['choices'] as readonly Source[]);
  for (const choice of choices) {
    const message = choice['message'] as Source; // isCompletion has checked it
    writeMessage({ role: 'assistant', ...message, model: completion?.['model'] }, conversation, {
      at: answeredAt,
      usage: completion?.['usage'],
      extra: {
        completionId: completion?.['id'],
        finishReason: choice['finish_reason'],
        ...(choices.length > 1 ? { choice: choice['index'] } : {}),
      },
    });
  }
  if (ended !== undefined) {
    run.add({
      eventType: 'run.ended',
      actor: agent,
      action: 'end',
      key: 'end',
      at: times.findLast((time) => time !== null) ?? null,
      metadata: ended,
    });
  }
  return run.finish(messages.length + choices.length);
}

export const openaiChat: Format = {
  name,
  about:
    'OpenAI chat messages, requests and completions; messages of the AI SDK and of Bedrock; τ-bench results',
  expects: 'messages, {messages}, a chat completion, or τ-bench results',
  maps: [
    ['system, developer', 'snapshot.captured'],
    ['user', 'prompt.submitted'],
    ['assistant', 'model.invoked, then a tool.call for each call, or output.delivered for its text'],
    ['assistant with refusal', 'model.invoked, output.delivered with action refuse'],
    ['tool, function; tool-result, toolResult', 'tool.result'],
    ['another role, an unknown part', 'x.unknown'],
    ['τ-bench result', 'run.ended with reward and ground truth'],
  ],
  example: [
    { role: 'user', content: 'Is it cold in Oslo?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '-3' },
    { role: 'assistant', content: 'Yes: -3 degrees.' },
  ],
  detect: (document) => {
    const why = detect(document);
    const list = isMessages(document) ? document : isSource(document) ? messagesOf(document) : undefined;
    return why === undefined || list?.some(hasForeign) === true ? undefined : why;
  },
  accepts: (document) => detect(document) !== undefined,
  isLine: isMessage,
  runs,
};
