/**
 * Importer `openai-chat`: conversations as OpenAI-style messages. Reads τ-bench results (`{task_id, trial, reward,
 * info, traj}`) and few-shot displays (`{messages_display}`), `{messages, …}`, and plain lists of messages.
 *
 * | message | events |
 * |---|---|
 * | system, developer | snapshot.captured |
 * | user | prompt.submitted |
 * | assistant | model.invoked, then one tool.call per call, or output.delivered for its text |
 * | tool, function | tool.result |
 *
 * Each run begins with run.started and ends with run.ended. Tested by `test/core/intake/formats/openai-chat.test.ts`.
 */
import { isMessage, messageTime, MessageWriter } from './chat-messages.ts';
import {
  isSource,
  RunBuilder,
  runName,
  textOf,
  type ImportContext,
  type ImportedRun,
  type Party,
  type Source,
} from '../run.ts';

const format = 'openai-chat';

/** A conversation of the source and its facts. */
interface Conversation {
  readonly name: string;
  readonly messages: readonly Source[];
  readonly agent: string;
  readonly model: string | undefined;
  readonly started: Source;
  readonly ended: Source;
}

const isMessages = (value: unknown): value is readonly Source[] =>
  Array.isArray(value) && value.length > 0 && value.every(isMessage);

const isResult = (value: unknown): value is Source & { traj: readonly Source[] } =>
  isSource(value) && Array.isArray(value['traj']) && value['traj'].every(isMessage);

const isDisplay = (value: unknown): value is { messages_display: string } =>
  isSource(value) && typeof value['messages_display'] === 'string';

const isConversation = (value: unknown): boolean =>
  isResult(value) ||
  isDisplay(value) ||
  (isSource(value) && isMessages(value['messages'])) ||
  isMessages(value);

/** Returns whether a document has this format. */
export const detectChat = (document: unknown): boolean =>
  isConversation(document) ||
  (Array.isArray(document) && document.length > 0 && document.every(isConversation));

/** Yields the runs of a document that `detectChat` accepts. The source controls all of its content. */
export function* importChat(document: unknown, context: ImportContext): Generator<ImportedRun> {
  const several = Array.isArray(document) && !isMessages(document);
  const entries: readonly unknown[] = several ? document : [document];
  for (const [index, entry] of entries.entries()) {
    yield importConversation(readConversation(entry, several ? index + 1 : undefined, context), context);
  }
}

function readConversation(entry: unknown, number: number | undefined, context: ImportContext): Conversation {
  const name = runName(entry, context, number);
  if (isResult(entry)) return readResult(entry, name, context);
  const plain = { name, agent: 'assistant', model: undefined, started: {}, ended: {} };
  if (isDisplay(entry)) return { ...plain, messages: readDisplay(entry.messages_display) };
  if (isMessages(entry)) return { ...plain, messages: entry };
  const { messages, ...rest } = entry as Source;
  return {
    ...plain,
    messages: messages as readonly Source[], // detectChat has checked it
    model: textOf(rest['model']),
    started: { source: rest },
  };
}

/** Reads a τ-bench result. Its files are called `<model>-<domain>.json`. */
function readResult(
  entry: Source & { traj: readonly Source[] },
  fallbackName: string,
  context: ImportContext,
): Conversation {
  const [, model, domain] = /^(.+?)-(airline|retail|telecom)\b/.exec(context.sourceName) ?? [];
  const prefix = context.runPrefix ?? (domain === undefined ? 'tau' : `tau-${domain}`);
  const { task_id: taskId, trial, reward, info, traj, ...rest } = entry;
  const facts = isSource(info) ? info : {};
  const task = isSource(facts['task']) ? facts['task'] : {};
  const rewardInfo = isSource(facts['reward_info']) ? facts['reward_info'] : {};
  return {
    name: taskId === undefined ? fallbackName : `${prefix}-${String(taskId)}-${String(trial ?? 0)}`,
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

function importConversation(conversation: Conversation, context: ImportContext): ImportedRun {
  const run = new RunBuilder(format, conversation.name, context);
  const times = conversation.messages.map((message) => messageTime(message));
  const known = times.filter((time) => time !== null);
  const agent: Party = { name: conversation.agent, role: 'agent' };
  const writer = new MessageWriter(run, { agent, model: conversation.model });
  run.add({
    eventType: 'run.started',
    actor: agent,
    action: 'start',
    at: known[0] ?? null,
    metadata: { importer: format, messages: conversation.messages.length, ...conversation.started },
  });
  for (const [index, message] of conversation.messages.entries()) writer.write(message, times[index] ?? null);
  run.add({
    eventType: 'run.ended',
    actor: agent,
    action: 'end',
    at: known.at(-1) ?? null,
    metadata: conversation.ended,
  });
  return run.finish(conversation.messages.length);
}
