/** The leaf of an erasure: a known answer, limits, and texts that are none. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { draftErasure, readErasure } from '../../../src/core/decided/erasure.ts';

const erasure = {
  erasureId: 'ers_01jq3v5k8hf7wb3c9x2m4n6p8r',
  targets: [{ index: 7, digests: ['A'.repeat(43)] }],
  reasonCode: 'subject_request',
  requestedAt: '2026-01-01T00:00:00.000Z',
  executedAt: '2026-01-01T00:00:01.000Z',
  keyDestroyed: false,
};

describe('the leaf of an erasure', () => {
  it('the leaf of an erasure contains digests and neither pointers nor names', () => {
    const { record, id, disclosures } = draftErasure(erasure);
    expect(record).toBe(
      '{"_sd":[],"_sd_alg":"sha-256","erasureId":"ers_01jq3v5k8hf7wb3c9x2m4n6p8r",' +
        '"executedAt":"2026-01-01T00:00:01.000Z","keyDestroyed":false,"reasonCode":"subject_request",' +
        `"requestedAt":"2026-01-01T00:00:00.000Z","targets":[{"digests":["${'A'.repeat(43)}"],"index":7}],` +
        '"type":"gov.erasure/1"}',
    );
    expect([id, disclosures]).toEqual([erasure.erasureId, null]);
    expect(readErasure(record)).toMatchObject(erasure);
  });

  it('an erasure of the most targets, or of the most digests, fits into one leaf', () => {
    const many = (targets: number, digests: number) =>
      Array.from({ length: targets }, (_, at) => ({
        index: Number.MAX_SAFE_INTEGER - at,
        digests: Array.from({ length: digests }, () => 'A'.repeat(43)),
      }));
    const { erasureTargets, erasureDigests } = limits;
    for (const targets of [many(erasureTargets, erasureDigests / erasureTargets), many(1, erasureDigests)]) {
      const { record } = draftErasure({ ...erasure, targets });
      expect(Buffer.byteLength(record)).toBeLessThanOrEqual(limits.recordBytes);
    }
  });

  it.each([
    '',
    'null',
    '{"type":"gov.erasure/1"}',
    draftErasure(erasure).record.replace('"index":7', '"index":"7"'),
    draftErasure(erasure).record.replace('gov.erasure/1', 'gov.event/1'),
    draftErasure(erasure).record.replace('"keyDestroyed":false', '"keyDestroyed":0'),
  ])('readErasure refuses %j', (text) => {
    expect(readErasure(text)).toBeNull();
  });
});
