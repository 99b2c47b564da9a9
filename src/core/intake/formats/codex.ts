/**
 * Rollout files of Codex (`~/.codex/sessions/…/rollout-*.jsonl`). A run is a session with its subagents; the position of
 * a line is the id of its event. What a fork repeats of its parent is inherited: counted, without events. Items are those of the Responses API. Messages that the program itself wrote are no prompts.
 * Tested by `test/core/intake/formats/codex.test.ts`.
 */
import { isStepOfCodex } from '../codex-steps.ts';
import { Conversation, readArguments, words } from '../conversation.ts';
import type { Ending } from '../../../contract/endings.ts';
import { endingOf } from '../ending.ts';
import type { Format, PartContext, ReadPart } from '../format.ts';
import {
  idOf,
  isSource,
  RunBuilder,
  textOf,
  type ImportContext,
  type ImportedRun,
  type Party,
  type Source,
} from '../run.ts';
import { readTime, type SourceTime } from '../time.ts';
import { exitIn, isBlocked, isFailureEvent, writtenEnding } from '../pieces/codex-endings.ts';
import {
  isOfThread,
  openingOf,
  partEnd,
  readRolloutState,
  type CallNotes,
  type RolloutState,
} from '../pieces/codex-parts.ts';
import { isOfProgram, SaidWords } from '../pieces/codex-words.ts';
import { threadOf, type Thread } from '../pieces/codex-thread.ts';
import { ItemWriter } from '../pieces/openai-items.ts';

const name = 'codex';

const types = words(
  'session_meta response_item event_msg turn_context world_state compacted token_usage_record inter_agent_communication_metadata',
);
/** Messages that repeat what other lines say, or say only how the program is doing. */
const repeats = words(
  'user_message agent_message agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break token_count item_started thread_settings_applied thread_name_updated exec_command_begin exec_command_end mcp_tool_call_begin mcp_tool_call_end patch_apply_begin patch_apply_end web_search_begin web_search_end view_image_tool_call turn_diff stream_error',
);

type Line = Source & { readonly payload: Source };

const isKnownLine = (value: unknown): value is Line =>
  isSource(value) && types.has(String(value['type'])) && isSource(value['payload']);

/** A newer release may write lines of other types. */
const isLine = (value: unknown): value is Line =>
  isKnownLine(value) ||
  (isSource(value) &&
    typeof value['type'] === 'string' &&
    typeof value['timestamp'] === 'string' &&
    isSource(value['payload']));

const isRollout = (value: unknown): value is readonly Line[] =>
  Array.isArray(value) && value.every(isLine) && value.some(isKnownLine);

/** Items as they stand in the file, by what is written of them. */
const itemsOf = new WeakMap<object, Source>();
const originOf = (value: unknown): unknown => (isSource(value) ? (itemsOf.get(value) ?? value) : value);
const withOrigins = ({ placeOf, ...context }: ImportContext): ImportContext => ({
  ...context,
  placeOf: placeOf && ((value: unknown) => placeOf(originOf(value))),
});

function* runs(document: unknown, given: ImportContext): Generator<ImportedRun> {
  const context = withOrigins(given);
  const lines = (Array.isArray(document) ? document : [document]) as readonly Line[];
  const thread = threadOf(lines);
  const meta = lines.find((line) => line['type'] === 'session_meta')?.payload ?? {};
  const id = thread.session ?? thread.id;
  const run = new RunBuilder(name, id === undefined ? { opening: lines[0] } : { id }, context);
  const agent = agentOf(thread);
  const turn = lines.slice(thread.ownFrom).find((line) => line['type'] === 'turn_context')?.payload;
  // another agent prompts a subagent
  const user = thread.session === undefined ? undefined : agent;
  const conversation = new Conversation(run, { agent, user, model: textOf(turn?.['model']) });
  const base = thread.session === undefined ? '' : `${thread.id}.`;
  start(meta, { conversation, base, at: readTime(lines[0]?.['timestamp']) });
  writeLines(lines, { conversation, base, from: thread.ownFrom });
  inherit(lines.slice(0, thread.ownFrom), { thread, run, context });
  yield run.finish(lines.length);
}

function readPart(
  document: readonly Source[],
  context: ImportContext,
  { state: given, ...part }: PartContext,
): ReadPart | undefined {
  if (!document.every(isLine)) return undefined;
  const state = given === undefined ? openingOf(document) : readRolloutState(given);
  if (state === undefined || !document.every((line) => isOfThread(line, state.id))) return undefined;
  const run = new RunBuilder(name, { id: state.id }, withOrigins(context));
  const conversation = new Conversation(run, {
    agent: { name, role: 'agent' },
    model: state.model,
    earlier: given === undefined ? undefined : state.conversation,
  });
  if (given === undefined) {
    const meta = document.find(({ type }) => type === 'session_meta')?.payload ?? {};
    start(meta, { conversation, base: '', at: readTime(document[0]?.['timestamp']) });
  }
  const said = new SaidWords(document, part);
  const writer = new LineWriter(conversation, { base: '', said, state });
  for (const [index, line] of document.entries()) writer.write(line, index);
  if (said.isUnsure) return undefined;
  return {
    run: run.finish(document.length),
    counts: run.counts,
    state: {
      ...state,
      lines: state.lines + document.length,
      notes: writer.notes(),
      conversation: conversation.state(),
    },
  };
}

/** A subagent is an actor in the run of its session, as the hooks of Codex name it. */
const agentOf = ({ session, id }: Thread): Party => ({
  name: session === undefined || id === undefined ? name : `${name}/${id}`,
  role: 'agent',
});

function start(
  meta: Source,
  { conversation, base, at }: { conversation: Conversation; base: string; at: SourceTime | null },
): void {
  const { instructions, base_instructions: given, ...facts } = meta;
  conversation.run.add({
    // a subagent starts no run
    eventType: base === '' ? 'run.started' : 'agent.invoked',
    actor: conversation.agent,
    action: 'start',
    key: `${base}start`,
    at,
    metadata: { importer: name, source: Object.keys(facts).length === 0 ? undefined : facts },
  });
  const contents = [instructions, given].filter((each) => (each ?? null) !== null);
  for (const [index, content] of contents.entries())
    conversation.instructed({
      content,
      at: null,
      key: `${base}instructions${index === 0 ? '' : index + 1}`,
    });
}

function writeLines(
  lines: readonly Line[],
  { conversation, base, from }: { conversation: Conversation; base: string; from: number },
): void {
  const writer = new LineWriter(conversation, { base, said: new SaidWords(lines) });
  for (const [index, line] of lines.entries()) if (index >= from) writer.write(line, index);
}

/** Counts what the parent's lines say, as facts of its run. */
function inherit(
  lines: readonly Line[],
  { thread, run, context }: { thread: Thread; run: RunBuilder; context: ImportContext },
): void {
  if (thread.parent === undefined || lines.length === 0) return;
  const parent = new RunBuilder(name, { id: thread.parent }, { ...context, runId: undefined });
  const conversation = new Conversation(parent, { agent: { name, role: 'agent' } });
  writeLines(lines, { conversation, base: '', from: 0 });
  run.inherit(parent);
}

class LineWriter {
  readonly #conversation: Conversation;
  readonly #items: ItemWriter;
  /** Exit codes of commands by call id: the output says them only in words. */
  readonly #exits: Map<string, number>;
  /** Call ids of patches and MCP tools that failed: the output says it only in words. */
  readonly #failed: Set<string>;
  /** Threads of subagents by the call that started them. */
  readonly #started: Map<string, string>;
  /** Call ids of what Codex does for itself. */
  readonly #steps: Set<unknown>;
  /** Call ids of outputs. */
  readonly #ended = new Set<unknown>();
  /** Lines of earlier parts. */
  readonly #before: number;

  /** Put before keys, so that the threads of one run stay apart. */
  readonly #base: string;
  readonly #said: SaidWords;

  constructor(
    conversation: Conversation,
    { base, said, state }: { base: string; said: SaidWords; state?: RolloutState },
  ) {
    this.#conversation = conversation;
    this.#base = base;
    this.#said = said;
    this.#before = state?.lines ?? 0;
    this.#exits = new Map(state?.notes.exits);
    this.#failed = new Set(state?.notes.failed);
    this.#started = new Map(state?.notes.started);
    this.#steps = new Set(state?.notes.steps);
    this.#items = new ItemWriter(conversation, state?.notes.invoked);
  }

  /** Of calls whose outputs have not come. */
  notes(): CallNotes {
    const isOpen = (call: string): boolean => !this.#ended.has(call);
    return {
      exits: [...this.#exits].filter(([call]) => isOpen(call)),
      failed: [...this.#failed].filter(isOpen),
      started: [...this.#started].filter(([call]) => isOpen(call)),
      steps: [...this.#steps].map(String),
      invoked: this.#items.invoked,
    };
  }

  write(line: Line, index: number): void {
    const { payload } = line;
    const ordinal = line['ordinal'];
    const id = `${this.#base}line${typeof ordinal === 'number' ? ordinal : this.#before + index}`;
    const key = this.#conversation.run.keyOf(id, line);
    if (key === undefined) return;
    const at = readTime(line['timestamp']);
    switch (line['type']) {
      case 'session_meta':
        break;
      case 'response_item':
        this.#item(payload, { at, key });
        break;
      case 'turn_context':
      case 'world_state':
        this.#captured(String(line['type']).replace('_', ' '), payload, { at, key });
        break;
      case 'compacted':
        this.#conversation.step('compact', { content: payload }, { at, key });
        break;
      case 'token_usage_record':
      // says only whether the message between agents after it begins a turn
      case 'inter_agent_communication_metadata':
        this.#conversation.run.changes.add('bookkeeping');
        break;
      case 'event_msg':
        this.#event(payload, { at, key }, index);
        break;
      default:
        this.#conversation.unknown(`a line of type ${String(line['type'])}`, payload, { at, key });
    }
  }

  #item(item: Source, said: KeyedPrompt): void {
    const { internal_chat_message_metadata_passthrough: passed, ...own } = item;
    itemsOf.set(own, item);
    if (own['type'] === 'message' && own['role'] === 'user' && isOfProgram(own, passed)) {
      this.#conversation.instructed({ ...said, content: own['content'] }, 'context');
      return;
    }
    if (own['type'] === 'ghost_snapshot') {
      this.#conversation.step('snapshot', { content: own }, said);
      return;
    }
    if (own['type'] === 'additional_tools') {
      this.#captured('tools', own, said);
      return;
    }
    if (this.#isStep(own)) {
      this.#conversation.step(String(own['type']), { content: own }, said);
      return;
    }
    const exit = this.#exits.get(String(own['call_id'])) ?? exitIn(own['output']);
    const isOutput = String(own['type']).endsWith('_output');
    if (isOutput) this.#ended.add(own['call_id']);
    const blocked = isOutput && isBlocked(own['output']);
    const agentId = this.#started.get(String(own['call_id'])) ?? startedAgent(own['output']);
    this.#items.write(own, {
      ...said,
      ending: isOutput ? this.#endingOf(own, { exit, blocked }) : undefined,
      extra: isOutput
        ? {
            ...(blocked ? { blocked } : exit === undefined ? {} : { exitCode: exit }),
            ...(agentId === undefined ? {} : { agentId }),
          }
        : undefined,
    });
  }

  /** What the program gives its model beside words. */
  #captured(what: string, content: Source, { at, key }: KeyedPrompt): void {
    this.#conversation.run.add({
      eventType: 'snapshot.captured',
      actor: this.#conversation.agent,
      action: 'capture',
      resource: { name: what, type: 'configuration' },
      metadata: { content },
      key,
      at,
    });
  }

  #endingOf(
    { call_id: call, output }: Source,
    { exit, blocked }: { exit: number | undefined; blocked: boolean },
  ): Ending | undefined {
    const written = blocked ? 'denied' : writtenEnding(output);
    if (written !== undefined) return written;
    if (exit === 0 && !this.#failed.has(String(call))) return 'ok';
    const isFailed = this.#failed.has(String(call)) || exit !== undefined;
    return isFailed ? endingOf({ stated: 'error', results: [output] }) : undefined;
  }

  /** Whether an item is a step of Codex itself, or its output, or a message between agents, which is no prompt of a person. */
  #isStep({ type, name: tool, namespace, arguments: input, call_id: call }: Source): boolean {
    const isSearch = type === 'tool_search_call' || type === 'tool_search_output';
    const isCall = type === 'function_call' && textOf(namespace) === undefined && isStepOfCodex(tool, input);
    if (isCall) this.#steps.add(call);
    return (
      type === 'agent_message' ||
      isSearch ||
      isCall ||
      (type === 'function_call_output' && this.#steps.has(call))
    );
  }

  #event(payload: Source, said: KeyedPrompt, index: number): void {
    const type = String(payload['type']);
    const item = isSource(payload['item']) ? payload['item'] : {};
    const exit = item['exit_code'] ?? payload['exit_code'];
    const call = idOf(payload['call_id']) ?? idOf(item['id']);
    if (typeof exit === 'number' && call !== undefined) this.#exits.set(call, exit);
    if (call !== undefined && isFailureEvent(payload)) this.#failed.add(call);
    const started = textOf(payload['new_thread_id']);
    if (call !== undefined && started !== undefined) this.#started.set(call, started);
    const { message } = payload;
    if (type === 'user_message' && this.#said.lacks('user', message, index))
      this.#conversation.prompted({ ...said, content: message });
    else if (type === 'agent_message' && this.#said.lacks('assistant', message, index))
      this.#conversation.step('say', { content: message }, said);
    else if (repeats.has(type) || type === 'item_completed')
      this.#conversation.run.changes.add('bookkeeping');
    else if (/^(task|turn)_|^(error|warning|context_compacted|entered|exited|undo)/.test(type))
      this.#conversation.step(type.replaceAll('_', ' '), { content: payload }, said);
    else this.#conversation.unknown(`an event of type ${type}`, payload, said);
  }
}

type KeyedPrompt = Pick<Parameters<Conversation['prompted']>[0], 'at'> & { readonly key: string };

/** The subagent that a call started: its output names the thread. */
function startedAgent(output: unknown): string | undefined {
  const given = readArguments(output);
  return isSource(given) ? textOf(given['agent_id']) : undefined;
}

export const codex: Format = {
  name,
  about: 'Rollout files of Codex (~/.codex/sessions/…/rollout-*.jsonl)',
  expects: 'lines with timestamp, type and payload',
  maps: [
    ['session_meta', 'run.started; agent.invoked for a subagent, in the run of its session'],
    ['lines of its parent that a fork repeats', 'counted, not recorded'],
    ['turn_context, world_state, additional_tools, messages of the program', 'snapshot.captured'],
    ['response_item', 'as openai-responses says'],
    [
      'event_msg that repeats an item, token usage, inter_agent_communication_metadata',
      'counted, not recorded',
    ],
    [
      'event_msg of a task or an error, a message between agents, a search for tools, a wait for a program',
      'agent.step',
    ],
    ['another line, event or item', 'x.unknown'],
  ],
  example: [
    { timestamp: '2026-01-05T09:00:00Z', type: 'session_meta', payload: { id: 's1', cwd: '/work' } },
    {
      timestamp: '2026-01-05T09:00:01Z',
      type: 'response_item',
      payload: {
        type: 'function_call',
        call_id: 'call_1',
        name: 'exec_command',
        arguments: '{"cmd":"ls"}',
      },
    },
  ],
  detect: (document) =>
    isRollout(document) || isKnownLine(document) ? 'lines with type and payload' : undefined,
  isLine,
  runs,
  parts: { end: partEnd, read: readPart },
};
