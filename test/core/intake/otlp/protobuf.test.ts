import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { describe, expect, it } from 'vitest';
import { decodeRequest } from '../../../../src/core/intake/otlp/protobuf.ts';

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

  it('OTLP protobuf decoding returns undefined for text, cut bytes and random bytes', () => {
    const whole = nested([1, 2, 2], span);
    for (let length = 1; length < whole.length; length++)
      expect(decodeRequest(whole.subarray(0, length))).toBeUndefined();
    for (const bytes of [text('{"a":1}'), text('\n{"a":1}'), Buffer.alloc(0), Buffer.alloc(64, 0xff)])
      expect(decodeRequest(bytes)).toBeUndefined();
  });
});
