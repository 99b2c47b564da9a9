import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainObject } from '../../../src/core/forwards/json.ts';
import { visibleJson } from '../../../src/core/visible.ts';
import { hostile, hostileRecord, kinds, actsOnReader } from './samples.ts';

describe('plainObject', () => {
  it('has the same members for each kind of record, and the place in the log', () => {
    const objects = kinds().map(plainObject);
    for (const object of objects) expect(Object.keys(object)).toEqual(Object.keys(objects[0]!));
    expect(objects[0]).toMatchObject({
      schema: 'gov.forward/1',
      time: '2026-03-01T09:30:00.000Z',
      log: {
        origin: 'example.com/log/audit',
        index: 7,
        leafHash: kinds()[0]!.leafHash,
        leafType: 'gov.event/1',
      },
    });
  });

  it('hostile text is one line that parses to the same value', () => {
    for (const text of hostile) {
      const object = plainObject(hostileRecord(text));
      const line = visibleJson(object);
      expect(line).not.toMatch(actsOnReader);
      expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(object)));
    }
  });

  it('any text is one line that parses to the same value', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(text.isWellFormed());
        expect(JSON.parse(visibleJson({ text }))).toEqual({ text });
        expect(visibleJson({ text })).not.toMatch(actsOnReader);
      }),
    );
  });
});
