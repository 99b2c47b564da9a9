/** Commitments in the form of RFC 9901: known answers, and what must not verify. */
import { createHash, randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  Committer,
  digestOf,
  disclosureDigest,
  disclosureText,
  parseDisclosure,
  saltPool,
  sortedDigests,
  type Disclosure,
} from '../../../src/core/events/disclosure.ts';
import { canonicalize, parseJson, type Json } from '../../../src/core/json/parse.ts';
import { disclosures as known, withoutSpaces } from '../../vectors/rfc9901.ts';

/** Values within our profile of JSON, as they come out of the parser. */
const anyJson = fc
  .jsonValue({ maxDepth: 3 })
  .map((value) => {
    try {
      return parseJson(Buffer.from(JSON.stringify(value)));
    } catch {
      return undefined;
    }
  })
  .filter((value) => value !== undefined);

const name = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0'));

describe('digests', () => {
  it.each(known)('the digest of $text is the digest in RFC 9901', ({ text, digest }) => {
    expect(digestOf(text)).toBe(digest);
  });

  it('a digest is correct over a text longer than the buffer it is computed in', () => {
    for (const length of [21_840, 21_846, 70_000]) {
      const text = `["s","p","${'ü'.repeat(length)}"]`;
      const disclosure = Buffer.from(text).toString('base64url');
      expect(digestOf(text)).toBe(createHash('sha256').update(disclosure).digest('base64url'));
    }
  });
});

describe('disclosures', () => {
  it('a disclosure has the wire form of RFC 9901 §4.2.1, without spaces', () => {
    expect(disclosureText(withoutSpaces.disclosure)).toBe(withoutSpaces.encoded);
    expect(parseDisclosure(withoutSpaces.encoded)).toEqual(withoutSpaces.disclosure);
  });

  it('a disclosure is read back unchanged from its wire form', () => {
    fc.assert(
      fc.property(name, name, anyJson, (salt, pointer, value) => {
        const disclosure: Disclosure = [salt, pointer, value];
        expect(parseDisclosure(disclosureText(disclosure))).toEqual(disclosure);
      }),
    );
  });

  it.each([
    ['nothing', ''],
    ['what is not base64url', 'WyJh!'],
    ['padding', `${disclosureText(['s', 'p', 1])}=`],
    ['standard base64', Buffer.from('["s?>","p","ÿÿÿ"]').toString('base64')],
    ['spaces in the JSON', Buffer.from('["s", "p", 1]').toString('base64url')],
    ['two members', Buffer.from('["s","p"]').toString('base64url')],
    ['four members', Buffer.from('["s","p",1,2]').toString('base64url')],
    ['an object', Buffer.from('{"0":"s"}').toString('base64url')],
    ['a salt that is no text', Buffer.from('[1,"p",1]').toString('base64url')],
    ['a pointer that is no text', Buffer.from('["s",null,1]').toString('base64url')],
    ['bytes that are not UTF-8', Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]).toString('base64url')],
    ['names out of order', Buffer.from('["s","p",{"b":1,"a":2}]').toString('base64url')],
    ['a name twice', Buffer.from('["s","p",{"a":1,"a":2}]').toString('base64url')],
  ])('a disclosure is not read from %s', (_, text) => {
    expect(parseDisclosure(text)).toBeNull();
  });
});

describe('salts', () => {
  it('salts are 16 random bytes in base64url and never repeat, over many pools', () => {
    const asked: number[] = [];
    const salt = saltPool((size) => {
      asked.push(size);
      return randomBytes(size);
    });
    const salts = Array.from({ length: 1000 }, () => salt());
    expect(new Set(salts).size).toBe(1000);
    for (const each of salts) {
      const bytes = Buffer.from(each, 'base64url');
      expect(bytes).toHaveLength(16);
      expect(bytes.toString('base64url')).toBe(each);
    }
    expect(asked).toHaveLength(4);
  });

  it('salts use every random byte that they contain', () => {
    const salt = saltPool((size) => Buffer.alloc(size, 0xff));
    expect(Buffer.from(salt(), 'base64url')).toEqual(Buffer.alloc(16, 0xff));
  });
});

/** RFC 9901 section 4.2.3, without a line of ours but the canonical form. */
const independentDigest = (disclosure: Disclosure): string =>
  createHash('sha256')
    .update(Buffer.from(canonicalize([...disclosure]), 'utf8').toString('base64url'), 'ascii')
    .digest('base64url');

describe('a committer', () => {
  const commit = (fields: readonly (readonly [string, Json])[]) => {
    const committer = new Committer(saltPool(randomBytes));
    for (const [pointer, value] of fields) committer.add(pointer, value);
    const disclosures = committer.finish();
    expect(committer.fields).toBe(fields.length);
    return { digests: sortedDigests(disclosures), disclosures };
  };

  it('a committer commits to every field once, with sorted digests that its disclosures open', () => {
    const fields = fc.array(fc.tuple(name, anyJson), { maxLength: 40 });
    fc.assert(
      fc.property(fields, (given) => {
        const { digests, disclosures } = commit(given);
        const opened = JSON.parse(disclosures) as Disclosure[];
        expect(canonicalize(opened as unknown as Json)).toBe(disclosures);
        expect(opened.map(([, pointer, value]) => [pointer, value])).toEqual(given);
        expect(digests).toEqual(opened.map(independentDigest).toSorted());
        expect(digests).toEqual(opened.map(disclosureDigest).toSorted());
      }),
    );
  });

  it('a committer commits to equal values with different digests', () => {
    const { digests } = commit([
      ['/a', 1],
      ['/a', 1],
    ]);
    expect(digests[0]).not.toBe(digests[1]);
  });

  it('a committer returns the canonical length of a value', () => {
    const committer = new Committer(() => 's');
    expect(committer.add('/a', { b: 1, a: 'ü' })).toBe('{"a":"ü","b":1}'.length);
  });
});
