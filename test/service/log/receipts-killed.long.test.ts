/** A process that dies between COMMIT and the answer leaves stored leaves without a receipt; a repeat gives it. */
import { describe, expect, it } from 'vitest';
import { engines, startService } from '../../support/hosted.ts';
import { serveProcess } from '../../support/process.ts';
import { event, send } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { indexOf, itemsOf, trustIn, verified, type Item } from '../support/receipts.ts';

/** The bytes that a receipt signs begin with 0x84; notes, cosignatures and DSSE messages do not. */
const killAtReceipt = (moment: 'before' | 'after'): string => `
  import crypto from 'node:crypto';
  import { syncBuiltinESMExports } from 'node:module';
  const { sign } = crypto;
  const kill = () => process.kill(process.pid, 'SIGKILL');
  crypto.sign = (algorithm, bytes, key) => {
    if (bytes[0] !== 0x84) return sign(algorithm, bytes, key);
    if ('${moment}' === 'before') kill();
    const signature = sign(algorithm, bytes, key);
    kill();
    return signature;
  };
  syncBuiltinESMExports();
`;

const events = Array.from({ length: 3 }, (_, n) => event({ runId: 'unsigned', metadata: { n } }));
/** Each under the name as its key. */
const requests = {
  single: { path: '/events', body: event({ runId: 'unsigned' }) },
  batch: { path: '/events/batch', body: { events } },
} as const;

const answeredItems = (answer: Answer): Item[] =>
  'results' in answer.body ? itemsOf(answer) : [answer.body as unknown as Item];

describe.each(engines)('a service on %s that dies between commit and answer', (engine) => {
  it.each(['before', 'after'] as const)(
    'a service killed %s it signs a receipt has the leaves, and a repeat gets a receipt that verifies',
    { timeout: 120_000 },
    async (moment) => {
      const service = await startService({ engine });
      const { production: key } = (await service.signUp('Ann')).keys;
      await service.close();
      for (const [name, { path, body }] of Object.entries(requests)) {
        const options = { key, body, headers: { 'idempotency-key': name } };
        const dying = await serveProcess('service', service.dataDir, { preload: killAtReceipt(moment) });
        await expect(send('POST', `${dying.baseUrl}${path}`, options)).rejects.toThrow(/hang up|ECONNRESET/);
        expect(await dying.ended).toBe('SIGKILL');

        const { child, baseUrl, ended } = await serveProcess('service', service.dataDir);
        const get = (of: string): Promise<Answer> => send('GET', `${baseUrl}${of}`, { key });
        const stored = (await get('/events?runId=unsigned')).body.events as Item[];
        expect(stored).toHaveLength(name === 'single' ? 1 : 4);
        const trust = trustIn((await get('/log/key')).text);
        for (let again = 0; again < 2; again++) {
          const answer = await send('POST', `${baseUrl}${path}`, options);
          expect([answer.status, answer.headers['idempotent-replayed']]).toEqual([201, 'true']);
          const items = answeredItems(answer);
          const receipt = verified(answer, items, trust);
          expect(receipt.paths.map((each) => each?.index)).toEqual(
            [...new Set([items[0]!, items.at(-1)!])].map(indexOf),
          );
          expect(stored.map(({ eventId }) => eventId)).toEqual(
            expect.arrayContaining(items.map(({ eventId }) => eventId)),
          );
        }
        expect((await get('/events/count?runId=unsigned')).body.count).toBe(stored.length);
        child.kill('SIGTERM');
        expect(await ended).toBe(0);
      }
      await service.end();
    },
  );
});
