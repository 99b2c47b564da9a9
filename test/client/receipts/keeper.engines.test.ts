import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../../src/client/create.ts';
import { Folder } from '../../cli/push/harness.ts';
import { startPlane } from '../../support/serving.ts';
import { answeredReceipts, HeldSpool, sentEvent } from '../support/held.ts';

describe('the keeper of receipts at a served plane', () => {
  it('releases the receipts of answers after one proof, and remembers the tree', async () => {
    const folder = new Folder();
    onTestFinished(() => folder.remove());
    const plane = await startPlane();
    onTestFinished(() => plane.end());
    const client = createClient({ baseUrl: plane.baseUrl, apiKey: plane.key, env: {}, retries: 0 });
    const held = new HeldSpool(join(folder.path, 'spool'));
    for (const n of [1, 2, 3]) {
      const events = [sentEvent(2 * n), sentEvent(2 * n + 1)];
      await held.acknowledge(events, await answeredReceipts(client, events));
    }
    expect(held.spool.held()).toHaveLength(3);
    await held.keeper(client).close();
    expect([held.spool.held(), held.found]).toEqual([[], []]);
    expect(held.kept()).toMatchObject({ newest: expect.any(String), contradicted: [] });
    held.close();
  });
});
