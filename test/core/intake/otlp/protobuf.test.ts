import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { decodeRequest, decodeSignal } from '../../../../src/core/intake/otlp/protobuf.ts';
import { readBatch } from '../../../../src/core/intake/receive.ts';
import { parseLoose } from '../../../../src/core/intake/source.ts';

/** Writes one length-delimited field. */
const field = (number: number, bytes: Uint8Array): Uint8Array =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish();
const text = (value: string): Uint8Array => Buffer.from(value);
const nested = (numbers: readonly number[], bytes: Uint8Array): Uint8Array =>
  numbers.toReversed().reduce((inner, number) => field(number, inner), bytes);

const span = Buffer.concat([
  field(1, Buffer.alloc(16, 0xab)),
  field(2, Buffer.alloc(8, 0xcd)),
  field(5, text('execute_tool pay')),
  new BinaryWriter().tag(7, WireType.Bit64).fixed64('1767603600000000000').finish(),
  field(9, Buffer.concat([field(1, text('n')), field(2, new BinaryWriter().tag(3, 0).int64('-5').finish())])),
  // a field of a later version
  field(99, text('later')),
]);

describe('OTLP in protobuf', () => {
  it('OTLP protobuf decodes to OTLP/JSON: hex ids, 64-bit numbers as text, no unknown fields', () => {
    expect(decodeRequest(nested([1, 2, 2], span))).toEqual({
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                {
                  traceId: 'ab'.repeat(16),
                  spanId: 'cd'.repeat(8),
                  name: 'execute_tool pay',
                  startTimeUnixNano: '1767603600000000000',
                  attributes: [{ key: 'n', value: { intValue: '-5' } }],
                },
              ],
            },
          ],
        },
      ],
    });
  });

  it('OTLP protobuf logs and metrics are distinguished from spans by their records', () => {
    const record = new BinaryWriter().tag(1, WireType.Bit64).fixed64('7').finish();
    expect(decodeRequest(nested([1, 2, 2], record))).toHaveProperty('resourceLogs');
    expect(decodeRequest(nested([1, 2, 2], field(1, text('requests'.repeat(3)))))).toHaveProperty(
      'resourceMetrics',
    );
  });

  it('a value has at most 128 levels, in protobuf as in JSON, however deep it is', () => {
    const list = (levels: number): Uint8Array => {
      let value = field(1, text('leaf'));
      for (let level = 0; level < levels; level++) value = field(5, field(1, value));
      return value;
    };
    const inJson = (levels: number): string =>
      '{"arrayValue":{"values":['.repeat(levels) + '{"stringValue":"leaf"}' + ']}}'.repeat(levels);
    const read = (request: Record<string, unknown>) => {
      const { logs, rejected } = readBatch('logs', request, { atMs: 0 });
      return [logs.length, rejected.reason];
    };
    const { otlpDepth } = limits;
    for (const levels of [otlpDepth, otlpDepth + 1, 900, 2000, 5000]) {
      const expected =
        levels <= otlpDepth
          ? [1, null]
          : [0, `expected values that are not nested too deep: at most ${otlpDepth} levels`];
      expect(read(decodeSignal(nested([1, 2, 2, 5], list(levels)), 'logs')), `${levels}`).toEqual(expected);
      // a number beyond a double takes another way through the parser
      for (const beside of ['1', '12345678901234567890']) {
        const record = `{"x":${beside},"body":${inJson(levels)}}`;
        const json = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${record}]}]}]}`;
        expect(read(parseLoose(json) as Record<string, unknown>), `${levels} ${beside}`).toEqual(expected);
      }
    }
  });

  it('OTLP protobuf decoding returns undefined for text, cut bytes and random bytes', () => {
    const whole = nested([1, 2, 2], span);
    for (let length = 1; length < whole.length; length++)
      expect(decodeRequest(whole.subarray(0, length))).toBeUndefined();
    for (const bytes of [text('{"a":1}'), text('\n{"a":1}'), Buffer.alloc(0), Buffer.alloc(64, 0xff)])
      expect(decodeRequest(bytes)).toBeUndefined();
  });
});
