/**
 * Spans in their traces: the spans around each, the runs that they name, and the spans that report one call.
 * Tested by `test/core/intake/otlp/tree.test.ts` and `test/core/intake/formats/otlp.test.ts`.
 */
import { textOf, type Source } from '../run.ts';
import { kindByAttributes, textAttribute } from './dialects.ts';
import type { LogRecord, SpanRecord } from './records.ts';

/** Spans with their ancestors, and the runs that they name. */
export class SpanTree {
  readonly spans: readonly SpanRecord[];
  readonly #byId: ReadonlyMap<string, SpanRecord>;
  readonly #runs: ReadonlyMap<string, string>;
  #calls: ReadonlyMap<SpanRecord, SpanRecord> | undefined;

  /** `elsewhere`: runs by trace id that earlier requests name. They stay. */
  constructor(spans: readonly SpanRecord[], elsewhere: ReadonlyMap<string, string> = new Map()) {
    this.spans = spans;
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
  sameCall(span: SpanRecord): readonly SpanRecord[] {
    this.#calls ??= sameCalls(this);
    const spans: SpanRecord[] = [];
    const seen = new Set([span]);
    for (let above = this.#calls.get(span); above !== undefined && !seen.has(above);) {
      seen.add(above);
      spans.push(above);
      above = this.#calls.get(above);
    }
    return spans;
  }
}

/**
 * Returns the next tool span around each span that reports the same call. One call has a span of the agent, one of its MCP
 * client and one of the server: below each other, of one tool, without another call id. Of several spans directly below
 * one, those of another request of JSON-RPC than the first are further calls. Cost: once over the spans and their
 * ancestors.
 */
function sameCalls(tree: SpanTree): ReadonlyMap<SpanRecord, SpanRecord> {
  const same = new Map<SpanRecord, SpanRecord>();
  const firstBelow = new Map<SpanRecord, SpanRecord>();
  const startOf = ({ start }: SpanRecord): number => start?.unixMs ?? 0;
  const tools = tree.spans.filter(({ attributes }) => kindByAttributes(attributes) === 'tool');
  for (const span of tools.toSorted((a, b) => startOf(a) - startOf(b))) {
    const above = toolAbove(span, tree);
    if (above === undefined || !isSameTool(span, above)) continue;
    const first = firstBelow.get(above);
    if (first !== undefined && (requestOf(span) === undefined || requestOf(span) !== requestOf(first)))
      continue;
    if (first === undefined) firstBelow.set(above, span);
    same.set(span, above);
  }
  return same;
}

/** The nearest span of a tool around a span, below any agent or model. */
function toolAbove(span: SpanRecord, tree: SpanTree): SpanRecord | undefined {
  for (const above of tree.ancestors(span)) {
    const kind = kindByAttributes(above.attributes);
    if (kind !== undefined) return kind === 'tool' && !isLoggedToo(above) ? above : undefined;
  }
  return undefined;
}

function isSameTool(span: SpanRecord, above: SpanRecord): boolean {
  const id = textAttribute(span.attributes, 'callId');
  const [request, outer] = [requestOf(span), requestOf(above)];
  return (
    toolNameOf(span) === toolNameOf(above) &&
    (id === undefined || id === textAttribute(above.attributes, 'callId')) &&
    (request === undefined || outer === undefined || request === outer)
  );
}

export const toolNameOf = ({ attributes, name }: SpanRecord): string =>
  textAttribute(attributes, 'toolName') ?? name.replace(/^(execute_tool|tools\/call) /, '');

/** The id of a request of JSON-RPC may be a number. */
function requestOf({ attributes }: SpanRecord): string | undefined {
  const id = attributes['jsonrpc.request.id'] ?? attributes['mcp.request.id'];
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
