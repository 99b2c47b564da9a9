/** OTLP requests for benchmarks: recorded spans and spans of an agent, in JSON and protobuf, with ids of their own. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { dataRoot } from '../support/harness.ts';

interface Value {
  readonly stringValue?: string;
  readonly intValue?: string | number;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values?: readonly Value[] };
  readonly kvlistValue?: { readonly values?: readonly Attribute[] };
}
interface Attribute {
  readonly key: string;
  readonly value: Value;
}
interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
}
export interface TraceRequest {
  readonly resourceSpans: readonly {
    readonly resource?: { readonly attributes?: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

const attributes = (values: Readonly<Record<string, string>>): Attribute[] =>
  Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));

/** Spans of an agent that asks a model and calls a tool in turn; each is kept. About 600 bytes of JSON a span. */
export function agentSpans(count: number, contentChars = 120): TraceRequest {
  const traceId = randomBytes(16).toString('hex');
  const at = BigInt(Date.now()) * 1_000_000n;
  const spans = Array.from({ length: count }, (_, n): Span => {
    const start = at - BigInt(count - n) * 1_000_000n;
    const common = { 'gen_ai.conversation.id': `bench-${traceId}`, 'gen_ai.agent.name': 'agent' };
    const isTool = n % 2 === 1;
    const content = `${n} `.padEnd(contentChars, 'text ');
    const own = isTool
      ? {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'search',
          'gen_ai.tool.call.arguments': JSON.stringify({ query: content }),
        }
      : {
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': 'model-1',
          'gen_ai.output.messages': JSON.stringify([
            { role: 'assistant', parts: [{ type: 'text', content }] },
          ]),
        };
    return {
      traceId,
      spanId: randomBytes(8).toString('hex'),
      name: isTool ? 'execute_tool search' : 'chat model-1',
      startTimeUnixNano: String(start),
      endTimeUnixNano: String(start + 900_000n),
      attributes: attributes({ ...common, ...own }),
    };
  });
  return {
    resourceSpans: [
      { resource: { attributes: attributes({ 'service.name': 'bench' }) }, scopeSpans: [{ spans }] },
    ],
  };
}

/** A recorded request of the data folder with other trace ids and conversations, so that it is new. */
export function recordedSpans(name: string): TraceRequest {
  const names = new Map<string, string>();
  const fresh = (old: string): string => {
    const known = names.get(old) ?? randomBytes(16).toString('hex');
    names.set(old, known);
    return known;
  };
  const text = readFileSync(join(dataRoot, 'otlp', name), 'utf8');
  const renamed = text
    .replaceAll(/(?<="traceId":\s*")[0-9a-f]{32}/g, fresh)
    .replaceAll(/tau-airline-[\d-]+/g, (old) => `${old}-${fresh(old).slice(0, 8)}`);
  return JSON.parse(renamed) as TraceRequest;
}

export const spansIn = ({ resourceSpans }: TraceRequest): number =>
  resourceSpans.reduce(
    (sum, { scopeSpans }) => sum + scopeSpans.reduce((inner, { spans }) => inner + spans.length, 0),
    0,
  );

const message = (writer: BinaryWriter, field: number, bytes: Uint8Array): BinaryWriter =>
  writer.tag(field, WireType.LengthDelimited).bytes(bytes);
const many = <Item>(
  writer: BinaryWriter,
  field: number,
  items: readonly Item[],
  of: (item: Item) => Uint8Array,
) => items.reduce((into, item) => message(into, field, of(item)), writer);

function valueBytes(value: Value): Uint8Array {
  const writer = new BinaryWriter();
  if (value.stringValue !== undefined) message(writer, 1, Buffer.from(value.stringValue));
  else if (value.boolValue !== undefined) writer.tag(2, WireType.Varint).bool(value.boolValue);
  else if (value.intValue !== undefined) writer.tag(3, WireType.Varint).int64(String(value.intValue));
  else if (value.doubleValue !== undefined) writer.tag(4, WireType.Bit64).double(value.doubleValue);
  else if (value.arrayValue !== undefined)
    message(writer, 5, many(new BinaryWriter(), 1, value.arrayValue.values ?? [], valueBytes).finish());
  else if (value.kvlistValue !== undefined)
    message(writer, 6, many(new BinaryWriter(), 1, value.kvlistValue.values ?? [], attributeBytes).finish());
  return writer.finish();
}
const attributeBytes = ({ key, value }: Attribute): Uint8Array =>
  message(message(new BinaryWriter(), 1, Buffer.from(key)), 2, valueBytes(value)).finish();

function spanBytes(span: Span): Uint8Array {
  const writer = message(new BinaryWriter(), 1, Buffer.from(span.traceId, 'hex'));
  message(writer, 2, Buffer.from(span.spanId, 'hex'));
  if (span.parentSpanId !== undefined) message(writer, 4, Buffer.from(span.parentSpanId, 'hex'));
  message(writer, 5, Buffer.from(span.name));
  writer.tag(7, WireType.Bit64).fixed64(span.startTimeUnixNano);
  writer.tag(8, WireType.Bit64).fixed64(span.endTimeUnixNano);
  return many(writer, 9, span.attributes, attributeBytes).finish();
}

/** The same request in protobuf. */
export const protobufOf = ({ resourceSpans }: TraceRequest): Buffer =>
  Buffer.from(
    many(new BinaryWriter(), 1, resourceSpans, ({ resource, scopeSpans }) => {
      const group = message(
        new BinaryWriter(),
        1,
        many(new BinaryWriter(), 1, resource?.attributes ?? [], attributeBytes).finish(),
      );
      return many(group, 2, scopeSpans, ({ spans }) =>
        many(new BinaryWriter(), 2, spans, spanBytes).finish(),
      ).finish();
    }).finish(),
  );
