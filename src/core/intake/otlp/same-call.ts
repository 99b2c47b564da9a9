/**
 * Spans that report one call. The agent has a span of it, its MCP client one and the server one: below each other, of one
 * tool, without another call id or other arguments. A tool that calls itself has a span below its own too: its arguments,
 * its call id or the limit of levels tell the calls apart. The spans may come in any order and in several requests, so what
 * is needed of each is kept small. Source: semantic conventions of GenAI, `execute_tool` and MCP.
 * Tested by `test/core/intake/otlp/tree.test.ts` and `test/http/otlp/one-call.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { joinAsked, type AskedCall } from './asked-calls.ts';
import type { Answer } from './same-answer.ts';

/** A span as far as it tells which call it reports. */
export interface CallSpan {
  readonly spanId: string;
  readonly parentId?: string | undefined;
  /** Absent: a span that a call may pass through, such as that of a request of HTTP. `end`: an agent, a retrieval. */
  readonly role?: 'tool' | 'model' | 'end' | undefined;
  readonly tool?: string | undefined;
  /** The id that the agent gave the call. */
  readonly callId?: string | undefined;
  /** The id of the request of JSON-RPC, and the session of MCP. */
  readonly request?: string | undefined;
  readonly session?: string | undefined;
  readonly side?: 'client' | 'server' | undefined;
  readonly startMs?: number | undefined;
  readonly hasInput?: boolean | undefined;
  /** Short hashes: of the arguments, and of their members, since a framework may wrap the arguments in an object. */
  readonly input?: readonly string[] | undefined;
  /** Returns the same, for most calls have one span and nothing to compare. `digest`: that of the arguments, if it is known. */
  readonly readInput?: (digest?: unknown) => readonly string[] | undefined;
  readonly hasResult?: boolean | undefined;
  /** The call of a span that names none (`asked-calls.ts`), as an earlier request found it. */
  readonly joinedId?: string | undefined;
  /** Of a model. */
  readonly answer?: Answer | undefined;
  readonly asked?: readonly AskedCall[] | undefined;
}

/** A span of an earlier request. `above`: the span around it that was found to report the same call. */
export interface EarlierSpan extends CallSpan {
  readonly above?: string | undefined;
}

export const decidedBefore = (earlier: readonly EarlierSpan[]): Map<string, string> =>
  new Map(earlier.flatMap(({ spanId, above }) => (above === undefined ? [] : [[spanId, above] as const])));

/** The id that a span gives its call, or the one that it got from gov. */
export const ownCallId = ({ callId, spanId }: CallSpan): string => callId ?? `import:${spanId}`;

export const inputOf = ({ input, readInput }: CallSpan, digest?: unknown): readonly string[] | undefined =>
  input ?? readInput?.(digest);

/** Begins the hash of arguments that are no object: nothing says whether a text means the same as an object. */
export const textMark = 'text:';

const none: readonly never[] = [];

/** The spans of one trace by id, and the span around each that reports the same call. */
export class CallSpans<Span extends CallSpan = CallSpan> {
  readonly #byId: ReadonlyMap<string, Span>;
  readonly #above: ReadonlyMap<string, Span>;
  #asked: ReadonlyMap<string, string> | undefined;

  /** Of two spans with one id the later counts. `decided`: spans by the id of a span that was found to be below them. */
  constructor(spans: readonly Span[], decided: ReadonlyMap<string, string> = new Map()) {
    this.#byId = new Map(spans.map((span) => [span.spanId, span]));
    this.#above = aboveEach(this.#byId, decided);
  }

  get all(): IteratorObject<Span> {
    return this.#byId.values();
  }

  get(spanId: string): Span | undefined {
    return this.#byId.get(spanId);
  }

  /** Returns the spans around a span that report the same call, from the inside out; an empty list for most. */
  around(spanId: string): readonly Span[] {
    if (!this.#above.has(spanId)) return none;
    const spans: Span[] = [];
    const seen = new Set([spanId]);
    for (
      let above = this.#above.get(spanId);
      above !== undefined && !seen.has(above.spanId);
      above = this.#above.get(above.spanId)
    ) {
      seen.add(above.spanId);
      spans.push(above);
    }
    return spans;
  }

  /** The outermost span that reports the call of a span. */
  rootOf(span: Span): Span {
    return this.around(span.spanId).at(-1) ?? span;
  }

  /** Returns the id of the call of a span. `isAsked`: the span of a model has it, and no span of the call. */
  callOf(span: Span): { readonly id: string; readonly isAsked: boolean } {
    const root = this.rootOf(span);
    const asked = root.callId === undefined ? this.#joins.get(root.spanId) : undefined;
    return { id: asked ?? ownCallId(root), isAsked: asked !== undefined };
  }

  /** The calls of tools that name none, by the outermost span of each. */
  get #joins(): ReadonlyMap<string, string> {
    return (this.#asked ??= joinedIn(this));
  }

  /** Returns the model around a span, with nothing between them but spans that say nothing about an agent. */
  modelAround(spanId: string): Span | undefined {
    const span = this.#byId.get(spanId);
    const { end } = span === undefined ? {} : wayUp(span, this.#byId);
    return end?.role === 'model' ? end : undefined;
  }

  /** Whether a span that is no tool may stand between a tool and a span that has not come yet, or another tool. */
  mayLead(span: Span): boolean {
    const { end } = wayUp(span, this.#byId);
    return span.role === undefined && (end === undefined || end.role === 'tool');
  }
}

function joinedIn<Span extends CallSpan>(spans: CallSpans<Span>): ReadonlyMap<string, string> {
  if (!spans.all.some(({ asked, joinedId }) => (asked ?? joinedId) !== undefined)) return new Map();
  const calls = Map.groupBy(
    spans.all.filter(({ role }) => role === 'tool'),
    (span) => spans.rootOf(span),
  );
  const unnamed = [...calls].filter(([root]) => root.callId === undefined);
  return joinAsked(
    spans.all.flatMap(({ asked = [] }) => asked),
    unnamed.map(([{ spanId, tool, startMs }, all]) => ({
      spanId,
      tool,
      startMs,
      joinedId: all.map((each) => each.joinedId).find((id) => id !== undefined),
      inputs: () => all.map((each) => inputOf(each)).find((input) => input !== undefined),
    })),
    new Set([...calls.keys()].flatMap(({ callId }) => callId ?? [])),
  );
}

/**
 * Returns the next tool span around each span that reports the same call. Of several spans directly below one, those of
 * another request of JSON-RPC than the first are further calls, and so is a second one of one side: a client chooses the id
 * of its request, and may use it twice. A server whose parents are unknown reports the call of the
 * one client with an equal request. Cost: once over the spans, their ancestors, and the spans of each call.
 */
function aboveEach<Span extends CallSpan>(
  byId: ReadonlyMap<string, Span>,
  decided: ReadonlyMap<string, string>,
): ReadonlyMap<string, Span> {
  const above = new Map<string, Span>();
  const allBelow = new Map<string, Span[]>();
  const put = (span: Span, outer: Span): void => {
    allBelow.set(outer.spanId, [...(allBelow.get(outer.spanId) ?? []), span]);
    above.set(span.spanId, outer);
  };
  const around = (span: Span): Span[] => {
    const spans = [span];
    for (let at = above.get(span.spanId); at !== undefined && !spans.includes(at); at = above.get(at.spanId))
      spans.push(at);
    return spans;
  };
  /** The spans of the call from this one down, one list for each level. */
  const levelsOf = (span: Span): Span[][] => {
    const levels = [[span]];
    for (let next = allBelow.get(span.spanId); next !== undefined && levels.length < limits.otlpCallLevels;) {
      levels.push(next);
      const below: Span[] = next.flatMap(({ spanId }) => allBelow.get(spanId) ?? []);
      next = below.length === 0 ? undefined : below;
    }
    return levels;
  };
  const mayJoin = (span: Span, outer: Span): boolean => {
    if (!isSameTool(span, outer)) return false;
    const [outers, levels] = [around(outer), levelsOf(span)];
    const isFew = outers.length + levels.length <= limits.otlpCallLevels;
    if (!isFew) return false;
    const inputs = outers.map((each) => inputOf(each));
    return levels.flat().every((each) => inputs.every((input) => !isOtherInput(inputOf(each), input)));
  };
  for (const [below, id] of decided) {
    const [span, outer] = [byId.get(below), byId.get(id)];
    if (span !== undefined && outer !== undefined) put(span, outer);
  }
  const tools = [...byId.values()].filter(({ role }) => role === 'tool');
  const alone: Span[] = [];
  for (const span of tools.toSorted((a, b) => (a.startMs ?? 0) - (b.startMs ?? 0))) {
    if (above.has(span.spanId)) continue;
    const { end: outer, isUnknown } = wayUp(span, byId);
    if (isUnknown && span.side === 'server' && span.request !== undefined) alone.push(span);
    if (outer?.role !== 'tool' || !mayJoin(span, outer)) continue;
    const others = allBelow.get(outer.spanId) ?? [];
    if (others.every((other) => isOtherSide(span, other))) put(span, outer);
  }
  for (const server of alone) {
    const clients = tools.filter(
      (span) =>
        span.side === 'client' &&
        span.request === server.request &&
        mayJoin(server, span) &&
        !allBelow.has(span.spanId),
    );
    const [client, other] = clients;
    if (client !== undefined && other === undefined) put(server, client);
  }
  return above;
}

/** The first span around a span that a call does not pass through. `isUnknown`: the way leads to a span that is not here. */
function wayUp<Span extends CallSpan>(
  span: Span,
  byId: ReadonlyMap<string, Span>,
): { readonly end?: Span; readonly isUnknown: boolean } {
  const seen = new Set([span.spanId]);
  for (let { parentId } = span; parentId !== undefined && !seen.has(parentId);) {
    const above = byId.get(parentId);
    if (above === undefined) return { isUnknown: true };
    if (above.role !== undefined) return { end: above, isUnknown: false };
    seen.add(parentId);
    parentId = above.parentId;
  }
  // a server may begin a way of its own
  return { isUnknown: true };
}

/** Whether two spans at one place are the two sides of one request. */
const isOtherSide = (span: CallSpan, other: CallSpan): boolean =>
  span.request !== undefined && span.request === other.request && span.side !== other.side;

/** Whether two spans have other arguments, and not one those of the other in an object around them. */
function isOtherInput(a: CallSpan['input'], b: CallSpan['input']): boolean {
  const [one, other] = [a?.[0], b?.[0]];
  if (one === undefined || other === undefined || one.startsWith(textMark) !== other.startsWith(textMark))
    return false;
  return a?.includes(other) !== true && b?.includes(one) !== true;
}

function isSameTool(span: CallSpan, outer: CallSpan): boolean {
  const isOther = (member: 'request' | 'session'): boolean =>
    span[member] !== undefined && outer[member] !== undefined && span[member] !== outer[member];
  return (
    span.tool === outer.tool &&
    (span.callId === undefined || span.callId === outer.callId) &&
    (span.joinedId === undefined || [undefined, span.joinedId].includes(outer.callId ?? outer.joinedId)) &&
    !isOther('request') &&
    !isOther('session')
  );
}
