/**
 * Session files of Claude Code (`~/.claude/projects/…/<session>.jsonl`). A run is a session; the ids of its lines are the
 * ids of its events. Messages of one answer of the model come as several lines with one message id. The file never says
 * that its session has ended. Tested by `test/core/intake/formats/claude-code.test.ts`.
 */
import { Conversation, readConversationState, words, type ConversationState } from '../conversation.ts';
import type { Format, PartContext, ReadPart } from '../format.ts';
import {
  isSource,
  RunBuilder,
  shortHash,
  textOf,
  type ImportContext,
  type ImportedRun,
  type Source,
} from '../run.ts';
import { readTime } from '../time.ts';
import { readBlocks, writeResults } from '../pieces/anthropic-blocks.ts';
import { branchesOf, factsOf } from '../pieces/claude-branch.ts';
import { Answers, isSynthetic, speaks } from '../pieces/claude-answers.ts';
import { decidedEnding, isInterruption, writtenEnding } from '../pieces/claude-endings.ts';
import { answersOf, isOfSession, partEnd } from '../pieces/claude-parts.ts';
import { ProgressLines, subagent } from '../pieces/claude-progress.ts';
import { queuedPrompt, steeringPrompts } from '../pieces/claude-queue.ts';

const name = 'claude-code';

/** Lines in which the program remembers something about its own session. */
const bookkeeping = words(
  'queue-operation last-prompt atis-latch tools-used api-request cost-state file-history-snapshot summary custom-title ai-title agent-name tag mode pr-link progress permission-mode',
);

const isLine = (value: unknown): value is Source =>
  isSource(value) &&
  typeof value['type'] === 'string' &&
  !('role' in value) &&
  (typeof value['sessionId'] === 'string' ||
    // some of its own lines do not name the session
    (bookkeeping.has(value['type']) && ('leafUuid' in value || 'snapshot' in value)));

const isSession = (value: unknown): value is readonly Source[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every(isLine) &&
  value.some((line) => typeof line['sessionId'] === 'string');

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  const lines = (Array.isArray(document) ? document : [document]) as readonly Source[]; // detect has checked it
  const main = String(lines.find((line) => textOf(line['sessionId']) !== undefined)?.['sessionId']);
  for (const [session, given] of Map.groupBy(lines, (line) => textOf(line['sessionId']) ?? main)) {
    const { own, parents } = branchesOf(session, given, context.copied);
    const run = new RunBuilder(name, { id: session }, context);
    const ofSession = own.filter((line) => !isOfSubagent(line));
    if (!isFileOfSubagent(own)) start(run, ofSession);
    writeLines(run, own);
    for (const [parent, lines] of parents) {
      const repeated = new RunBuilder(name, { id: parent }, { ...context, runId: undefined });
      writeLines(repeated, lines);
      run.inherit(repeated, context.copied?.run === parent ? context.copied.through : undefined);
    }
    yield run.finish(given.length);
  }
}

function writeLines(run: RunBuilder, lines: readonly Source[], earlier?: ConversationState): Conversation {
  const conversation = new Conversation(run, { agent: { name, role: 'agent' }, earlier });
  const writer = new LineWriter(conversation, lines);
  for (const line of lines) writer.write(line);
  return conversation;
}

function readPart(
  lines: readonly Source[],
  context: ImportContext,
  { state, names }: PartContext,
): ReadPart | undefined {
  const session = textOf(state?.['session'] ?? lines.find((line) => 'sessionId' in line)?.['sessionId']);
  const earlier = readConversationState(state?.['conversation']);
  const isFirst = state === undefined;
  if (session === undefined || (earlier === undefined) !== isFirst) return undefined;
  if (!lines.every((line) => isOfSession(line, session))) return undefined;
  // the start of the run says what a later line may say first
  if (isFirst && !(lines.some(isOpening) && lines.some((line) => 'timestamp' in line))) return undefined;
  const answers = answersOf(lines);
  if (answers.values().some((id) => names.has(id))) return undefined;
  for (const id of answers) names.add(id);
  const run = new RunBuilder(name, { id: session }, context);
  if (isFirst) start(run, lines);
  const conversation = writeLines(run, lines, earlier).state();
  return { run: run.finish(lines.length), counts: run.counts, state: { session, conversation } };
}

const isOfSubagent = (line: Source): boolean =>
  line['isSidechain'] === true && textOf(line['agentId']) !== undefined;

/**
 * The file of a subagent is a part of the session, and the start is that of the session's own file. Its lines of
 * housekeeping do not say whose they are; those of a conversation have ids.
 */
const isFileOfSubagent = (own: readonly Source[]): boolean =>
  own.length === 0 ||
  (own.some(isOfSubagent) && !own.some((line) => textOf(line['uuid']) !== undefined && !isOfSubagent(line)));

/** Whether a line says what `start` looks for. */
const isOpening = (line: Source): boolean => textOf(line['version']) !== undefined && 'uuid' in line;

function start(run: RunBuilder, own: readonly Source[]): void {
  const first = own.find(isOpening) ?? {};
  run.add({
    eventType: 'run.started',
    actor: { name, role: 'agent' },
    action: 'start',
    key: 'start',
    at: readTime(own.find((line) => 'timestamp' in line)?.['timestamp']),
    metadata: {
      importer: name,
      version: first['version'],
      entrypoint: first['entrypoint'],
      cwd: first['cwd'],
      gitBranch: first['gitBranch'],
    },
  });
}

class LineWriter {
  readonly #conversation: Conversation;
  /** The model event of each message id. */
  readonly #messages = new Map<string, string>();
  readonly #progress: ProgressLines;
  readonly #answers: Answers;
  readonly #steering: ReadonlyMap<Source, string>;
  /** Contents of results by the id of their call: a session may repeat one. */
  readonly #results = new Map<string, unknown[]>();

  constructor(conversation: Conversation, lines: readonly Source[]) {
    this.#conversation = conversation;
    this.#answers = new Answers(lines);
    this.#steering = steeringPrompts(lines);
    this.#progress = new ProgressLines(conversation, lines);
  }

  write(line: Source): void {
    const type = String(line['type']);
    const steering = this.#steering.get(line);
    if (steering !== undefined) {
      const key = `queue.${shortHash(JSON.stringify([line['timestamp'], steering]))}`;
      this.#conversation.prompted({ at: readTime(line['timestamp']), key, content: steering });
      return;
    }
    if (this.#progress.write(line)) return;
    if (bookkeeping.has(type) && !holdsMessage(line)) {
      this.#conversation.run.changes.add('bookkeeping');
      return;
    }
    const id = textOf(line['uuid']) ?? requestKey(line);
    const key = id === undefined ? undefined : this.#conversation.run.keyOf(id, factsOf(line));
    if (id !== undefined && key === undefined) return;
    const at = readTime(line['timestamp']);
    const actor = line['isSidechain'] === true ? subagent(line['agentId']) : undefined;
    const said = { at, key, actor };
    const message = isSource(line['message']) ? line['message'] : undefined;
    const isSaid = type === 'user' || type === 'assistant';
    if (isSaid && message !== undefined && !isContent(message['content']))
      this.#conversation.unknown('a message without a content that gov understands', line, said);
    else if (type === 'user' && message !== undefined) this.#user(line, message, said);
    else if (type === 'assistant' && message !== undefined) this.#assistant(line, message, said);
    else if (type === 'attachment') this.#attachment(line, said);
    else if (type === 'api-request-shape')
      this.#conversation.instructed({ ...said, content: line['shape'] }, 'request');
    else if (type === 'api-request-blob')
      this.#conversation.instructed({ ...said, content: message ?? line }, 'context');
    else if (type === 'system') {
      const { subtype, content, level } = line;
      this.#conversation.step(`system ${String(subtype)}`, { content, level }, said);
    } else this.#conversation.unknown(`a line of type ${type}`, line, said);
  }

  #user(line: Source, message: Source, said: PromptPart): void {
    const { content, results: given, unknown } = readBlocks(message['content'], 'user');
    if (isInterruption(content)) {
      this.#conversation.step('interrupted', { content }, { ...said, actor: { name: 'user', role: 'user' } });
      return;
    }
    const results = given.filter((block) => this.#isNew(block));
    const isOwn = isOfProgram(line);
    if (content !== undefined) {
      const extra = picked(line, ['promptId', 'permissionMode', 'promptSource']);
      if (isOwn) this.#conversation.instructed({ ...said, content, extra }, 'context');
      else this.#conversation.prompted({ ...said, content, extra, actor: said.actor });
    }
    writeResults(results, this.#conversation, {
      at: said.at,
      actor: said.actor,
      ...(said.key === undefined ? {} : { key: said.key }),
      details: line['toolUseResult'],
      extra: { ...picked(line, ['permissionDecision', 'sandboxed']), ...startedAgent(line) },
      written: (block, details) => decidedEnding(line) ?? writtenEnding(block, details),
    });
    this.#unknown(unknown, said);
  }

  #isNew(block: Source): boolean {
    const id = textOf(block['tool_use_id']);
    if (id === undefined) return true;
    const { content } = block;
    const known = this.#results.get(id) ?? [];
    // a content is compared only where its call has another result
    if (!known.some((each) => JSON.stringify(each) === JSON.stringify(content))) {
      this.#results.set(id, [...known, content]);
      return true;
    }
    this.#conversation.run.changes.add('block_repeated');
    return false;
  }

  #assistant(line: Source, message: Source, said: PromptPart): void {
    const fresh = this.#answers.fresh(message);
    const { content: given } = message;
    if (Array.isArray(fresh) && Array.isArray(given) && fresh.length < given.length) {
      this.#conversation.run.changes.add('block_repeated');
      if (fresh.length === 0) return;
    }
    const { content, calls, results, unknown } = readBlocks(fresh, 'assistant');
    if (isSynthetic(line, message)) {
      this.#synthetic(line, content, said);
      return;
    }
    const id = textOf(message['id']) ?? said.key ?? '';
    const known = this.#messages.get(id);
    const isFinal = speaks(content) && this.#answers.isFinal(message);
    const extra = picked({ ...message, ...line }, ['stop_reason', 'requestId', 'isApiErrorMessage', 'error']);
    const invoked =
      known ??
      this.#conversation.answered({
        ...said,
        key: said.key === undefined ? undefined : `${said.key}.model`,
        content: isFinal ? undefined : content,
        delivers: false,
        model: textOf(message['model']),
        extra: { messageId: message['id'], ...extra },
      });
    this.#messages.set(id, invoked);
    if (content !== undefined && isFinal) this.#deliver(message, content, { said, invoked });
    else if (content !== undefined && known !== undefined)
      this.#conversation.step('say', { content }, { ...said, key: said.key && `${said.key}.text` });
    for (const [index, call] of calls.entries()) {
      const key = said.key && `${said.key}.call${index === 0 ? '' : index + 1}`;
      this.#progress.started(call.sourceId, this.#conversation.called(call, { ...said, key }, invoked));
    }
    writeResults(results, this.#conversation, {
      at: said.at,
      actor: said.actor,
      ...(said.key === undefined ? {} : { key: said.key }),
    });
    this.#unknown(unknown, said);
  }

  /** The program wrote this in place of a model: no model ran, and nobody answered. */
  #synthetic(line: Source, content: unknown, said: PromptPart): void {
    const extra = picked(line, ['requestId', 'isApiErrorMessage', 'error']);
    if (line['isApiErrorMessage'] === true)
      this.#conversation.run.add({
        eventType: 'run.error',
        actor: said.actor ?? this.#conversation.agent,
        action: 'fail',
        metadata: { content, extra },
        key: said.key,
        at: said.at,
      });
    else this.#conversation.step('synthetic message', { content, extra }, said);
  }

  #deliver(
    message: Source,
    content: unknown,
    { said, invoked }: { said: PromptPart; invoked: string },
  ): void {
    const isRefusal = message['stop_reason'] === 'refusal';
    this.#conversation.run.add({
      eventType: 'output.delivered',
      actor: said.actor ?? this.#conversation.agent,
      action: isRefusal ? 'refuse' : 'deliver',
      metadata: { content, usage: message['usage'], outcome: isRefusal ? 'refused' : undefined },
      causedBy: [invoked],
      key: said.key,
      at: said.at,
    });
  }

  #attachment(line: Source, said: PromptPart): void {
    const attachment = isSource(line['attachment']) ? line['attachment'] : {};
    const content = queuedPrompt(attachment, line);
    if (content !== undefined) {
      this.#conversation.prompted({ ...said, content, extra: picked(attachment, ['source_uuid']) });
      return;
    }
    const action = textOf(attachment['hookName']) ?? textOf(attachment['type']) ?? 'attachment';
    this.#conversation.step(`attach ${action}`, { attachment }, said);
  }

  #unknown(blocks: readonly unknown[], said: PromptPart): void {
    for (const [index, block] of blocks.entries())
      this.#conversation.unknown('a content block', block, {
        ...said,
        key: said.key && `${said.key}.part${index + 1}`,
      });
  }
}

/** What the program itself put in, such as the output of a hook or the end of a task, is not the user's. */
const isOfProgram = ({ isMeta, isCompactSummary, origin, message }: Source): boolean =>
  isMeta === true ||
  isCompactSummary === true ||
  (isSource(origin) && textOf(origin['kind']) !== undefined && origin['kind'] !== 'human') ||
  (isSource(message) && isOutput(message['content']));

/** What a command printed that the user typed to the program itself. */
const isOutput = (content: unknown): boolean =>
  typeof content === 'string' &&
  /^<(bash|local-command)-std(?:out|err)>[^]*<\/\1-std(?:out|err)>\s*$/.test(content);

const isContent = (content: unknown): boolean => typeof content === 'string' || Array.isArray(content);

/** Whether a line of housekeeping has a message after all. */
const holdsMessage = ({ message, data }: Source): boolean =>
  [message, isSource(data) ? data['message'] : undefined].some(
    (each) => isSource(each) && ('content' in each || isSource(each['message'])),
  );

/** The subagent that a call started. */
function startedAgent({ toolUseResult: details }: Source): Source | undefined {
  const agentId = isSource(details) ? textOf(details['agentId']) : undefined;
  return agentId === undefined ? undefined : { agentId };
}

/** Parts of requests to the model have no uuid: a session names each by the hash of its content. */
function requestKey(line: Source): string | undefined {
  const hash = textOf(line['shapeHash']) ?? textOf(line['hash']);
  return hash === undefined ? undefined : `${String(line['type'])}.${hash}`;
}

type PromptPart = Pick<Parameters<Conversation['prompted']>[0], 'at' | 'key' | 'actor'>;

function picked(source: Source, names: readonly string[]): Source | undefined {
  const found = names.filter((each) => (source[each] ?? null) !== null);
  return found.length === 0 ? undefined : Object.fromEntries(found.map((each) => [each, source[each]]));
}

export const claudeCode: Format = {
  name,
  about: 'Session files of Claude Code (~/.claude/projects/…/*.jsonl)',
  expects: 'lines with type and sessionId',
  maps: [
    [
      'user: text; a prompt typed during a turn',
      'prompt.submitted; snapshot.captured for text of the program',
    ],
    ['user: tool_result', 'tool.result'],
    ['progress of a subagent: tool_use, tool_result', 'tool.call, tool.result'],
    ['assistant, first line of a message', 'model.invoked'],
    ['assistant: tool_use', 'tool.call'],
    ['assistant: text at the end of a turn', 'output.delivered'],
    ['an error of the API, an interruption by the user', 'run.error, agent.step'],
    ['attachment, system', 'agent.step'],
    ['api-request-shape, api-request-blob', 'snapshot.captured'],
    ['queue-operation, api-request, cost-state and other bookkeeping', 'counted, not recorded'],
    ['lines of its parent that a branch repeats (forkedFrom)', 'counted, not recorded'],
    ['another line or block', 'x.unknown'],
  ],
  example: [
    {
      type: 'user',
      sessionId: 's1',
      uuid: 'u1',
      timestamp: '2026-01-05T09:00:00Z',
      message: { role: 'user', content: 'List the files.' },
    },
    {
      type: 'assistant',
      sessionId: 's1',
      uuid: 'u2',
      timestamp: '2026-01-05T09:00:01Z',
      message: {
        id: 'msg_1',
        role: 'assistant',
        model: 'claude-x',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'ls' } }],
      },
    },
  ],
  detect: (document) =>
    isSession(document) || isSession([document]) ? 'lines with type and sessionId' : undefined,
  isLine,
  runs,
  parts: { end: partEnd, read: readPart },
};
