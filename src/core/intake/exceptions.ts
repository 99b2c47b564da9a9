/**
 * Where the shape of JSON and the meaning of an honest recording differ. The scanner (`core/balance/scan.ts`) knows no
 * program, so each such place has a name and a reason here, and a balance counts it under the name. Nothing else may be
 * left out of a balance. Tested by `test/core/intake/balance.test.ts`.
 */
import type { EventInput } from '../../contract/events.ts';
import type { Kind } from '../balance/kinds.ts';
import type { RawFact } from '../balance/scan.ts';
import { isObject } from '../json/object.ts';
import { isSameCall } from './same-call.ts';
import { toolsByType } from './pieces/openai-items.ts';

interface Named {
  readonly name: string;
  readonly reason: string;
  readonly kinds: readonly Kind[];
  /** Formats that it is about; absent: all. */
  readonly formats?: readonly string[];
}

/** Something has the shape of a fact, and is none or not this one. */
export interface FoundException extends Named {
  /** The place alone decides, so that no event stands for it. */
  readonly isPlace?: true;
  readonly isIt: (found: RawFact, context: FoundContext) => boolean;
}

export interface FoundContext {
  /** The type of the event that has the same text, where it is another one than the shape says. */
  readonly otherEvent: string | undefined;
  /** Whether it stands in the arguments of a call, or in what a call returned. */
  readonly isInside: boolean;
  /** What has the same id or text, and an event. */
  readonly original?: RawFact | undefined;
  readonly bytesOf: (found: RawFact) => Uint8Array;
}

/** A fact has another shape in this format, so that the scanner does not see it. */
export interface UnseenException extends Named {
  /** `found`: how many facts the scanner found in the file. */
  readonly isIt?: (event: EventInput, context: { readonly found: number }) => boolean;
}

/** Whether something is a part of a request that a session of Claude Code keeps. Other lines say the same. */
export const isOfRequest = ({ types }: RawFact): boolean => types.startsWith('api-request-blob');

export const foundExceptions: readonly FoundException[] = [
  {
    name: 'content-of-a-call',
    reason: 'Arguments and results are content: a message in them was not said in this conversation.',
    kinds: ['calls', 'results', 'prompts', 'outputs'],
    isIt: (_found, { isInside }) => isInside,
  },
  {
    name: 'words-of-the-program',
    reason:
      'A program speaks to its model in the role of the user (context, reminders, summaries, interruptions). The words are recorded as a snapshot or a step.',
    kinds: ['prompts'],
    isIt: (_found, { otherEvent }) => otherEvent === 'snapshot.captured' || otherEvent === 'agent.step',
  },
  {
    name: 'words-of-the-program-as-model',
    reason:
      'A program writes an error or a filler in the role of the model. No model ran; an error or a step has the words.',
    kinds: ['outputs'],
    isIt: (_found, { otherEvent }) => otherEvent === 'run.error' || otherEvent === 'agent.step',
  },
  {
    name: 'part-of-a-request',
    reason:
      'Claude Code keeps parts of its requests to the model by their hash. What was said is in other lines too; the part is recorded as a snapshot.',
    kinds: ['prompts', 'outputs'],
    formats: ['claude-code'],
    isPlace: true,
    isIt: (found) => isOfRequest(found),
  },
  {
    name: 'tool-renamed-in-a-request',
    reason:
      'Claude Code names a tool otherwise in its requests to the model (Agent) than in its session (Task). The call and its input are the same.',
    kinds: ['calls'],
    formats: ['claude-code'],
    isIt: (found, { original, bytesOf }) =>
      isOfRequest(found) &&
      original !== undefined &&
      original.name !== found.name &&
      isSameCall(bytesOf(found), bytesOf(original)),
  },
  {
    name: 'missing-result-in-a-request',
    reason:
      'Where a call of Claude Code has no result yet, its request to the model has a filler. The result comes in a later line.',
    kinds: ['results'],
    formats: ['claude-code'],
    isIt: (found, { original, bytesOf }) =>
      isOfRequest(found) &&
      original !== undefined &&
      Buffer.from(bytesOf(found)).includes('"[Tool result missing due to internal error]"'),
  },
  {
    name: 'codex-end-of-a-call',
    reason: 'An event of Codex repeats what the item of the call and its output say.',
    kinds: ['calls', 'results'],
    formats: ['codex'],
    isPlace: true,
    isIt: ({ types }) => types.startsWith('event_msg'),
  },
  {
    name: 'codex-compacted',
    reason: 'After a compaction Codex writes the messages that it keeps once more.',
    kinds: ['calls', 'results', 'prompts', 'outputs'],
    formats: ['codex'],
    isPlace: true,
    isIt: ({ types }) => types.startsWith('compacted'),
  },
  {
    name: 'response-in-a-call',
    reason: 'A call of Gemini CLI has its result, and in it the same as the model gets it.',
    kinds: ['results'],
    formats: ['gemini-cli'],
    isPlace: true,
    isIt: ({ pointer }) => /\/toolCalls\/\d+\/result\/\d+\/functionResponse$/.test(pointer),
  },
  {
    name: 'observation-as-user',
    reason:
      'SWE-agent shows the model what a command printed in the role of the user. It is recorded as a result.',
    kinds: ['prompts'],
    formats: ['swe-agent'],
    isIt: () => true,
  },
  {
    name: 'history-of-a-step',
    reason: 'Each step of SWE-agent has the messages of its request again.',
    kinds: ['calls', 'results', 'outputs'],
    formats: ['swe-agent'],
    isPlace: true,
    isIt: ({ pointer }) => /^\/trajectory\/\d+\/(?:messages|query)\//.test(pointer),
  },
  {
    name: 'response-of-an-event',
    reason:
      'An event of OpenHands has the whole response of the model that led to it. The first one keeps it.',
    kinds: ['calls', 'outputs'],
    formats: ['openhands'],
    isIt: ({ pointer }) => pointer.includes('/tool_call_metadata/model_response/'),
  },
  {
    name: 'mcp-prompt',
    reason:
      'MCP asks for a prompt by name and arguments as it calls a tool, and a prompt or a sampling request holds messages.',
    kinds: ['calls', 'prompts', 'outputs'],
    formats: ['mcp'],
    isIt: ({ kind, types }) => kind !== 'calls' || types.includes('prompts/get'),
  },
  {
    name: 'langfuse-observation',
    reason:
      'Each observation of Langfuse has a name, an input and an output. Only one of a tool is a call; models, agents and steps are recorded as such.',
    kinds: ['calls', 'results', 'prompts', 'outputs'],
    formats: ['langfuse'],
    isIt: () => true,
  },
];

export const unseenExceptions: readonly UnseenException[] = [
  {
    name: 'messages-as-text',
    reason: 'A display of τ-bench is a conversation in one text, with a role at the start of each line.',
    kinds: ['results', 'prompts', 'outputs'],
    formats: ['openai-chat'],
    isIt: (_event, { found }) => found === 0,
  },
  {
    name: 'typed-during-a-turn',
    reason: 'What a user of Claude Code types while the model works waits in a queue, where it has no role.',
    kinds: ['prompts'],
    formats: ['claude-code'],
  },
  {
    name: 'tool-as-type',
    reason:
      'An item of the Responses API may name its tool by its type alone, such as web_search_call, and its result by its status.',
    kinds: ['calls', 'results'],
    formats: ['codex', 'openai-responses'],
    isIt: ({ resource }) => isObject(resource) && toolsByType.has(String(resource['name'])),
  },
  {
    name: 'words-for-the-screen',
    reason:
      'Codex writes the words of its user for its screen too, where they have no role. Where no item has them, that is their only record.',
    kinds: ['prompts'],
    formats: ['codex'],
    isIt: ({ metadata }) => !Array.isArray(metadata?.['content']),
  },
  {
    name: 'speaker-as-type',
    reason: 'Messages of Gemini CLI and Copilot CLI name their speaker by a type, not by a role.',
    kinds: ['prompts', 'outputs'],
    formats: ['gemini-cli', 'copilot-cli'],
  },
  {
    name: 'own-words-of-the-format',
    reason:
      'The format does not name calls, results and speakers as APIs of models do. Its facts are counted by its importer alone.',
    kinds: ['calls', 'results', 'prompts', 'outputs'],
    formats: ['swe-agent', 'opencode', 'openhands', 'openhands-v1', 'langfuse', 'mcp', 'otlp'],
  },
];

const applies = ({ kinds, formats }: Named, kind: Kind, of: ReadonlySet<string>): boolean =>
  kinds.includes(kind) && (formats === undefined || formats.some((format) => of.has(format)));

/** Returns the name of the exception for something that the scanner found. */
export const exceptionOf = (
  found: RawFact,
  { formats, ...context }: FoundContext & { readonly formats: ReadonlySet<string> },
): string | undefined =>
  foundExceptions.find((each) => applies(each, found.kind, formats) && each.isIt(found, context))?.name;

/** As `exceptionOf`, for what is excepted before it is compared with events. */
export const placeExceptionOf = (found: RawFact, formats: ReadonlySet<string>): string | undefined =>
  foundExceptions.find(
    (each) =>
      each.isPlace === true &&
      applies(each, found.kind, formats) &&
      each.isIt(found, { otherEvent: undefined, isInside: false, bytesOf: () => new Uint8Array() }),
  )?.name;

/** Returns the name of the exception for an event that the scanner does not see in the file. */
export const unseenExceptionOf = (
  event: EventInput,
  {
    kind,
    formats,
    found,
  }: { readonly kind: Kind; readonly formats: ReadonlySet<string>; readonly found: number },
): string | undefined =>
  unseenExceptions.find((each) => applies(each, kind, formats) && each.isIt?.(event, { found }) !== false)
    ?.name;

/** Whether the ids of a format are not those of its calls, so that calls and results are compared by number. */
export const isCountedByNumber = (formats: ReadonlySet<string>): boolean => formats.has('mcp');
