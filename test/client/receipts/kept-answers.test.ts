import { appendFileSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keepAnswer, keptAnswers } from '../../../src/client/sending/kept-answers.ts';
import { receiptedAnswer, type ReceiptedAnswer } from '../../../src/client/receipts/receipted.ts';
import { limits } from '../../../src/contract/limits.ts';
import { Folder } from '../../cli/push/harness.ts';

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => folder.remove());
const directory = (): string => join(folder.path, 'receipts');
const answer = (n: number): ReceiptedAnswer => ({
  receipt: `receipt-${n}`,
  results: [{ eventId: `evt_${n}`, leafHash: `sha256:${n}`, status: 'accepted' }],
});

describe('receipts without a spool', () => {
  it('answers come back in the order in which they were kept, and a torn line loses only itself', () => {
    keepAnswer(directory(), answer(1));
    appendFileSync(join(directory(), 'answers.ndjson'), '{"receipt":"torn');
    keepAnswer(directory(), answer(2));
    appendFileSync(join(directory(), 'answers.ndjson'), '7\n{"receipt":1,"results":[]}\n');
    expect(keptAnswers(directory())).toEqual([answer(1), answer(2)]);
    expect(statSync(join(directory(), 'answers.ndjson')).mode & 0o777).toBe(0o600);
  });

  it('a file holds half of limits.heldBytes, and one byte more begins another one', () => {
    keepAnswer(directory(), answer(1));
    const path = join(directory(), 'answers.ndjson');
    const { size } = statSync(path);
    truncateSync(path, limits.heldBytes / 2 - size);
    keepAnswer(directory(), answer(2));
    expect([readdirSync(directory()), statSync(path).size]).toEqual([
      ['answers.ndjson'],
      limits.heldBytes / 2,
    ]);
    truncateSync(path, limits.heldBytes / 2 - size + 1);
    keepAnswer(directory(), answer(3));
    expect(readdirSync(directory()).toSorted()).toEqual(['answers.1.ndjson', 'answers.ndjson']);
    expect(statSync(path).size).toBe(size);
  });

  it('a folder that cannot be made breaks nothing', () => {
    writeFileSync(directory(), 'a file');
    expect(() => keepAnswer(directory(), answer(1))).not.toThrow();
  });

  it('answers without a receipt, a stored event or a leaf are not kept', () => {
    const stored = { eventId: 'evt_1', leafHash: 'sha256:1' };
    const headers = { 'gov-receipt': 'receipt-1' };
    expect(receiptedAnswer(headers, stored)).toEqual(answer(1));
    expect(
      receiptedAnswer(headers, {
        results: [
          { ...stored, status: 'accepted' },
          { eventId: null, status: 'rejected' },
        ],
      }),
    ).toEqual(answer(1));
    for (const body of [null, 'text', {}, { results: [] }, { eventId: 'evt_1' }])
      expect(receiptedAnswer(headers, body)).toBeNull();
    expect(receiptedAnswer({}, stored)).toBeNull();
  });
});
