/** Parsing and spelling in slices: `parseJson` and `canonicalize` are the oracles, for results and for errors. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GovError } from '../../../src/contract/problems.ts';
import { canonicalize, largeBounds, parseJson, type Json } from '../../../src/core/json/parse.ts';
import { threadMs } from '../../thread-ms.ts';
import { canonicalInSlices, eachPiece, parseJsonInSlices } from '../../../src/core/json/sliced.ts';

/** Pauses whenever it is asked, and counts the pauses. */
function always(): { isOver: () => boolean; next: () => Promise<void>; pauses: number } {
  const pace = { isOver: () => true, next: async () => void (pace.pauses += 1), pauses: 0 };
  return pace;
}

/** A pause after each five milliseconds; remembers the longest computation without one. */
function timed() {
  let [since, sinceThreadMs] = [performance.now(), threadMs()];
  const pace = {
    longestMs: 0,
    isOver: () => performance.now() - since > 5,
    next: async () => {
      pace.longestMs = Math.max(pace.longestMs, threadMs() - sinceThreadMs);
      await new Promise((resolve) => setImmediate(resolve));
      [since, sinceThreadMs] = [performance.now(), threadMs()];
    },
  };
  return pace;
}

const outcome = async (work: () => Json | Promise<Json>): Promise<unknown> => {
  try {
    return { value: canonicalize(await work()) };
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    return { code: error.code, message: error.message, extensions: error.extensions };
  }
};
const expectSame = async (text: string | Buffer): Promise<void> => {
  const bytes = Buffer.from(text);
  const expected = await outcome(() => parseJson(bytes, largeBounds));
  expect(await outcome(() => parseJsonInSlices(bytes, largeBounds, always()))).toEqual(expected);
};

const long = 'x'.repeat(70_000);
const nodes = (count: number): Json[] =>
  Array.from({ length: count }, (_, at) => ({
    id: `n${at}`,
    type: 'step',
    data: { text: 'fox'.repeat(30), at },
  }));

describe('parseJsonInSlices', () => {
  it('parseJsonInSlices returns what parseJson returns, for texts around the size of a piece', async () => {
    for (const count of [0, 1, 400, 480, 500, 520, 2000]) {
      await expectSame(JSON.stringify({ runId: 'r', nodes: nodes(count), edges: [] }, null, count % 3));
    }
    await expectSame(JSON.stringify([long, 1, [long, long], {}, [], long]));
    await expectSame(JSON.stringify({ a: { b: { c: nodes(1000) } }, d: long, e: [[nodes(1000)]] }));
    await expectSame(JSON.stringify(Object.fromEntries(nodes(3000).map((node, at) => [`k${at}`, node]))));
    for (const text of ['[]', '{}', '1', '"a"', 'null', ` [ ] `, JSON.stringify(long)])
      await expectSame(text);
  });

  it('parseJsonInSlices keeps names such as __proto__ and escaped names as data', async () => {
    const filling = JSON.stringify(nodes(1000));
    await expectSame(`{"__proto__":{"a":1},"constructor":${filling},"\\u0061":2,"10":3,"9":4}`);
    await expectSame(`{"list":${filling},"inner":{"\\u005f_proto__":${filling}}}`);
  });

  it('parseJsonInSlices refuses what parseJson refuses, with the same place', async () => {
    const filling = JSON.stringify(nodes(1000));
    for (const bad of [
      `{"a":${filling},"a":1}`,
      `{"a":${filling},"b":[{"x":1,"x":2}]}`,
      `{"a":[${filling},{"x":1,"\\u0078":2}]}`,
      `{"a":${filling},"b":01}`,
      `{"a":${filling}`,
      `{"a":${filling}} x`,
      `{"a":${filling},"b":"\\ud800"}`,
      `{"a":${filling},"b":1e400}`,
      `{"a":${filling},"b":${'['.repeat(40)}${']'.repeat(40)}}`,
      `{"a":[${'0,'.repeat(200_001)}0]}`,
      `\ufeff{"a":${filling}}`,
    ])
      await expectSame(bad);
    const invalid = Buffer.from(`{"a":${filling},"b":"??"}`);
    invalid[invalid.length - 4] = 0xc3;
    await expectSame(invalid);
  });

  it('parseJsonInSlices agrees with parseJson on any JSON around large values', async () => {
    const filling = JSON.stringify(nodes(700));
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.string(), fc.nat(3), async (value, name, where) => {
        const [inner, key] = [JSON.stringify(value), JSON.stringify(name)];
        const texts = [
          `[${inner},${filling},${inner}]`,
          `{"a":${filling},${key}:${inner}}`,
          `{${key}:[${inner},${inner}],"a":[${filling}]}`,
          `{"a":{${key}:${filling}},"b":${inner}}`,
        ];
        await expectSame(texts[where] ?? '');
      }),
      { numRuns: 60 },
    );
  });
});

describe('canonicalInSlices', () => {
  it('canonicalInSlices returns what canonicalize returns', async () => {
    const large: Json = {
      z: nodes(3000),
      a: { '10': nodes(3000), '9': 1 },
      long,
      list: [long, [nodes(2500)]],
    };
    Object.defineProperty(large, '__proto__', { value: nodes(3000), enumerable: true });
    expect(await canonicalInSlices(large, always())).toBe(canonicalize(large));
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        // JSON without -0 and lone surrogates, as parsed
        const json = JSON.parse(JSON.stringify(value)) as Json;
        if (JSON.stringify(json).includes('\\ud')) return;
        expect(await canonicalInSlices(json, always())).toBe(canonicalize(json));
        const around: Json = [json, nodes(800), { json }];
        expect(await canonicalInSlices(around, always())).toBe(canonicalize(around));
      }),
      { numRuns: 60 },
    );
  });

  it('eachPiece gives pieces of a bounded size', async () => {
    const sizes: number[] = [];
    const value = nodes(5000);
    await eachPiece(value, { pace: always(), take: (text) => void sizes.push(text.length) });
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(canonicalize(value).length);
    expect(Math.max(...sizes)).toBeLessThan(70_000);
    expect(sizes.length).toBeGreaterThan(5);
  });
});

describe('a graph of 20,000 nodes', () => {
  it('a graph of 20,000 nodes is parsed and spelled in many slices', async () => {
    const bytes = Buffer.from(JSON.stringify({ runId: 'r', nodes: nodes(20_000) }));
    const [parsing, spelling] = [always(), always()];
    const value = await parseJsonInSlices(bytes, largeBounds, parsing);
    await canonicalInSlices(value, spelling);
    // one for each piece of 64 KiB at least
    expect(parsing.pauses).toBeGreaterThan(bytes.length / 65_536);
    expect(spelling.pauses).toBeGreaterThan(1000);
    const pace = timed();
    expect(await canonicalInSlices(await parseJsonInSlices(bytes, largeBounds, pace), pace)).toBe(
      canonicalize(value),
    );
    // a slice and the scan of the whole text
    expect(pace.longestMs).toBeLessThan(100);
  });
});
