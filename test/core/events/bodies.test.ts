/** Stored disclosures against the record that committed to them: what matches, what is found, what is refused. */
import { createHash, randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  disclosuresAt,
  disclosuresMatch,
  isCommittedText,
  valuesAt,
} from '../../../src/core/events/bodies.ts';
import {
  Committer,
  disclosureDigest,
  saltPool,
  sortedDigests,
  storedDigests,
  type Disclosure,
} from '../../../src/core/events/disclosure.ts';
import { canonicalize, parseJson, type Json } from '../../../src/core/json/parse.ts';

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
const fields = fc.array(fc.tuple(name, anyJson), { maxLength: 40 });

/** A record that commits to these fields, and what is stored beside it. */
function committed(given: readonly (readonly [string, Json])[], clear: Record<string, Json> = {}) {
  const committer = new Committer(saltPool(randomBytes));
  for (const [pointer, value] of given) committer.add(pointer, value);
  const disclosures = committer.finish();
  return {
    record: canonicalize({ ...clear, _sd: sortedDigests(disclosures), _sd_alg: 'sha-256' }),
    disclosures,
  };
}

const opened = (disclosures: string): Disclosure[] => JSON.parse(disclosures) as Disclosure[];
const stored = (disclosures: readonly Disclosure[]): string => canonicalize(disclosures as unknown as Json);

describe('stored disclosures', () => {
  it('stored disclosures match the record that committed to them, with any content', () => {
    fc.assert(
      fc.property(fields, (given) => {
        const { record, disclosures } = committed(given);
        expect(disclosuresMatch(record, disclosures)).toBe(true);
        expect(storedDigests(disclosures)).toEqual(opened(disclosures).map(disclosureDigest));
      }),
    );
  });

  it('stored disclosures match after some of them were erased', () => {
    const { record, disclosures } = committed([
      ['/a', 1],
      ['/b', 2],
    ]);
    expect(disclosuresMatch(record, stored(opened(disclosures).slice(1)))).toBe(true);
    expect(disclosuresMatch(record, '[]')).toBe(true);
  });

  it.each([2, 30])('stored disclosures do not match when one of %i replaces another', (count) => {
    const { record, disclosures } = committed(Array.from({ length: count }, (_, at) => [`/n${at}`, at]));
    const [first, , ...others] = opened(disclosures);
    expect(disclosuresMatch(record, stored([first!, first!, ...others]))).toBe(false);
  });

  it('stored disclosures do not match with one changed salt, pointer or value', () => {
    const { record, disclosures } = committed([['/a', { b: [1, 'x'] }]]);
    const [[salt, pointer, value]] = opened(disclosures) as [Disclosure];
    const others: Disclosure[] = [
      [`${salt.slice(0, -1)}${salt.endsWith('A') ? 'Q' : 'A'}`, pointer, value],
      [salt, '/b', value],
      [salt, pointer, { b: [1, 'y'] }],
      [salt, pointer, null],
    ];
    for (const other of others) expect(disclosuresMatch(record, stored([other]))).toBe(false);
  });

  it.each([
    '',
    'null',
    '{}',
    '[1]',
    '[["s","p"]]',
    '[["s","/a","\\"]',
    '[["s","/a",1]',
    ']',
    '[[]][',
    '["',
    '[,]',
  ])('stored disclosures do not match when their text is %j', (text) => {
    const { record } = committed([['/a', 1]]);
    expect(disclosuresMatch(record, text)).toBe(false);
    expect(disclosuresAt(record, text, '/a')).toBeNull();
  });

  it('stored disclosures do not match in another spelling', () => {
    const { record, disclosures } = committed([
      ['/a', 'x]"'],
      ['/b', { c: ['\\"]', 2] }],
    ]);
    expect(disclosuresMatch(record, disclosures)).toBe(true);
    const others = [
      ` ${disclosures}`,
      `${disclosures} `,
      `${disclosures}${disclosures}`,
      disclosures.replace('],[', '], ['),
      disclosures.replace('],[', '];['),
      disclosures.slice(0, -1),
      disclosures.slice(1),
    ];
    for (const other of others) expect(disclosuresMatch(record, other)).toBe(false);
  });

  it('stored disclosures do not match a digest from another place in the record', () => {
    const forged = committed([['/action', 'forged']]);
    const [digest = ''] = storedDigests(forged.disclosures)!;
    const elsewhere = [{ causedBy: [digest] }, { aiSystemId: digest }, { causedBy: [`x"${digest}`] }];
    for (const clear of elsewhere) {
      const { record, disclosures } = committed([['/action', 'honest']], clear);
      expect(record).toContain(digest);
      expect(disclosuresMatch(record, disclosures)).toBe(true);
      expect(disclosuresMatch(record, forged.disclosures)).toBe(false);
    }
  });

  it('stored disclosures match a record that does not begin with its digests', () => {
    const { record, disclosures } = committed([['/a', 1]], { A: 'x' });
    expect(record).not.toMatch(/^\{"_sd"/);
    expect(disclosuresMatch(record, disclosures)).toBe(true);
    expect(disclosuresMatch(record, committed([['/a', 1]]).disclosures)).toBe(false);
  });
});

describe('stored disclosures as one text', () => {
  const asText = (clear: Record<string, Json> = {}) => {
    const { disclosures } = committed([
      ['/a', 'x'],
      ['/b', 2],
    ]);
    const _sd_hash = createHash('sha256').update(disclosures).digest('base64url');
    const fields = { _sd: sortedDigests(disclosures), _sd_alg: 'sha-256', _sd_hash, ...clear };
    return { record: canonicalize(fields as Record<string, Json>), disclosures };
  };

  it('only the text that the record committed to is the committed text', () => {
    const { record, disclosures } = asText();
    expect(isCommittedText(record, disclosures)).toBe(true);
    for (let at = 0; at < disclosures.length; at += 1) {
      const other = String.fromCharCode(disclosures.charCodeAt(at) ^ 1);
      const changed = disclosures.slice(0, at) + other + disclosures.slice(at + 1);
      expect(isCommittedText(record, changed)).toBe(false);
    }
    const reordered = stored(opened(disclosures).toReversed());
    expect(isCommittedText(record, reordered)).toBe(false);
    expect(disclosuresMatch(record, reordered)).toBe(true);
    expect(isCommittedText(record, asText().disclosures)).toBe(false);
  });

  it('after an erasure the disclosures are not the committed text, but the others still match', () => {
    const { record, disclosures } = asText();
    const left = stored(opened(disclosures).slice(1));
    expect(isCommittedText(record, left)).toBe(false);
    expect(disclosuresMatch(record, left)).toBe(true);
  });

  it.each([
    ['commits to its fields alone', (own: string) => own.replace(/,"_sd_hash":"[^"]+"/, '')],
    ['does not begin with its digests', (own: string) => own.replace('{', '{"A":1,')],
    ['has the digest elsewhere', (own: string) => own.replace('"_sd_hash"', '"_sd_hash2"')],
    ['is no record', () => ''],
  ])('the committed text cannot be checked for a record that %s', (_, change) => {
    const { record, disclosures } = asText();
    expect(isCommittedText(change(record), disclosures)).toBeNull();
  });

  it('disclosures do not match a shortened or a longer digest of their text', () => {
    const { record, disclosures } = asText();
    const cut = record.replace(
      /"_sd_hash":"([^"]+)"/,
      (_, digest: string) => `"_sd_hash":"${digest.slice(0, 42)}"`,
    );
    const longer = record.replace(/"_sd_hash":"([^"]+)"/, '"_sd_hash":"$1A"');
    expect(isCommittedText(cut, disclosures)).toBe(false);
    expect(isCommittedText(longer, disclosures)).toBe(false);
  });

  it('committed disclosures answer for a missing pointer and refuse an altered text', () => {
    const { record, disclosures } = asText();
    expect(disclosuresAt(record, disclosures, '/none')).toBe('[]');
    expect(disclosuresAt(record, disclosures.replace('"x"', '"y"'), '/none')).toBeNull();
    expect(disclosuresAt(record, disclosures.replace('"x"', '"y"'), '/a')).toBeNull();
  });
});

describe('the disclosure at one pointer', () => {
  const pointer = '/metadata/timestampSource';
  const others: readonly (readonly [string, Json])[] = [
    ['/action', 'execute'],
    ['/metadata/note', `["AAAAAAAAAAAAAAAAAAAAAA","${pointer}","import"]`],
    ['/metadata/tuple', ['AAAAAAAAAAAAAAAAAAAAAA', pointer, 'import']],
    ['/metadata/tuples', [['AAAAAAAAAAAAAAAAAAAAAA', pointer, 'import']]],
  ];

  it('the disclosure at a pointer is found among values that look like it, and alone', () => {
    const { record, disclosures } = committed([...others, [pointer, 'source']]);
    expect(opened(disclosuresAt(record, disclosures, pointer)!)).toEqual(opened(disclosures).slice(-1));
    const only = committed(others);
    expect(disclosuresAt(only.record, only.disclosures, pointer)).toBe('[]');
  });

  it('the disclosure at a pointer equals the one that a full read finds', () => {
    fc.assert(
      fc.property(fields, fc.nat(), (given, pick) => {
        const { record, disclosures } = committed(given);
        const [wanted] = given[pick % Math.max(1, given.length)] ?? ['/none'];
        const found = opened(disclosuresAt(record, disclosures, wanted)!);
        const all = opened(disclosures).filter(([, each]) => each === wanted);
        // one that is found first is answered alone
        expect(all.slice(0, found.length)).toEqual(found);
        expect(found.length > 0).toBe(all.length > 0);
      }),
    );
  });

  it('the disclosure at a pointer is refused when its salt, value or name was changed', () => {
    const { record, disclosures } = committed([...others, [pointer, 'import']]);
    const all = opened(disclosures);
    const [salt] = all.at(-1)!;
    for (const other of [
      [salt, pointer, 'source'],
      ['A'.repeat(22), pointer, 'import'],
      [salt, '/metadata/timestampSorce', 'import'],
      [salt.slice(1), pointer, 'import'],
    ] as Disclosure[]) {
      expect(disclosuresAt(record, stored([...all.slice(0, -1), other]), pointer)).toBeNull();
      expect(disclosuresAt(record, stored([other, ...all.slice(0, -1)]), pointer)).toBeNull();
    }
  });

  it('a missing disclosure is accepted as missing only when every other disclosure matches', () => {
    const { record, disclosures } = committed(others);
    expect(disclosuresAt(record, disclosures.replace('execute', 'exekute'), pointer)).toBeNull();
  });
});

describe('valuesAt', () => {
  it('valuesAt finds the values that JSON.parse finds at the wanted pointers', () => {
    fc.assert(
      fc.property(fields, fc.array(fc.nat({ max: 39 })), (given, picks) => {
        const { disclosures } = committed(given);
        const wanted = new Set(picks.flatMap((pick) => given[pick]?.[0] ?? []));
        const expected = new Map(
          opened(disclosures)
            .filter(([, pointer]) => wanted.has(pointer))
            .map(([, pointer, value]) => [pointer, value]),
        );
        expect(valuesAt(disclosures, wanted)).toEqual(expected);
      }),
    );
  });

  it('valuesAt also reads values from other JSON spellings', () => {
    const wanted = new Set(['/a', '/b', '/c']);
    const spelled =
      '[ ["s", "/a", [1, "x"]], ["\\"s","/b","\\n"],["AAAAAAAAAAAAAAAAAAAAA\\\\","/\\u0063",{"d":"e"}]]';
    expect([...valuesAt(spelled, wanted)]).toEqual([
      ['/a', [1, 'x']],
      ['/b', '\n'],
      ['/c', { d: 'e' }],
    ]);
    expect([...valuesAt(spelled.replaceAll(', ', ',').replace('[ [', '[['), wanted)]).toHaveLength(3);
  });
});
