/**
 * Two spans of one call of a model: a framework has a span around that of the library which asks the model. They are one
 * call where they name one response, or have one answer; without such evidence they are two, since a framework may ask a
 * model several times in a span. Tested by `test/core/intake/otlp/same-answer.test.ts`.
 */
import { hash } from 'node:crypto';
import { limits } from '../../../contract/limits.ts';
import { responseIds } from '../../coverage/sightings.ts';
import { readArguments } from '../conversation.ts';
import { isSource, textOf, type Source } from '../run.ts';
import { attributeOf, indexedMessages } from './dialects.ts';

/** What a span of a model says of the answer: short hashes of the id of the response, and of its text and calls. */
export interface Answer {
  readonly response?: string | undefined;
  readonly text?: string | undefined;
}

const digest = (text: string): string => hash('sha256', text, 'hex').slice(0, 16);

export function answerOf(attributes: Source): Answer {
  const id = responseIds.map((name) => textOf(attributes[name])).find((each) => each !== undefined);
  const output =
    readArguments(attributeOf(attributes, 'modelOutput')) ?? indexedMessages(attributes, 'completion');
  const said = [...new Set(partsOf(output, 0))].toSorted();
  return {
    response: id === undefined ? undefined : digest(id),
    text: said.length === 0 ? undefined : digest(JSON.stringify(said)),
  };
}

function isSameAnswer(a: Answer, b: Answer): boolean {
  if (a.response !== undefined && b.response !== undefined) return a.response === b.response;
  return a.text !== undefined && a.text === b.text;
}

/** Members of messages, in the forms of the conventions and of the interfaces of models, that hold what is said. */
const holders = ['content', 'parts', 'message', 'choices', 'generations', 'output', 'tool_calls', 'kwargs'];
const levels = 8;

/** Texts, and ids of calls, anywhere in an answer. */
function partsOf(value: unknown, level: number): string[] {
  if (typeof value === 'string') return value.trim() === '' ? [] : [`text ${value.trim()}`];
  if (level === levels) return [];
  if (Array.isArray(value)) return value.flatMap((each) => partsOf(each, level + 1));
  if (!isSource(value)) return [];
  const { text, id, type, role } = value;
  const isCall =
    value['function'] !== undefined || ['tool_call', 'tool_use', 'function_call'].includes(String(type));
  const call = isCall ? (textOf(value['call_id']) ?? textOf(id)) : undefined;
  if (call !== undefined) return [`call ${call}`];
  if (role === 'user' || role === 'system') return [];
  const inner = holders.flatMap((name) => (value[name] === undefined ? [] : partsOf(value[name], level + 1)));
  return typeof text === 'string' ? [...partsOf(text, level + 1), ...inner] : inner;
}

/** A span of a model, as far as it tells which call it reports. */
interface ModelSpan {
  readonly spanId: string;
  readonly role?: string | undefined;
  readonly answer?: Answer | undefined;
  /** The span that an earlier request was found to report again. */
  readonly copyOf?: string | undefined;
}

/**
 * Returns the spans whose event is an observation, each with the span that has the call: of two spans of one call the outer
 * one, unless an earlier request has reported it alone. Of two that earlier requests have reported, because a span between
 * them came later, it is the inner one. A span has the call of one span below it at most. `around`: the model around a span,
 * with nothing between them but spans that say nothing about an agent. Cost: once over the spans.
 */
export function modelCopies(
  spans: readonly ModelSpan[],
  {
    earlier,
    around,
  }: { readonly earlier: ReadonlySet<string>; readonly around: (spanId: string) => ModelSpan | undefined },
): ReadonlyMap<string, string> {
  const copies = new Map(
    spans.flatMap(({ spanId, copyOf }) => (copyOf === undefined ? [] : [[spanId, copyOf] as const])),
  );
  // those that have the call of a span below them already
  const isAbove = (of: string, id: string): boolean => {
    let span = around(id);
    for (let level = 1; level < limits.otlpCallLevels && span?.spanId !== of; level += 1)
      span = span === undefined ? undefined : around(span.spanId);
    return span?.spanId === of;
  };
  const taken = new Set([...copies].map(([id, of]) => (isAbove(of, id) ? of : id)));
  for (const span of spans) {
    if (span.role !== 'model') continue;
    const outer = around(span.spanId);
    if (outer === undefined || taken.has(outer.spanId)) continue;
    if (!isSameAnswer(span.answer ?? {}, outer.answer ?? {})) continue;
    taken.add(outer.spanId);
    if (!earlier.has(outer.spanId) && !copies.has(outer.spanId)) copies.set(outer.spanId, span.spanId);
    else {
      const inner = callOf(span.spanId, copies);
      if (inner !== callOf(outer.spanId, copies)) copies.set(inner, outer.spanId);
    }
  }
  return copies;
}

/** The span that has the call of a span. */
function callOf(spanId: string, copies: ReadonlyMap<string, string>): string {
  const seen = new Set([spanId]);
  let id = spanId;
  for (let next = copies.get(id); next !== undefined && !seen.has(next); next = copies.get(next)) {
    seen.add(next);
    id = next;
  }
  return id;
}
