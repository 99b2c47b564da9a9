/**
 * OTLP export requests from their protobuf form, as the objects of OTLP/JSON: ids in hex, 64-bit integers as decimal text.
 * Only the fields that a recording needs are read; unknown ones are skipped, as protobuf wants.
 * Source: opentelemetry-proto 1.9, `collector/*`, `trace.proto`, `logs.proto`, `common.proto`, `resource.proto`.
 * Tested by `test/core/intake/otlp/protobuf.test.ts`.
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { limits } from '../../../contract/limits.ts';

type Kind = 'text' | 'hex' | 'base64' | 'bool' | 'int' | 'uint' | 'double' | 'nanos' | 'fixed32' | Message;
/** Field number → name, kind, and whether it repeats. */
interface Message {
  readonly [field: number]: readonly [name: string, kind: Kind, repeated?: 'many'];
}

const anyValue: { [field: number]: readonly [string, Kind, 'many'?] } = {};
const keyValue: Message = { 1: ['key', 'text'], 2: ['value', anyValue] };
Object.assign(anyValue, {
  1: ['stringValue', 'text'],
  2: ['boolValue', 'bool'],
  3: ['intValue', 'int'],
  4: ['doubleValue', 'double'],
  5: ['arrayValue', { 1: ['values', anyValue, 'many'] }],
  6: ['kvlistValue', { 1: ['values', keyValue, 'many'] }],
  7: ['bytesValue', 'base64'],
} satisfies Message);
const attributes = ['attributes', keyValue, 'many'] as const;
const resource: Message = { 1: attributes };
const scope: Message = { 1: ['name', 'text'], 2: ['version', 'text'], 3: attributes };
const span: Message = {
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  3: ['traceState', 'text'],
  4: ['parentSpanId', 'hex'],
  5: ['name', 'text'],
  6: ['kind', 'uint'],
  7: ['startTimeUnixNano', 'nanos'],
  8: ['endTimeUnixNano', 'nanos'],
  9: attributes,
  11: ['events', { 1: ['timeUnixNano', 'nanos'], 2: ['name', 'text'], 3: attributes }, 'many'],
  13: ['links', { 1: ['traceId', 'hex'], 2: ['spanId', 'hex'], 4: attributes }, 'many'],
  15: ['status', { 2: ['message', 'text'], 3: ['code', 'uint'] }],
};
const logRecord: Message = {
  1: ['timeUnixNano', 'nanos'],
  2: ['severityNumber', 'uint'],
  3: ['severityText', 'text'],
  5: ['body', anyValue],
  6: attributes,
  8: ['flags', 'fixed32'],
  9: ['traceId', 'hex'],
  10: ['spanId', 'hex'],
  11: ['observedTimeUnixNano', 'nanos'],
  12: ['eventName', 'text'],
};
const metric: Message = { 1: ['name', 'text'], 2: ['description', 'text'], 3: ['unit', 'text'] };

const requestOf = (signal: string, scopes: string, records: string, record: Message): Message => ({
  1: [
    signal,
    { 1: ['resource', resource], 2: [scopes, { 1: ['scope', scope], 2: [records, record, 'many'] }, 'many'] },
    'many',
  ],
});

const requests = {
  traces: requestOf('resourceSpans', 'scopeSpans', 'spans', span),
  logs: requestOf('resourceLogs', 'scopeLogs', 'logRecords', logRecord),
  metrics: requestOf('resourceMetrics', 'scopeMetrics', 'metrics', metric),
};
export type Signal = keyof typeof requests;

/** A record that could not be read: its bytes are no message of their kind. */
export class UnreadableRecord {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

const records: ReadonlySet<Kind> = new Set([span, logRecord, metric]);

const wireTypes: Readonly<Record<Extract<Kind, string>, WireType>> = {
  text: WireType.LengthDelimited,
  hex: WireType.LengthDelimited,
  base64: WireType.LengthDelimited,
  bool: WireType.Varint,
  int: WireType.Varint,
  uint: WireType.Varint,
  double: WireType.Bit64,
  nanos: WireType.Bit64,
  fixed32: WireType.Bit32,
};

type DecodedMessage = Record<string, unknown>;

/**
 * Returns the request in these bytes; undefined if they are none of a trace, log or metrics request. The three look alike
 * down to their records, so the bytes decide: a span begins with a trace id, a log record with a time.
 */
export function decodeRequest(bytes: Uint8Array): DecodedMessage | undefined {
  if (bytes[0] !== 0x0a) return undefined;
  for (const request of Object.values(requests)) {
    try {
      const decoded = decode(new BinaryReader(bytes), bytes.length, request);
      if (JSON.stringify(decoded).length > 2) return decoded;
    } catch {
      // another kind of request, or no protobuf at all
    }
  }
  return undefined;
}

/**
 * Returns a request of one signal; a record that is malformed becomes an `UnreadableRecord` in its place. No bytes are an empty
 * request. Errors: RangeError, TypeError or Error if the bytes are no such request. The sender controls all bytes.
 */
export const decodeSignal = (bytes: Uint8Array, signal: Signal): DecodedMessage =>
  decode(new BinaryReader(bytes), bytes.length, requests[signal], { alone: true, level: -1 });

function decode(
  reader: BinaryReader,
  end: number,
  message: Message,
  options: MessageContext = { alone: false, level: -1 },
): DecodedMessage {
  const decoded: DecodedMessage = {};
  while (reader.pos < end) {
    const [field, wireType] = reader.tag();
    const known = message[field];
    if (known === undefined) {
      reader.skip(wireType, field);
      continue;
    }
    const [name, kind, repeated] = known;
    const value = decodeField(reader, { wireType, kind, ...options });
    if (repeated === 'many')
      (decoded[name] = (decoded[name] as unknown[] | undefined) ?? []) satisfies unknown;
    if (repeated === 'many') (decoded[name] as unknown[]).push(value);
    else decoded[name] = value;
  }
  if (reader.pos !== end) throw new RangeError('expected a message to end at its length');
  return decoded;
}

interface MessageContext {
  /** Whether a malformed record leaves the others as they are. */
  readonly alone: boolean;
  /** Lists and maps around a value; -1 outside of one. */
  readonly level: number;
}

interface Field extends MessageContext {
  readonly wireType: WireType;
  readonly kind: Kind;
}

function decodeField(reader: BinaryReader, { wireType, kind, alone, level: around }: Field): unknown {
  const expected = typeof kind === 'string' ? wireTypes[kind] : WireType.LengthDelimited;
  if (wireType !== expected) throw new TypeError(`expected wire type ${expected}, got ${wireType}`);
  if (typeof kind !== 'string') {
    const length = reader.uint32();
    if (reader.pos + length > reader.len) throw new RangeError('expected a message within its container');
    const end = reader.pos + length;
    const level = kind === anyValue ? around + 1 : around;
    if (level > limits.otlpDepth) {
      // the reader of the values refuses the record, with the same words as in JSON
      reader.pos = end;
      return {};
    }
    if (!alone || !records.has(kind)) return decode(reader, end, kind, { alone, level });
    try {
      return decode(reader, end, kind);
    } catch (error) {
      reader.pos = end;
      return new UnreadableRecord(error instanceof Error ? error.message : String(error));
    }
  }
  switch (kind) {
    case 'text':
      return new TextDecoder('utf-8', { fatal: true }).decode(reader.bytes());
    case 'hex': {
      const bytes = reader.bytes();
      if (![0, 8, 16].includes(bytes.length)) throw new RangeError('expected an id of 8 or 16 bytes');
      return Buffer.from(bytes).toString('hex');
    }
    case 'base64':
      return Buffer.from(reader.bytes()).toString('base64');
    case 'bool':
      return reader.bool();
    case 'int':
      return String(reader.int64());
    case 'uint':
      return reader.uint32();
    case 'double':
      return reader.double();
    case 'nanos':
      return String(reader.fixed64());
    case 'fixed32':
      return reader.fixed32();
  }
}
