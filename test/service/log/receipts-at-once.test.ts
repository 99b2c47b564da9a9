/** Two processes on one PostgreSQL append to one log at once: all their receipts are of one history. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { parseHash } from '../../../src/core/hash.ts';
import { verifyConsistency } from '../../../src/core/merkle/tree.ts';
import { compareHeads, SignedHead } from '../../../src/core/note/heads.ts';
import { openCheckpoint } from '../../../src/core/note/checkpoint.ts';
import type { Trust } from '../../../src/core/note/trust.ts';
import { verifyReceipt } from '../../../src/core/receipt/cose.ts';
import { basePaths } from '../../../src/http/call/route.ts';
import type { Answer } from '../../support/answer.ts';
import {
  engines,
  startService,
  type ServiceProcess,
  type Tenant,
  type TestService,
} from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { bytesOf, hashOf, indexOf, itemsOf, trustIn, verified, type Item } from '../support/receipts.ts';

const rounds = 5;
const atOnce = 24;

describe.skipIf(!engines.includes('postgres'))('two processes that append to one log', () => {
  let service: TestService;
  let processes: readonly ServiceProcess[];
  let ada: Tenant;
  let trust: Trust;
  beforeAll(async () => {
    service = await startService({ engine: 'postgres' });
    processes = [service, await service.again()];
    ada = await service.signUp('ada');
    trust = trustIn((await ada.call('GET', '/log/key')).text);
  });
  afterAll(() => service.end());

  const send = (process: number, path: string, body: unknown, headers = {}): Promise<Answer> => {
    const { call, origin } = processes[process % 2]!;
    const key = ada.keys.production;
    return call('POST', `${origin}${basePaths.production}${path}`, { key, body, headers });
  };

  /** Verifies the receipt of an answer; its head, which knows the leaves of the receipt. */
  const headOf = (answer: Answer): SignedHead => {
    expect([200, 201], answer.text).toContain(answer.status);
    const items = 'results' in answer.body ? itemsOf(answer) : [answer.body as unknown as Item];
    const isRecorded = items.every(({ leafHash }) => leafHash !== undefined);
    const receipt = isRecorded ? verified(answer, items, trust) : verifyReceipt(bytesOf(answer), null, trust);
    const head = new SignedHead('', { ...receipt, root: Buffer.from(receipt.root), extensions: [] });
    const [first, last] = receipt.paths;
    const hashes = isRecorded ? items.map(hashOf) : receipt.leaves!;
    expect(head.add({ ...first, leaf: hashes[0]! })).toBe(true);
    if (last !== undefined) expect(head.add({ ...last, leaf: hashes.at(-1)! })).toBe(true);
    return head;
  };

  it('all receipts verify, and no two contradict each other', { timeout: 120_000 }, async () => {
    const answers: Answer[] = [];
    for (let round = 0; round < rounds; round++) {
      const sent = Array.from({ length: atOnce }, (_, at) => {
        const runId = `shared-${at % 5}`;
        if (at % 4 === 0)
          return send(at / 4, '/events/batch', { events: [1, 2, 3, 4, 5].map(() => event({ runId })) });
        if (at % 4 === 1)
          return send(at, '/mcp/tools/evaluate', { runId, tool: { name: 'ls' }, arguments: { at } });
        return send((at + round) >> 1, '/events', event({ runId, metadata: { at } }), {
          'idempotency-key': `${round}-${at}`,
        });
      });
      answers.push(...(await Promise.all(sent)));
    }
    // each repeats at the other process
    const repeats = await Promise.all(
      [2, 3, 6, 7].map((at) =>
        send((at >> 1) + 1, '/events', event({ runId: `shared-${at % 5}`, metadata: { at } }), {
          'idempotency-key': `0-${at}`,
        }),
      ),
    );
    expect(repeats.map(({ headers }) => headers['idempotent-replayed'])).toEqual(Array(4).fill('true'));

    const heads = [...answers, ...repeats].map(headOf);
    const indexes = answers.flatMap(({ body }) =>
      'results' in body ? (body.results as Item[]).map(indexOf) : [],
    );
    expect(new Set(indexes).size).toBe(indexes.length);
    for (const [at, one] of heads.entries())
      for (const other of heads.slice(at + 1)) expect(compareHeads(one, other).result).not.toBe('split');

    // and the newest checkpoint begins with each of these trees
    await ada.call('GET', `/log/receipts/${Math.max(...heads.map(({ size }) => size)) - 1}`);
    const { checkpoint } = openCheckpoint(
      (await ada.call('GET', '/log/checkpoint')).text,
      trust.keys,
      trust.origin,
    );
    const roots = new Map(heads.map(({ size, root }) => [size, root]));
    const sizes = [...roots.keys()].toSorted((one, other) => one - other);
    expect(sizes.length).toBeGreaterThan(2 * rounds);
    for (let at = 0; at < sizes.length; at += limits.consistencySizes) {
      const from = sizes.slice(at, at + limits.consistencySizes);
      const { body } = await ada.call('GET', `/log/consistency?from=${from.join()}&to=${checkpoint.size}`);
      expect(body.proofs.map(({ fromSize }: { fromSize: number }) => fromSize)).toEqual(from);
      for (const { fromSize, path } of body.proofs as { fromSize: number; path: string[] }[])
        expect(
          verifyConsistency({
            first: fromSize,
            firstRoot: roots.get(fromSize)!,
            second: checkpoint.size,
            secondRoot: checkpoint.root,
            path: path.map((hash) => parseHash(hash)!),
          }),
        ).toBe(true);
    }
  });
});
