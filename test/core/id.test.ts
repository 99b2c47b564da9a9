/** TypeID 0.3.0 and UUIDv7: known answers of both specifications, and the log index in event ids. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventId, eventIndex, isTypeId, typeId } from '../../src/core/id.ts';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** The UUID of a TypeID, read the slow way. */
function uuid(id: string): string {
  let value = 0n;
  for (const char of id.slice(id.indexOf('_') + 1)) value = value * 32n + BigInt(alphabet.indexOf(char));
  const hex = value.toString(16).padStart(32, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const maxUint48 = 2 ** 48 - 1;
const anyTime = fc.integer({ min: 0, max: maxUint48 });

describe('typeId', () => {
  test('typeId gives the valid-uuidv7 answer of the TypeID specification', () => {
    const id = typeId('evt', 0x01890a5dac96, hex('074bbcceb302099a8057'));
    expect(id).toBe('evt_01h455vb4pex5vsknk084sn02q');
    expect(uuid(id)).toBe('01890a5d-ac96-774b-bcce-b302099a8057');
  });

  test('typeId gives the UUIDv7 of RFC 9562 appendix A.6', () => {
    const id = typeId('prf', Date.UTC(2022, 1, 22, 19, 22, 22), hex('0cc318c4dc0c0c07398f'));
    expect(uuid(id)).toBe('017f22e2-79b0-7cc3-98c4-dc0c0c07398f');
  });

  test('typeId makes a UUIDv7 that contains the time and 74 random bits', () => {
    fc.assert(
      fc.property(anyTime, fc.uint8Array({ minLength: 10, maxLength: 16 }), (unixMs, random) => {
        const id = typeId('job', unixMs, random);
        expect(isTypeId(id, 'job')).toBe(true);
        const expected = Buffer.concat([Buffer.alloc(6), random.subarray(0, 10)]);
        expected.writeUIntBE(unixMs, 0, 6);
        expected[6] = ((expected[6] ?? 0) & 0x0f) | 0x70;
        expected[8] = ((expected[8] ?? 0) & 0x3f) | 0x80;
        expect(uuid(id).replaceAll('-', '')).toBe(expected.toString('hex'));
      }),
    );
  });

  test('TypeIDs sort by time', () => {
    fc.assert(
      fc.property(anyTime, anyTime, (a, b) => {
        fc.pre(a < b);
        expect(typeId('evt', a, Buffer.alloc(10, 255)) < typeId('evt', b, Buffer.alloc(10))).toBe(true);
      }),
    );
  });

  test.each([-1, maxUint48 + 1, 0.5, Number.NaN])('typeId refuses the time %d', (unixMs) => {
    expect(() => typeId('evt', unixMs, Buffer.alloc(10))).toThrow('a time in milliseconds of 0 to 2^48-1');
  });

  test('typeId refuses nine random bytes', () => {
    expect(() => typeId('evt', 0, Buffer.alloc(9))).toThrow('at least 10 random bytes, got 9');
  });
});

describe('eventId', () => {
  test('eventId contains the index in its last 48 bits and randomness in the other 26', () => {
    const id = eventId(0x01890a5dac96, 0xabcdef012345, 0x3ffffff);
    expect(uuid(id)).toBe('01890a5d-ac96-7fff-bfff-abcdef012345');
    expect(uuid(eventId(0, 0, 0))).toBe('00000000-0000-7000-8000-000000000000');
    expect(uuid(eventId(maxUint48, maxUint48, 0))).toBe('ffffffff-ffff-7000-8000-ffffffffffff');
    expect(uuid(eventId(0, 0, 0b000000000001_00000000000010))).toBe('00000000-0000-7001-8002-000000000000');
  });

  test('eventIndex returns the index of any event id', () => {
    fc.assert(
      fc.property(anyTime, anyTime, fc.integer({ min: 0, max: 2 ** 26 - 1 }), (unixMs, index, random) => {
        const id = eventId(unixMs, index, random);
        expect(isTypeId(id, 'evt')).toBe(true);
        expect(eventIndex(id)).toBe(index);
      }),
      { numRuns: 1000 },
    );
  });

  test.each([-1, maxUint48 + 1, 0.5, Number.NaN])('eventId refuses the index %d', (index) => {
    expect(() => eventId(0, index, 0)).toThrow('an index of 0 to 2^48-1');
  });
});

describe('eventIndex', () => {
  const id = eventId(1_763_631_234_567, 42, 7);
  test.each([
    ['another kind', id.replace('evt', 'prf')],
    ['no prefix', id.slice(4)],
    ['a UUID of version 5 (the TypeID specification’s valid-alphabet)', 'evt_0123456789abcdefghjkmnpqrs'],
    ['the nil UUID', 'evt_00000000000000000000000000'],
    ['the max UUID', 'evt_7zzzzzzzzzzzzzzzzzzzzzzzzz'],
    ['version 7 with the variant of NCS', 'evt_01h455vb4pex5qsknk084sn02q'],
    ['version 7 with the variant of the future', 'evt_01h455vb4pex5zsknk084sn02q'],
    ['a character too few', id.slice(0, -1)],
    ['a character too many', `${id}0`],
    ['capital letters', id.toUpperCase()],
    ['nothing', ''],
  ])('eventIndex returns null for %s', (_, text) => {
    expect(eventIndex(text)).toBeNull();
  });

  test('eventIndex never throws, whatever the text', () => {
    fc.assert(fc.property(fc.string(), (text) => void expect(eventIndex(text)).toBeNull()));
  });
});

describe('isTypeId', () => {
  test.each([
    'evt_00000000000000000000000000',
    'key_7zzzzzzzzzzzzzzzzzzzzzzzzz',
    'nsr_0123456789abcdefghjkmnpqrs',
  ])('isTypeId accepts %s', (text) => {
    expect(isTypeId(text)).toBe(true);
    expect(isTypeId(text, 'job')).toBe(false);
  });

  test.each([
    ['a kind that we do not have', 'abc_00000000000000000000000000'],
    ['a kind that begins as one of ours', 'evtx_00000000000000000000000000'],
    ['more than 128 bits', 'evt_8zzzzzzzzzzzzzzzzzzzzzzzzz'],
    ['the letter i', 'evt_0000000000000000000000000i'],
    ['the letter l', 'evt_0000000000000000000000000l'],
    ['the letter o', 'evt_0000000000000000000000000o'],
    ['the letter u', 'evt_0000000000000000000000000u'],
    ['capital letters', 'EVT_0000000000000000000000000A'],
    ['25 characters', 'evt_0000000000000000000000000'],
    ['27 characters', 'evt_000000000000000000000000000'],
    ['a hyphen', 'evt_1-0000000000000000000000000'],
    ['a line feed', 'evt_00000000000000000000000000\n'],
    ['a space', ' evt_00000000000000000000000000'],
    ['another separator', 'evt-00000000000000000000000000'],
    ['nothing', ''],
  ])('isTypeId refuses %s', (_, text) => {
    expect(isTypeId(text)).toBe(false);
  });
});
