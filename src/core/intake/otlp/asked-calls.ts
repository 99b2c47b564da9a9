/**
 * The id of a call whose spans name none, as those of Langfuse, OpenLLMetry and OpenAI Agents. A span of a model before it
 * in its trace has the calls that the model asked for, with their ids. A tool has the call of its name with equal
 * arguments that no other tool has, if there is one alone. Of several equal calls nobody knows which one ran in which
 * span, so each span keeps an id of its own.
 * Tested by `test/core/intake/otlp/asked-calls.test.ts` and `test/http/otlp/asked-calls.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { digestOf } from '../../json/digest.ts';
import { readArguments } from '../conversation.ts';
import { askedCalls } from '../pieces/langfuse-observation.ts';
import { isSource, type Source } from '../run.ts';
import { attributeOf, indexedMessages } from './dialects.ts';

/** A call that a model asked for. `input`: a short hash of its arguments. `atMs`: when the span of the model began. */
export interface AskedCall {
  readonly id: string;
  readonly tool: string;
  readonly input: string;
  readonly atMs: number;
}

/** Why a call has the id: a member of the metadata of its events, as importers write it. */
export const matchedBy = 'arguments';

/** Most outputs ask for nothing, and are not read. */
const mayAsk = /tool_call|tool_use|tool-call|function_call|"function"|toolCallId|toolUseId/;
const isFlatCall =
  /^(?:gen_ai\.completion|llm\.output_messages)\.\d{1,6}\.(?:message\.)?tool_calls\.\d{1,6}\./;

/** Returns the calls that a span of a model asked for, as far as it has their ids, names and arguments. */
export function askedIn(attributes: Source, atMs: number | undefined): readonly AskedCall[] | undefined {
  if (atMs === undefined) return undefined;
  const output = attributeOf(attributes, 'modelOutput');
  const isText = typeof output === 'string';
  const isFlat = Object.keys(attributes).some((name) => isFlatCall.test(name));
  if (!isFlat && (isText ? !mayAsk.test(output) : output === undefined)) return undefined;
  const flat = isFlat ? flatCalls(attributes) : [];
  const found = askedCalls({ attributes: {}, source: { output: readArguments(output), toolCalls: flat } });
  const asked = found.slice(0, limits.otlpAskedCalls).flatMap(({ id, name, arguments: args }) => {
    const isKnown = name !== undefined && isSource(args);
    return isKnown ? [{ id, tool: name, input: shortHash(args), atMs }] : [];
  });
  return asked.length === 0 ? undefined : asked;
}

const shortHash = (value: unknown): string => digestOf(value).hash.slice('sha256:'.length).slice(0, 16);
const noArguments = shortHash({});

const openInference = /^llm\.output_messages\.(\d{1,6})\.message\.tool_calls\.(\d{1,6})\.tool_call\.(.+)$/;

/** Calls that an instrumentation wrote as one attribute for each member. */
function flatCalls(attributes: Source): Source[] {
  const calls = new Map<string, [string, unknown][]>();
  for (const [name, value] of Object.entries(attributes)) {
    const [, message, call, member] = openInference.exec(name) ?? [];
    if (message === undefined || call === undefined || member === undefined) continue;
    const at = `${message} ${call}`;
    const members = calls.get(at) ?? [];
    calls.set(at, members);
    members.push([member.replace('function.', ''), value]);
  }
  const messages = indexedMessages(attributes, 'completion') ?? [];
  const indexed = messages.flatMap(({ tool_calls: each }) => (Array.isArray(each) ? each : []));
  return [...[...calls.values()].map((members) => Object.fromEntries(members)), ...indexed.filter(isSource)];
}

/** The spans of one call of a tool. */
interface AskedTool {
  readonly spanId: string;
  readonly tool?: string | undefined;
  readonly startMs?: number | undefined;
  /** The call that an earlier request found. It stays. */
  readonly joinedId?: string | undefined;
  /** Hashes of the arguments and of objects in them. */
  readonly inputs: () => readonly string[] | undefined;
}

interface OpenCall extends AskedCall {
  readonly key: string;
}

/**
 * Returns the ids of the calls of tools that name none, by span. `asked`: by the models of the trace. `named`: ids that
 * spans of tools name. A tool that started before the model asked has another call. Cost: once over the spans, sorted.
 */
export function joinAsked(
  asked: Iterable<AskedCall>,
  tools: readonly AskedTool[],
  named: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const joins = new Map<string, string>();
  for (const { spanId, joinedId } of tools) if (joinedId !== undefined) joins.set(spanId, joinedId);
  const calls = callsOf(asked, named).toSorted((a, b) => a.atMs - b.atMs);
  if (calls.length === 0) return joins;
  const names = new Set(calls.map(({ tool }) => tool));
  const known = new Set(calls.map(({ key }) => key));
  const waiting = tools
    .filter(({ tool, startMs }) => startMs !== undefined && tool !== undefined && names.has(tool))
    .map((span) => ({
      ...span,
      startMs: span.startMs ?? 0,
      keys: keysOf(span).filter((key) => known.has(key)),
    }))
    .toSorted((a, b) => a.startMs - b.startMs);
  const taken = new Set(joins.values());
  const open = new Map<string, Set<OpenCall>>();
  let next = 0;
  for (const { spanId, startMs, keys } of waiting) {
    for (let call = calls[next]; call !== undefined && call.atMs <= startMs; call = calls[(next += 1)])
      if (!taken.has(call.id)) open.set(call.key, (open.get(call.key) ?? new Set()).add(call));
    if (joins.has(spanId)) continue;
    const [call, other] = keys.flatMap((key) => [...(open.get(key) ?? []).values().take(2)]);
    if (call === undefined || other !== undefined) continue;
    open.get(call.key)?.delete(call);
    taken.add(call.id);
    joins.set(spanId, call.id);
  }
  return joins;
}

/** Calls by their ids. An id of two different calls names neither. */
function callsOf(asked: Iterable<AskedCall>, named: ReadonlySet<string>): OpenCall[] {
  const calls = new Map<string, OpenCall | null>();
  for (const call of asked) {
    const { id, tool, input, atMs } = call;
    if (named.has(id)) continue;
    const key = `${input} ${tool}`;
    const known = calls.get(id);
    if (known === undefined) calls.set(id, { ...call, key });
    else if (known?.key === key) calls.set(id, { ...known, atMs: Math.min(known.atMs, atMs) });
    else calls.set(id, null);
  }
  return [...calls.values()].filter((call) => call !== null);
}

/** An instrumentation may write the arguments into an object; an empty object in another one says nothing. */
const keysOf = ({ tool, inputs }: AskedTool): string[] =>
  (inputs() ?? []).flatMap((hash, at) => (at > 0 && hash === noArguments ? [] : [`${hash} ${tool}`]));
