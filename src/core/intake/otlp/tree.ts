/**
 * Spans in their traces: the spans around each, the runs that they name, and what they tell of calls (`same-call.ts`).
 * Tested by `test/core/intake/otlp/tree.test.ts` and `test/core/intake/formats/otlp.test.ts`.
 */
import { digestOf, isDigest } from '../../json/digest.ts';
import { readArguments } from '../conversation.ts';
import { isSource, textOf, type Source } from '../run.ts';
import { attributeOf, kindOfSpan, textAttribute } from './dialects.ts';
import { hasResult } from './outcome.ts';
import type { LogRecord, SpanRecord } from './records.ts';
import { callIdIn } from './tool-message.ts';
import type { KnownSpan } from './joins.ts';
import { askedIn, type AskedCall } from './asked-calls.ts';
import { answerOf, modelCopies, type Answer } from './same-answer.ts';
import { CallSpans, decidedBefore, textMark, type CallSpan } from './same-call.ts';

/** Spans with their ancestors, and the runs that they name. */
export class SpanTree {
  readonly spans: readonly SpanRecord[];
  readonly #byId: ReadonlyMap<string, SpanRecord>;
  readonly #runs: ReadonlyMap<string, string>;
  readonly #earlier: ReadonlyMap<string, readonly KnownSpan[]>;
  readonly #calls = new Map<string, CallSpans<KnownSpan>>();
  readonly #copies = new Map<string, ReadonlyMap<string, string>>();
  #spansOf: ReadonlyMap<string, readonly SpanRecord[]> | undefined;

  /** `elsewhere`: runs by trace id that earlier requests name. They stay. `earlier`: spans of earlier requests by trace id. */
  constructor(
    spans: readonly SpanRecord[],
    elsewhere: ReadonlyMap<string, string> = new Map(),
    earlier: ReadonlyMap<string, readonly KnownSpan[]> = new Map(),
  ) {
    this.spans = spans;
    this.#earlier = earlier;
    this.#byId = new Map(spans.map((span) => [`${span.traceId} ${span.spanId}`, span]));
    this.#runs = new Map([...namedTraces(spans), ...elsewhere]);
  }

  /** Yields the containers of a span, from the inside out; survives a circle. */
  *ancestors(span: SpanRecord): Generator<SpanRecord> {
    const seen = new Set([span]);
    for (
      let above = this.#parent(span);
      above !== undefined && !seen.has(above);
      above = this.#parent(above)
    ) {
      seen.add(above);
      yield above;
    }
  }

  #parent({ traceId, parentId }: SpanRecord): SpanRecord | undefined {
    return parentId === undefined ? undefined : this.#byId.get(`${traceId} ${parentId}`);
  }

  /** Returns the run of a span: its own, that of its nearest ancestor, that of its trace, else the trace. */
  runOf(span: SpanRecord): string {
    for (const { attributes } of [span, ...this.ancestors(span)]) {
      const run = textAttribute(attributes, 'run');
      if (run !== undefined) return run;
    }
    return this.runOfTrace(span.traceId);
  }

  runOfTrace(traceId: string): string {
    return this.#runs.get(traceId) ?? `trace:${traceId}`;
  }

  /** Returns the spans around a span that report the same call, from the inside out; an empty list for most. */
  sameCall({ traceId, spanId }: SpanRecord): readonly CallSpan[] {
    return this.calls(traceId).around(spanId);
  }

  /** Returns what a span of the tree tells of its call. */
  callSpan({ traceId, spanId }: SpanRecord): CallSpan | undefined {
    return this.calls(traceId).get(spanId);
  }

  /** Returns the id of the call that a span of a tool reports, and how it was found where no span names it. */
  callOf({ traceId, spanId }: SpanRecord): ReturnType<CallSpans['callOf']> | undefined {
    const calls = this.calls(traceId);
    const span = calls.get(spanId);
    return span === undefined ? undefined : calls.callOf(span);
  }

  /** Spans of models in a trace that report the call of another one, which they name. */
  modelCopies(traceId: string): ReadonlyMap<string, string> {
    let copies = this.#copies.get(traceId);
    if (copies === undefined) {
      const calls = this.calls(traceId);
      const earlier = new Set(this.#earlier.get(traceId)?.map(({ spanId }) => spanId));
      copies = modelCopies([...calls.all], { earlier, around: (spanId) => calls.modelAround(spanId) });
      this.#copies.set(traceId, copies);
    }
    return copies;
  }

  /** The spans of a trace as far as they tell calls apart: those of earlier requests, which stay as they are, then others. */
  calls(traceId: string): CallSpans<KnownSpan> {
    this.#spansOf ??= Map.groupBy(this.spans, (span) => span.traceId);
    let calls = this.#calls.get(traceId);
    if (calls === undefined) {
      const earlier = this.#earlier.get(traceId) ?? [];
      const known = new Set(earlier.map(({ spanId }) => spanId));
      const fresh = (this.#spansOf.get(traceId) ?? []).filter(({ spanId }) => !known.has(spanId));
      calls = new CallSpans<KnownSpan>([...earlier, ...fresh.map(callSpanOf)], decidedBefore(earlier));
      this.#calls.set(traceId, calls);
    }
    return calls;
  }
}

/** Returns the name, the ids and the side that a span gives its call. */
function callSpanOf(span: SpanRecord): CallSpan {
  const { spanId, parentId, side, attributes } = span;
  const kind = kindOfSpan(span);
  if (kind === 'model') {
    let answer: Answer | undefined;
    let asked: readonly AskedCall[] | null | undefined;
    return {
      spanId,
      parentId,
      role: 'model',
      startMs: span.start?.unixMs,
      get asked() {
        if (asked === undefined) asked = askedIn(attributes, span.start?.unixMs) ?? null;
        return asked ?? undefined;
      },
      get answer() {
        return (answer ??= answerOf(attributes));
      },
    };
  }
  if (kind !== 'tool' || isLoggedToo(span))
    return { spanId, parentId, role: kind === undefined ? kind : 'end' };
  let input: readonly string[] | undefined;
  return {
    spanId,
    parentId,
    role: 'tool',
    tool: toolNameOf(span),
    callId: callIdIn(attributes),
    request: idIn(attributes, ['jsonrpc.request.id', 'mcp.request.id']),
    session: idIn(attributes, ['mcp.session.id']),
    side,
    startMs: span.start?.unixMs,
    hasInput: attributeOf(attributes, 'toolInput') !== undefined || undefined,
    readInput: (digest) => (input ??= inputIn(attributes, digest)),
    hasResult: hasResult(span) || undefined,
  };
}

const comparedMembers = 8;

function inputIn(attributes: Source, digest: unknown): readonly string[] | undefined {
  const text = attributeOf(attributes, 'toolInput');
  if (isDigest(digest) && isFlatObject(text)) return [shortOf(digest)];
  const given = readArguments(text);
  if (given === undefined || given === null) return undefined;
  if (!isSource(given)) return [`${textMark}${hashOf(given)}`];
  // OpenLLMetry writes the one argument of a function as a list
  const only = (value: unknown): unknown => (Array.isArray(value) && value.length === 1 ? value[0] : value);
  const members = Object.values(given)
    .map((each) => only(readArguments(each)))
    .filter(isSource);
  return [given, ...members.slice(0, comparedMembers)].map(hashOf);
}

const shortOf = ({ hash }: { readonly hash: string }): string => hash.slice('sha256:'.length).slice(0, 16);
const hashOf = (value: unknown): string => shortOf(digestOf(value));

/** Whether arguments are surely an object without an object in it, also none in a text. */
const isFlatObject = (text: unknown): boolean =>
  typeof text === 'string' && /^\{\s*["}]/.test(text) && !text.includes('{', 1);

export const toolNameOf = ({ attributes, name }: SpanRecord): string =>
  textAttribute(attributes, 'toolName') ?? name.replace(/^(execute_tool|tools\/call) /, '');

/** An id of JSON-RPC may be a number. */
function idIn(attributes: Source, names: readonly string[]): string | undefined {
  const id = names.map((name) => attributes[name]).find((each) => each !== undefined);
  return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined;
}

/** A call of Gemini CLI under an id that neither its hooks nor its log have. Its log reports each call, with arguments. */
export const isLoggedToo = ({ scope, name }: SpanRecord): boolean =>
  scope === 'gemini-cli' && name === 'tool_call';

/** Returns the run that the first record of each trace names; else the run in which its program was started. */
export function namedTraces(records: readonly (SpanRecord | LogRecord)[]): Map<string, string> {
  const runs = new Map<string, string>();
  const started = new Map<string, string>();
  for (const { traceId, attributes, resource } of records) {
    if (traceId === undefined) continue;
    const run = textAttribute(attributes, 'run');
    if (run !== undefined && !runs.has(traceId)) runs.set(traceId, run);
    const own = startedRun(resource);
    if (own !== undefined) started.set(traceId, own);
  }
  return new Map([...started, ...runs]);
}

/** `gov run` names its run in the resource of the program that it starts. */
export const startedRun = (resource: Source): string | undefined => textOf(resource['gov.run']);
