/**
 * Where a long rollout of Codex may be cut, and what a part needs of the parts before it. Only the thread of a person is
 * read in parts. Tested by `test/core/intake/parts/reader.test.ts`.
 */
import { isTexts, readConversationState, type ConversationState } from '../conversation.ts';
import { isObject } from '../../json/object.ts';
import { isSource, textOf, type Source } from '../run.ts';
import { threadOf } from './codex-thread.ts';
import { linesAfter } from './codex-words.ts';

/** What lines say of calls whose outputs come after them, by call id. */
export interface CallNotes {
  readonly exits: readonly (readonly [call: string, code: number])[];
  readonly failed: readonly string[];
  /** The threads that calls started. */
  readonly started: readonly (readonly [call: string, thread: string])[];
  /** Calls that are steps of Codex itself. */
  readonly steps: readonly string[];
  /** The model event of the answer that goes on. */
  readonly invoked: string | undefined;
}

export interface RolloutState {
  readonly id: string;
  readonly model: string;
  /** Lines of the earlier parts. */
  readonly lines: number;
  readonly notes: CallNotes;
  readonly conversation: ConversationState;
}

/** Returns the number of lines up to a place that is not between the item of a message and its line for the screen. */
export function partEnd(lines: readonly Source[]): number {
  let end = lines.length;
  for (let at = lines.length - 1; at >= 0 && at >= end - linesAfter; at -= 1) if (isSaid(lines[at])) end = at;
  const isOpening = lines[0]?.['type'] === 'session_meta';
  // the first part has the model of the rollout
  return isOpening && !lines.slice(0, end).some(({ type }) => type === 'turn_context') ? 0 : end;
}

const isSaid = (line: Source | undefined): boolean =>
  isSource(line?.['payload']) && /^(?:(?:user|agent)_)?message$/.test(String(line['payload']['type']));

/** Whether a line is one of the thread itself. */
export const isOfThread = ({ type, payload }: Source, id: string): boolean =>
  type !== 'session_meta' ||
  (isSource(payload) && (textOf(payload['id']) ?? textOf(payload['session_id'])) === id);

/** What the first part says of the rollout; undefined: it is no thread of a person, or does not begin with its facts. */
export function openingOf(lines: Parameters<typeof threadOf>[0]): RolloutState | undefined {
  const { id, parent, session } = threadOf(lines);
  const model = textOf(lines.find(({ type }) => type === 'turn_context')?.payload['model']);
  if (id === undefined || model === undefined || parent !== undefined || session !== undefined)
    return undefined;
  const conversation = { unread: [], calls: { open: [], unnamed: 0, messages: 0 } };
  const notes = { exits: [], failed: [], started: [], steps: [], invoked: undefined };
  return { id, model, lines: 0, notes, conversation };
}

/** Reads a state after its way through a file. Undefined: it is something else. */
export function readRolloutState(value: unknown): RolloutState | undefined {
  if (!isObject(value)) return undefined;
  const { id, model, lines } = value;
  const notes = readNotes(value['notes']);
  const conversation = readConversationState(value['conversation']);
  if (typeof id !== 'string' || typeof model !== 'string' || typeof lines !== 'number') return undefined;
  return notes === undefined || conversation === undefined
    ? undefined
    : { id, model, lines, notes, conversation };
}

function readNotes(value: unknown): CallNotes | undefined {
  if (!isObject(value)) return undefined;
  const { exits, failed, started, steps, invoked } = value;
  const isRead =
    isExits(exits) &&
    isTexts(failed) &&
    isStarted(started) &&
    isTexts(steps) &&
    (invoked === undefined || typeof invoked === 'string');
  return isRead ? { exits, failed, started, steps, invoked } : undefined;
}

const isExits = (value: unknown): value is [string, number][] =>
  Array.isArray(value) &&
  value.every((each) => Array.isArray(each) && typeof each[0] === 'string' && typeof each[1] === 'number');

const isStarted = (value: unknown): value is [string, string][] =>
  Array.isArray(value) && value.every((each) => isTexts(each) && each.length === 2);
