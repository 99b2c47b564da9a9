/**
 * What is recorded about the end of a call. Content (arguments and results) follows the capture policy; its hash and size
 * are recorded always unless the policy is `none`. Tested by `test/cli/mcp/outcome.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { ContentCapture } from '../../contract/projects.ts';
import { sha256Text } from '../../core/hash.ts';
import { capture } from '../../core/intake/otlp/capture.ts';
import { canonicalize, type Json, type JsonObject } from '../../core/json/canonical.ts';
import { isObject } from '../../core/json/object.ts';
import { defaultBounds, parseJson, type JsonBounds } from '../../core/json/parse.ts';
import { looseBounds, type Envelope } from '../../core/mcp/envelope.ts';

/** How a forwarded call ended. `unanswered`: no answer came before the server or the proxy ended. */
export type CallEnd =
  | { readonly how: 'answered'; readonly answer: Envelope }
  | { readonly how: 'interrupted' }
  | { readonly how: 'unanswered'; readonly detail: string };

export interface Run {
  readonly ended: CallEnd;
  readonly durationMs: number;
  /** Whether the client cancelled the call. An answer can still have come. */
  readonly cancelled: boolean;
  /** Notifications of progress. */
  readonly progress: number;
}

/** The members of `tool.result`. */
export function describeRun(
  { ended, durationMs, cancelled, progress }: Run,
  policy: ContentCapture,
): { readonly ok: boolean } & Record<string, unknown> {
  const shared = {
    durationMs: Math.round(durationMs * 1000) / 1000,
    ...(cancelled ? { cancelled } : {}),
    ...(progress > 0 ? { progress } : {}),
  };
  if (ended.how !== 'answered')
    return {
      ok: false,
      outcome: ended.how,
      ...shared,
      ...('detail' in ended ? { error: ended.detail } : {}),
    };
  const { answer } = ended;
  const raw = answer.raw('result') ?? answer.raw('error') ?? Buffer.alloc(0);
  const value = raw.length <= limits.mcpResultBytes ? valueOf(answer) : undefined;
  const content = value === undefined ? capturedBytes(raw, policy) : captured({ content: value }, policy);
  return { ...resultOf(answer, value), ...shared, bytes: answer.bytes.length, ...content };
}

function resultOf(
  answer: Envelope,
  value: Json | undefined,
): { readonly ok: boolean } & Record<string, unknown> {
  if (answer.has('error')) {
    const { code, message } = isObject(value) ? value : {};
    const error =
      typeof message === 'string' ? message.slice(0, limits.actionChars).toWellFormed() : undefined;
    return { ok: false, outcome: 'error', code: typeof code === 'number' ? code : undefined, error };
  }
  const { isError, resultType, task } = isObject(value) ? value : {};
  if (isError === true) return { ok: false, outcome: 'error', isError };
  // neither has run to its end: the client repeats the call with input, or asks for the task's result
  if (resultType === 'input_required') return { ok: true, outcome: resultType };
  if (isObject(task)) return { ok: true, outcome: 'task', taskId: task['taskId'] };
  return { ok: true, outcome: 'ok', isError: false };
}

function valueOf(answer: Envelope): Json | undefined {
  try {
    return answer.value(answer.has('error') ? 'error' : 'result', looseBounds);
  } catch {
    return undefined; // the bytes are hashed instead
  }
}

const capturedBytes = (raw: Uint8Array, policy: ContentCapture): Record<string, unknown> =>
  policy === 'none' ? {} : { content: { bytesHash: sha256Text(raw), bytes: raw.length } };

/** Members with content as the policy allows. What an event cannot hold is recorded by its hash under `full` too. */
export const captured = (members: JsonObject, policy: ContentCapture): Record<string, unknown> =>
  capture(members, policy === 'full' && !fits(members) ? 'hashes' : policy);

function fits(members: JsonObject): boolean {
  try {
    const text = Buffer.from(canonicalize(members));
    // `members` is one level, and the event's metadata has others
    return text.length <= limits.mcpContentBytes && parseJson(text, eventBounds) !== undefined;
  } catch {
    return false; // text or numbers outside of the profile of events, or too deep
  }
}

const eventBounds: JsonBounds = { ...defaultBounds, depth: limits.metadataDepth };
