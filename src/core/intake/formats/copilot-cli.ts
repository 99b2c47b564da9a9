/**
 * Sessions of GitHub Copilot CLI (`~/.copilot/session-state/…/events.jsonl`). A run is a session; the ids of its lines are the
 * ids of its events. A call is asked for in a message of the model and written again when it starts. Tested by
 * `test/core/intake/formats/copilot-cli.test.ts`.
 */
import { Conversation, readArguments, words, type Call } from '../conversation.ts';
import { endingOf, exitCodeBelow } from '../ending.ts';
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
import { readTime, type SourceTime } from '../time.ts';

const name = 'copilot-cli';

const isLine = (value: unknown): value is Source =>
  isSource(value) &&
  typeof value['type'] === 'string' &&
  isSource(value['data']) &&
  textOf(value['id']) !== undefined &&
  textOf(value['timestamp']) !== undefined &&
  'parentId' in value;

const dataOf = (line: Source): Source => (isSource(line['data']) ? line['data'] : {});

const isStart = (value: unknown): value is Source =>
  isLine(value) && value['type'] === 'session.start' && textOf(dataOf(value)['sessionId']) !== undefined;

const isSession = (document: unknown): document is readonly Source[] =>
  Array.isArray(document) && isStart(document[0]) && document.every(isLine);

function* runs(document: unknown, context: ImportContext): Generator<ImportedRun> {
  if (!isSession(document)) return;
  const [start] = document;
  const data = start === undefined ? {} : dataOf(start);
  const run = new RunBuilder(name, { id: String(data['sessionId']) }, context);
  const agent = { name, role: 'agent' };
  run.add({
    eventType: 'run.started',
    actor: agent,
    action: 'start',
    metadata: { importer: name, version: data['copilotVersion'], cwd: cwdOf(data) },
    at: readTime(start?.['timestamp']),
    key: 'start',
  });
  const writer = new LineWriter(run, new Conversation(run, { agent }));
  for (const line of document.slice(1)) writer.write(line);
  yield run.finish(document.length);
}

const cwdOf = ({ context }: Source): unknown => (isSource(context) ? context['cwd'] : undefined);

/** Lines in which the program says something about itself: no call, no result, no words of a person or a model. */
const steps = words(
  'session.info session.model_change session.auto_mode_resolved session.usage_checkpoint session.shutdown session.resume session.truncation assistant.turn_start assistant.turn_end assistant.reasoning hook.start hook.end subagent.started subagent.completed system.notification abort',
);

interface Place {
  readonly at: SourceTime | null;
  readonly key: string;
}

type StartOf = Pick<Call, 'sourceId' | 'name' | 'arguments'>;

const isSameCall = (asked: StartOf, started: StartOf): boolean =>
  asked.sourceId === started.sourceId &&
  asked.name === started.name &&
  (asked.sourceId !== undefined ||
    JSON.stringify(asked.arguments) === JSON.stringify(readArguments(started.arguments)));

class LineWriter {
  readonly #run: RunBuilder;
  readonly #conversation: Conversation;
  /** Calls that a message asked for and that have not started. */
  readonly #asked: StartOf[] = [];
  /** Calls that have started and not ended. */
  readonly #running = new Set<string>();

  constructor(run: RunBuilder, conversation: Conversation) {
    this.#run = run;
    this.#conversation = conversation;
  }

  write(line: Source): void {
    const place = { at: readTime(line['timestamp']), key: String(line['id']) };
    const data = dataOf(line);
    const type = String(line['type']);
    switch (type) {
      case 'user.message':
        this.#prompted(data, place);
        return;
      case 'assistant.message':
        this.#answered(line, data, place);
        return;
      case 'tool.execution_start':
        this.#started(data, place);
        return;
      case 'tool.execution_complete':
        this.#returned(data, place);
        return;
      case 'system.message':
        this.#conversation.instructed({ ...place, content: data['content'] });
        return;
      case 'session.error':
        this.#failed(data, place);
        return;
      default:
        if (steps.has(type)) this.#conversation.step(type, { details: data }, place);
        else this.#conversation.unknown(`a line of type ${type}`, line, place);
    }
  }

  #prompted({ content, transformedContent, attachments }: Source, place: Place): void {
    const more = {
      ...(transformedContent === content ? {} : { sentAs: transformedContent }),
      ...(Array.isArray(attachments) && attachments.length > 0 ? { attachments } : {}),
    };
    const extra = Object.keys(more).length === 0 ? {} : { extra: more };
    this.#conversation.prompted({ ...place, content, ...extra });
  }

  #answered(line: Source, { content, toolRequests, model, outputTokens }: Source, place: Place): void {
    const requests: readonly unknown[] = Array.isArray(toolRequests) ? toolRequests : [];
    const named = requests.filter(isSource).filter((each) => textOf(each['name']) !== undefined);
    if (named.length < requests.length) {
      this.#conversation.unknown('a message with a call without a name', line, place);
      return;
    }
    const calls = named.map((each) => ({
      sourceId: idOf(each['toolCallId']),
      name: String(each['name']),
      arguments: readArguments(each['arguments']),
    }));
    this.#asked.push(...calls);
    this.#conversation.answered({
      ...place,
      content: content === '' ? undefined : content,
      model: textOf(model),
      usage: outputTokens === undefined ? undefined : { outputTokens },
      calls,
    });
  }

  /** A call that a message asked for, or that runs, is recorded already. Without an id it is known by what it asks for. */
  #started({ toolCallId, toolName, arguments: given }: Source, place: Place): void {
    const call = { sourceId: idOf(toolCallId), name: textOf(toolName) ?? 'unknown', arguments: given };
    const asked = this.#asked.findIndex((each) => isSameCall(each, call));
    if (asked !== -1) this.#asked.splice(asked, 1);
    const isRunning = call.sourceId !== undefined && this.#running.has(call.sourceId);
    if (call.sourceId !== undefined) this.#running.add(call.sourceId);
    if (asked !== -1 || isRunning) this.#run.changes.add('block_repeated');
    else this.#conversation.called(call, place, undefined);
  }

  #returned({ toolCallId, success, result, error, ...rest }: Source, place: Place): void {
    const stated = success === true ? 'ok' : success === false ? 'error' : undefined;
    const sourceId = idOf(toolCallId);
    if (sourceId !== undefined) this.#running.delete(sourceId);
    this.#conversation.returned({
      ...place,
      sourceId,
      content: result ?? error,
      outcome: endingOf({
        stated,
        results: [result ?? error, exitOf(result)],
        record: { ...rest, success, error },
      }),
      details: result === undefined || result === null ? undefined : error,
    });
  }

  #failed({ message, ...details }: Source, place: Place): void {
    this.#run.add({
      eventType: 'run.error',
      actor: this.#conversation.agent,
      action: 'fail',
      metadata: { content: message, details },
      ...place,
    });
  }
}

/** The exit code of a command, whose call the program calls a success whatever the code is. */
const exitOf = (result: unknown): Source => ({
  exit_code: exitCodeBelow((isSource(result) ? textOf(result['content']) : textOf(result)) ?? ''),
});

export const copilotCli: Format = {
  name,
  about: 'Sessions of GitHub Copilot CLI',
  expects: 'lines with type, data, id and parentId, the first of type session.start',
  maps: [
    ['user.message', 'prompt.submitted'],
    ['assistant.message', 'model.invoked, its calls, and output.delivered where it has none'],
    ['tool.execution_complete', 'tool.result'],
    ['system.message', 'snapshot.captured'],
    ['session.error', 'run.error'],
    ['other lines of the session', 'agent.step'],
  ],
  example: [
    {
      type: 'session.start',
      data: { sessionId: 's-1', producer: 'copilot-agent' },
      id: 'e1',
      timestamp: '2026-01-05T09:00:00Z',
      parentId: null,
    },
    {
      type: 'user.message',
      data: { content: 'Pay the bill', transformedContent: 'Pay the bill' },
      id: 'e2',
      timestamp: '2026-01-05T09:00:01Z',
      parentId: 'e1',
    },
  ],
  detect: (document) => (isSession(document) ? 'lines that begin with session.start' : undefined),
  isLine,
  runs,
};
