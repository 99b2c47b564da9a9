import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import { tilePath } from '../../../src/core/merkle/tile-path.ts';
import type { Trust } from '../../../src/core/note/trust.ts';
import { readReceipt, verifyReceipt, type VerifiedReceipt } from '../../../src/core/receipt/cose.ts';
import type { Answer } from '../../support/answer.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import {
  bytesOf,
  hashOf,
  indexOf,
  itemsOf,
  trustIn,
  verified as verifiedBy,
  type Item,
} from '../support/receipts.ts';

let plane: TestPlane;
let trust: Trust;
beforeAll(async () => {
  plane = await startPlane();
  trust = trustIn((await plane.call('GET', '/log/key')).text);
});
afterAll(() => plane.end());

/** Verifies the receipt of an answer with these items, as a client does. */
const verified = (answer: Answer, items: readonly Item[]): VerifiedReceipt =>
  verifiedBy(answer, items, trust);
const indexes = ({ paths }: VerifiedReceipt): (number | undefined)[] => paths.map((path) => path?.index);
const record = (members: Record<string, unknown>, headers = {}): Promise<Answer> =>
  plane.call('POST', '/events', { body: event(members), headers });
const recordAll = (events: readonly unknown[], headers = {}): Promise<Answer> =>
  plane.call('POST', '/events/batch', { body: { events }, headers });

describe('the receipt of an answer', () => {
  it('the answer to a single event carries a receipt of its leaf, of at most 900 bytes', async () => {
    const answer = await record({ runId: 'single' });
    const item = answer.body as unknown as Item;
    const receipt = verified(answer, [item]);
    expect(indexes(receipt)).toEqual([indexOf(item)]);
    expect(receipt.size).toBe(indexOf(item) + 1);
    expect(Math.abs(receipt.atSeconds - Date.now() / 1000)).toBeLessThan(60);
    expect(bytesOf(answer).length).toBeLessThanOrEqual(900);
    const { body } = await plane.call('GET', `/events/${item.eventId}`);
    expect(body['leafHash']).toBe(item.leafHash);
  });

  it('the answer to a batch carries one receipt of all its leaves; a rejected event has none', async () => {
    const events = Array.from({ length: 500 }, (_, n) => event({ runId: 'batch', metadata: { n } }));
    events[7] = { runId: 'batch' };
    const answer = await recordAll(events);
    const items = itemsOf(answer);
    expect(items[7]).toMatchObject({ eventId: null, status: 'rejected' });
    expect(items[7]).not.toHaveProperty('leafHash');
    const accepted = items.filter(({ eventId }) => eventId !== null);
    const receipt = verified(answer, accepted);
    expect(indexes(receipt)).toEqual([indexOf(accepted[0]!), indexOf(accepted.at(-1)!)]);
    expect(bytesOf(answer).length).toBeLessThanOrEqual(1400);
    expect(() => verified(answer, [accepted[1]!, accepted[0]!, ...accepted.slice(2)])).toThrow('one root');
  });

  it('a receipt lists the hashes of at most limits.receiptLeaves leaves', async () => {
    for (const count of [1, limits.receiptLeaves, limits.receiptLeaves + 1]) {
      const answer = await recordAll(Array.from({ length: count }, () => event({ runId: 'listed' })));
      const hashes = itemsOf(answer).map(hashOf);
      const { leaves } = readReceipt(bytesOf(answer));
      if (count > limits.receiptLeaves) expect(leaves).toBeNull();
      else expect(leaves?.map((leaf) => Buffer.from(leaf))).toEqual(hashes);
    }
  });

  it('the receipt of another operation shows its leaves by itself', async () => {
    const body = { runId: 'asked', tool: { name: 'ls' }, arguments: {} };
    const answer = await plane.call('POST', '/mcp/tools/evaluate', { body });
    expect(answer.status).toBe(200);
    const receipt = verifyReceipt(bytesOf(answer), null, trust);
    const { index } = receipt.paths[0];
    const tile = Math.floor(index / 256);
    const width = Math.min(256, receipt.size - tile * 256);
    const { bytes } = await plane.call('GET', `/log/${tilePath({ level: 0, index: tile, width })}`);
    const own = bytes.subarray((index % 256) * 32, ((index % 256) + 1) * 32);
    expect(receipt.leaves?.map((leaf) => Buffer.from(leaf))[0]).toEqual(own);
  });

  it('requests at the same time get receipts, of which those of one commit have one signature', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => record({ runId: `at-once-${n % 7}` })),
    );
    const signatures = new Map<number, Set<string>>();
    for (const answer of answers) {
      const { size, signature } = verified(answer, [answer.body as unknown as Item]);
      const those = signatures.get(size) ?? new Set();
      signatures.set(size, those.add(Buffer.from(signature).toString('hex')));
    }
    expect(signatures.size).toBeLessThan(answers.length);
    expect([...signatures.values()].map(({ size }) => size)).toEqual([...signatures].map(() => 1));
  });

  it('an answer that appends nothing, and a refusal, carry none', async () => {
    for (const answer of [
      await plane.call('GET', '/runs'),
      await record({ action: '' }),
      await recordAll([{ runId: 'r' }]),
    ])
      expect(answer.headers['gov-receipt']).toBeUndefined();
  });
});

describe('the receipt of a repeat', () => {
  it('a replay carries a receipt of the same leaves, under a newer tree', async () => {
    const events = [1, 2, 3].map((n) => event({ runId: 'replayed', metadata: { n } }));
    const headers = { 'idempotency-key': 'receipt' };
    const first = await recordAll(events, headers);
    await record({ runId: 'between' });
    const again = await recordAll(events, headers);
    expect([again.headers['idempotent-replayed'], again.text]).toEqual(['true', first.text]);
    const [before, after] = [verified(first, itemsOf(first)), verified(again, itemsOf(first))];
    expect(indexes(after)).toEqual(indexes(before));
    expect(after.size).toBeGreaterThanOrEqual(before.size);
  });

  it('a request that only repeats consecutive events carries a receipt of these', async () => {
    const events = [1, 2, 3].map((n) => event({ clientEventId: `again-${n}`, metadata: { n } }));
    const first = itemsOf(await recordAll(events));
    const again = await recordAll(events);
    expect(itemsOf(again)).toEqual(first);
    expect(indexes(verified(again, first))).toEqual([indexOf(first[0]!), indexOf(first[2]!)]);
    const one = await recordAll([events[1]]);
    expect(indexes(verified(one, [first[1]!]))).toEqual([indexOf(first[1]!)]);
    expect((await recordAll([events[0], events[2]])).headers['gov-receipt']).toBeUndefined();
  });

  it('a request that repeats some events and adds others carries a receipt of those that it adds', async () => {
    const known = event({ clientEventId: 'known' });
    const [first] = itemsOf(await recordAll([known]));
    const twice = event({ clientEventId: 'twice' });
    const answer = await recordAll([event(), known, twice, twice]);
    const items = itemsOf(answer);
    expect([items[1], items[3]]).toEqual([first, items[2]]);
    expect(indexes(verified(answer, [items[0]!, items[2]!]))).toEqual([
      indexOf(items[0]!),
      indexOf(items[2]!),
    ]);
  });
});

it('the leaf hash of an answer is that of the record', async () => {
  const item = (await record({ runId: 'hashed' })).body as unknown as Item;
  const leaf = (await plane.call('GET', `/log/receipts/${indexOf(item)}`)).bytes;
  expect(verifyReceipt(leaf, [hashOf(item)], trust).paths[0].index).toBe(indexOf(item));
  expect(() => verifyReceipt(leaf, [leafHash('other')], trust)).toThrow('receipt: ');
});
