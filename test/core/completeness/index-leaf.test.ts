import { describe, expect, it } from 'vitest';
import { draftIndex, readIndex } from '../../../src/core/completeness/index-leaf.ts';
import { canonicalize, readJson } from '../../../src/core/json/parse.ts';
import { sealed } from './indexed.ts';

const root = Buffer.alloc(32, 7);
const draft = draftIndex({ size: 5, root, keys: 3, ms: Date.UTC(2026, 0, 5), fn: 'gov.mapfn/2' });
const record = sealed(draft, Date.UTC(2026, 0, 6));

describe('index leaves', () => {
  it('an index leaf is canonical JSON once the sequencer has set its time', () => {
    expect(record).toBe(
      '{"_sd":[],"_sd_alg":"sha-256","at":"2026-01-06T00:00:00.000Z","fn":"gov.mapfn/2","keys":3,' +
        `"root":"sha256:${'07'.repeat(32)}","size":5,"through":"2026-01-05T00:00:00.000Z","type":"gov.index/1"}`,
    );
    expect(canonicalize(readJson(record))).toBe(record);
    expect(readIndex(record)).toEqual({
      size: 5,
      root,
      keys: 3,
      atMs: Date.UTC(2026, 0, 6),
      throughMs: Date.UTC(2026, 0, 5),
      fn: 'gov.mapfn/2',
    });
  });

  it.each([
    ['without a time', draft.record],
    ['of another type', record.replace('gov.index/1', 'gov.index/2')],
    ['with a root of another form', record.replace('sha256:07', 'sha256:0X')],
    ['with a size that is not a count', record.replace('"size":5', '"size":-5')],
    ['with a size as text', record.replace('"size":5', '"size":"5"')],
    ['with more keys than a count', record.replace('"keys":3', '"keys":0.5')],
    ['that is not JSON', record.slice(1)],
    ['that is empty', ''],
  ])('readIndex refuses an index leaf %s', (_what, text) => {
    expect(readIndex(text)).toBeNull();
  });
});
