/**
 * Items of OpenAI's Responses API, as events, one by one: an item is written when it is read, so that a recording can grow.
 * `openai-responses.ts` has the table; `codex.ts` reads the same items.
 * Tested by `test/core/intake/formats/openai-responses.test.ts`.
 */
import type { Ending } from '../../../contract/endings.ts';
import { extraOf, readArguments, splitParts, words, type Conversation } from '../conversation.ts';
import { endingOf } from '../ending.ts';
import { idOf, isSource, textOf, type Source } from '../run.ts';
import type { SourceTime } from '../time.ts';

/** Calls that the client runs: where the item names the tool and its arguments. */
const calls: Readonly<Record<string, { readonly tool: string; readonly input: string }>> = {
  function_call: { tool: '', input: 'arguments' },
  custom_tool_call: { tool: '', input: 'input' },
  tool_search_call: { tool: 'tool_search', input: 'arguments' },
  local_shell_call: { tool: 'local_shell', input: 'action' },
  shell_call: { tool: 'shell', input: 'action' },
  apply_patch_call: { tool: 'apply_patch', input: 'operation' },
  computer_call: { tool: 'computer', input: 'action' },
};
/** Calls that the provider runs: the item holds the result too. */
const hosted: Readonly<
  Record<string, { readonly tool: string; readonly input: string; readonly output: string }>
> = {
  web_search_call: { tool: 'web_search', input: 'action', output: 'results' },
  file_search_call: { tool: 'file_search', input: 'queries', output: 'results' },
  code_interpreter_call: { tool: 'code_interpreter', input: 'code', output: 'outputs' },
  image_generation_call: { tool: 'image_generation', input: 'prompt', output: 'result' },
  mcp_call: { tool: '', input: 'arguments', output: 'output' },
};
/** Tools that an item names by its type alone. */
export const toolsByType: ReadonlySet<string> = new Set(
  [...Object.values(calls), ...Object.values(hosted)].flatMap(({ tool }) => (tool === '' ? [] : [tool])),
);
const isOutput = (type: string): boolean => type.endsWith('_call_output') || type === 'tool_search_output';
const partTypes = words(
  'text input_text output_text summary_text reasoning_text refusal input_image input_file input_audio output_audio',
);

/** Returns whether a value is an item of this API. */
export const isItem = (value: unknown): value is Source => {
  if (!isSource(value)) return false;
  const type = String(value['type']);
  return (
    Object.hasOwn(calls, type) ||
    Object.hasOwn(hosted, type) ||
    isOutput(type) ||
    (type === 'reasoning' && Array.isArray(value['summary'])) ||
    (type === 'message' && typeof value['role'] === 'string' && 'content' in value)
  );
};

export interface ItemOrigin {
  readonly at: SourceTime | null;
  readonly key?: string | undefined;
  readonly extra?: Source | undefined;
  /** How a call ended, where the recording knows it from elsewhere. */
  readonly ending?: Ending | undefined;
}

/** `incomplete`: somebody stopped it before its end. */
const endingByStatus: Readonly<Record<string, Ending>> = {
  completed: 'ok',
  failed: 'error',
  incomplete: 'interrupted',
};

const members = words('type id role content call_id name arguments input action output status phase');

/** Writes items. All items between two inputs of the model are one answer of it. */
export class ItemWriter {
  readonly #conversation: Conversation;
  #invoked: string | undefined;

  /** `invoked`: the model event of an answer that goes on. */
  constructor(conversation: Conversation, invoked?: string) {
    this.#conversation = conversation;
    this.#invoked = invoked;
  }

  get invoked(): string | undefined {
    return this.#invoked;
  }

  write(item: Source, written: ItemOrigin): void {
    const type = String(item['type'] ?? 'message');
    const extra = { ...extraOf(item, members), ...written.extra };
    const around = { ...written, extra: Object.keys(extra).length === 0 ? undefined : extra };
    const call = Object.hasOwn(calls, type) ? calls[type] : undefined;
    const own = Object.hasOwn(hosted, type) ? hosted[type] : undefined;
    if (type === 'message') this.#message(item, around);
    else if (type === 'reasoning') this.#reasoning(item, written);
    else if (call !== undefined) this.#call(item, { ...call, around });
    else if (own !== undefined) this.#hosted(item, { ...own, around: written });
    else if (isOutput(type)) this.#output(item, around);
    else this.#conversation.unknown(`an item of type ${type}`, item, written);
  }

  /** The model event that the next output belongs to: one for each answer. */
  #answer({ at, key }: ItemOrigin, content?: unknown): string {
    this.#invoked ??= this.#conversation.answered({
      at,
      content,
      delivers: false,
      key: key === undefined ? undefined : `${key}.model`,
    });
    return this.#invoked;
  }

  #message(item: Source, around: ItemOrigin): void {
    const { content, unknown } = splitParts(item['content'], partTypes);
    const { at, key, extra } = around;
    const role = String(item['role']);
    switch (role) {
      case 'system':
      case 'developer':
        this.#conversation.instructed({ at, key, extra, content });
        break;
      case 'user':
        this.#conversation.prompted({ at, key, extra, content });
        this.#invoked = undefined;
        break;
      case 'assistant':
        this.#said(content, around);
        break;
      default:
        this.#conversation.unknown(`a message of the role ${role}`, item, around);
    }
    for (const [index, part] of unknown.entries())
      this.#conversation.unknown(`a part in a message of the role ${role}`, part, {
        at,
        key: key === undefined ? undefined : `${key}.part${index + 1}`,
      });
  }

  #said(content: unknown, { at, key, extra }: ItemOrigin): void {
    const parts = Array.isArray(content) ? content.filter(isSource) : [];
    const refusal = parts.find((part) => part['type'] === 'refusal');
    const invoked = this.#answer({ at, key });
    this.#conversation.run.add({
      eventType: 'output.delivered',
      actor: this.#conversation.agent,
      action: refusal === undefined ? 'deliver' : 'refuse',
      metadata: {
        content,
        refusal: textOf(refusal?.['refusal']),
        outcome: refusal === undefined ? undefined : 'refused',
        extra,
      },
      causedBy: [invoked],
      key,
      at,
    });
  }

  #reasoning(item: Source, written: ItemOrigin): void {
    const { type: _type, ...content } = item;
    const known = this.#invoked;
    this.#answer(written, content);
    if (known !== undefined) this.#conversation.step('reason', { content }, written);
  }

  #call(item: Source, { tool, input, around }: { tool: string; input: string; around: ItemOrigin }): void {
    const invoked = this.#answer(around);
    this.#conversation.called(
      {
        sourceId: idOf(item['call_id']) ?? idOf(item['id']),
        name: textOf(item['name']) ?? (tool || 'unknown'),
        arguments: readArguments(item[input]),
      },
      around,
      invoked,
    );
  }

  #hosted(
    item: Source,
    { tool, input, output, around }: { tool: string; input: string; output: string; around: ItemOrigin },
  ): void {
    const invoked = this.#answer(around);
    const { type: _type, id, name, status, error, [input]: asked, [output]: result, ...rest } = item;
    const extra = { status, ...rest, ...around.extra };
    const called = textOf(name) ?? (tool || 'unknown');
    const sourceId = idOf(id);
    this.#conversation.called(
      { sourceId, name: called, arguments: readArguments(asked), type: tool === '' ? 'mcp_tool' : 'tool' },
      { ...around, extra },
      invoked,
    );
    const stated = (error ?? null) !== null ? 'error' : endingByStatus[String(status)];
    if ((result ?? null) === null && stated === undefined) return;
    this.#conversation.returned({
      at: around.at,
      key: around.key === undefined ? undefined : `${around.key}.result`,
      sourceId,
      name: called,
      content: result,
      outcome: endingOf({
        stated: stated === 'ok' ? undefined : stated,
        results: [result],
        record: rest,
        silent: stated === 'ok' ? 'ok' : 'unknown',
      }),
      details: error,
    });
  }

  #output(item: Source, { at, key, extra, ending }: ItemOrigin): void {
    const output = item['output'] ?? item['tools'];
    // an item that is complete may hold an error
    const status = endingByStatus[String(item['status'])];
    const stated = status === 'ok' ? undefined : status;
    this.#conversation.returned({
      at,
      key,
      extra,
      sourceId: idOf(item['call_id']),
      content: output,
      outcome: ending ?? endingOf({ stated, results: [output], record: { ...item, output: undefined } }),
    });
    this.#invoked = undefined;
  }
}
