/**
 * Rollout files of Codex (`~/.codex/sessions/…/rollout-*.jsonl`). A run is a session; the position of a line is the id of
 * its event. Items are those of the Responses API. Messages that the program itself wrote are no prompts.
 * Tested by `test/core/intake/formats/codex.test.ts`.
 */
import { isStepOfCodex } from '../codex-steps.ts';
import { Conversation, readArguments, words } from '../conversation.ts';
import { exitCodeIn, saysFailure } from '../failure.ts';
import type { Format } from '../format.ts';
import { isSource, RunBuilder, textOf, type ImportContext, type ImportedRun, type Source } from '../run.ts';
import { readTime } from '../time.ts';
import { ItemWriter } from '../pieces/openai-items.ts';

const name = 'codex';

const types = words(
  'session_meta response_item event_msg turn_context world_state compacted token_usage_record',
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

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  const lines = (Array.isArray(document) ? document : [document]) as readonly Line[];
  const meta = lines.find((line) => line['type'] === 'session_meta')?.payload ?? {};
  const id = textOf(meta['id']) ?? textOf(meta['session_id']);
  const run = new RunBuilder(name, id === undefined ? { opening: lines[0] } : { id }, context);
  const agent = { name, role: 'agent' };
  const turn = lines.find((line) => line['type'] === 'turn_context')?.payload;
  const conversation = new Conversation(run, { agent, model: textOf(turn?.['model']) });
  const writer = new LineWriter(conversation);
  const { instructions, base_instructions: base, ...facts } = meta;
  run.add({
    eventType: 'run.started',
    actor: agent,
    action: 'start',
    key: 'start',
    at: readTime(lines[0]?.['timestamp']),
    metadata: { importer: name, source: Object.keys(facts).length === 0 ? undefined : facts },
  });
  const given = [instructions, base].filter((each) => (each ?? null) !== null);
  for (const [index, content] of given.entries())
    conversation.instructed({ content, at: null, key: `instructions${index === 0 ? '' : index + 1}` });
  for (const [index, line] of lines.entries()) writer.write(line, index);
  yield run.finish(lines.length);
}

class LineWriter {
  readonly #conversation: Conversation;
  readonly #items: ItemWriter;
  /** Exit codes of commands by call id: the output says them only in words. */
  readonly #exits = new Map<string, number>();
  /** Call ids of patches and MCP tools that failed: the output says it only in words. */
  readonly #failed = new Set<string>();
  /** Call ids of what Codex does for itself. */
  readonly #steps = new Set<unknown>();

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
    this.#items = new ItemWriter(conversation);
  }

  write(line: Line, index: number): void {
    const { payload } = line;
    const ordinal = line['ordinal'];
    const id = `line${typeof ordinal === 'number' ? ordinal : index}`;
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
        this.#conversation.run.add({
          eventType: 'snapshot.captured',
          actor: this.#conversation.agent,
          action: 'capture',
          resource: { name: String(line['type']).replace('_', ' '), type: 'configuration' },
          metadata: { content: payload },
          key,
          at,
        });
        break;
      case 'compacted':
        this.#conversation.step('compact', { content: payload }, { at, key });
        break;
      case 'token_usage_record':
        this.#conversation.run.changes.add('bookkeeping');
        break;
      case 'event_msg':
        this.#event(payload, { at, key });
        break;
      default:
        this.#conversation.unknown(`a line of type ${String(line['type'])}`, payload, { at, key });
    }
  }

  #item(item: Source, said: KeyedPrompt): void {
    const { internal_chat_message_metadata_passthrough: passed, ...own } = item;
    if (own['type'] === 'message' && own['role'] === 'user' && isOfProgram(own, passed)) {
      this.#conversation.instructed({ ...said, content: own['content'] }, 'context');
      return;
    }
    if (own['type'] === 'ghost_snapshot') {
      this.#conversation.step('snapshot', { content: own }, said);
      return;
    }
    if (this.#isStep(own)) {
      this.#conversation.step(String(own['type']), { content: own }, said);
      return;
    }
    const exit = this.#exits.get(String(own['call_id'])) ?? exitIn(own['output']);
    const isOutput = String(own['type']).endsWith('_output');
    const blocked = isOutput && isBlocked(own['output']);
    const failed = blocked || this.#failed.has(String(own['call_id']));
    this.#items.write(own, {
      ...said,
      failed: failed || (isOutput && exit !== undefined ? exit !== 0 : undefined),
      extra: blocked ? { blocked } : isOutput && exit !== undefined ? { exitCode: exit } : undefined,
    });
  }

  /** Whether an item is a step of Codex itself, or its output. */
  #isStep({ type, name: tool, namespace, arguments: input, call_id: call }: Source): boolean {
    const isSearch = type === 'tool_search_call' || type === 'tool_search_output';
    const isCall = type === 'function_call' && textOf(namespace) === undefined && isStepOfCodex(tool, input);
    if (isCall) this.#steps.add(call);
    return isSearch || isCall || (type === 'function_call_output' && this.#steps.has(call));
  }

  #event(payload: Source, said: KeyedPrompt): void {
    const type = String(payload['type']);
    const item = isSource(payload['item']) ? payload['item'] : {};
    const exit = item['exit_code'] ?? payload['exit_code'];
    const call = textOf(payload['call_id']) ?? textOf(item['id']);
    if (typeof exit === 'number' && call !== undefined) this.#exits.set(call, exit);
    if (call !== undefined && isFailureEvent(payload)) this.#failed.add(call);
    if (repeats.has(type) || type === 'item_completed') this.#conversation.run.changes.add('bookkeeping');
    else if (/^(task|turn)_|^(error|warning|context_compacted|entered|exited|undo)/.test(type))
      this.#conversation.step(type.replaceAll('_', ' '), { content: payload }, said);
    else this.#conversation.unknown(`an event of type ${type}`, payload, said);
  }
}

type KeyedPrompt = Pick<Parameters<Conversation['prompted']>[0], 'at'> & { readonly key: string };

/** Whether the program wrote a message in the user's name: it says so, or the text is one of its own tags. */
function isOfProgram(message: Source, passed: unknown): boolean {
  const given = isSource(passed) ? passed['content_item_metadata'] : undefined;
  const provenance = (Array.isArray(given) ? given.filter(isSource) : [])
    .map((each) => each['provenance'])
    .find(isSource);
  if (provenance !== undefined) return provenance['type'] === 'harness';
  const parts = Array.isArray(message['content']) ? message['content'].filter(isSource) : [];
  const text = textOf(parts[0]?.['text']) ?? '';
  return /^<(environment_context|user_instructions|turn_aborted|permissions)\b|^# AGENTS\.md/.test(
    text.trimStart(),
  );
}

/** Codex gives the reason of a hook that blocked a call in place of the call's output. */
const isBlocked = (output: unknown): boolean =>
  typeof output === 'string' && /^(?:Command|Tool call) blocked by PreToolUse hook\b/.test(output);

/** The end of a patch, or of a call of MCP: its result is `{Ok}` or `{Err}`. */
function isFailureEvent({ success, result }: Source): boolean {
  if (!isSource(result)) return success === false;
  return success === false || 'Err' in result || saysFailure(result['Ok']);
}

/** Older files say the exit code in the JSON of the output, or in its text. */
function exitIn(output: unknown): number | undefined {
  if (typeof output !== 'string') return undefined;
  const given = readArguments(output);
  const metadata = isSource(given) ? given['metadata'] : undefined;
  const code = isSource(metadata) ? metadata['exit_code'] : undefined;
  return typeof code === 'number' ? code : exitCodeIn(output);
}

export const codex: Format = {
  name,
  about: 'Rollout files of Codex (~/.codex/sessions/…/rollout-*.jsonl)',
  expects: 'lines with timestamp, type and payload',
  maps: [
    ['session_meta', 'run.started'],
    ['turn_context, world_state, messages of the program', 'snapshot.captured'],
    ['response_item', 'as openai-responses says'],
    ['event_msg that repeats an item, token usage', 'counted, not recorded'],
    ['event_msg of a task or an error, a search for tools, a wait for a program', 'agent.step'],
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
};
