/** Texts that people wrote come back as they were, whatever stands in them. */
import { describe, expect, it } from 'vitest';
import { request, startMs, stored } from '../../support/fixture.ts';
import { createPolicy, decideApproval, openApproval } from '../../support/governance.ts';
import { apiKey } from '../../support/tenants.ts';
import { open } from '../../support/engine.ts';

const texts = ['nul \0 nul', '\\0 \\\\', 'quotes \' " $1 {}', 'grüße 🚀 \u2028\t\r\n', ''];

describe.each(texts.map((text) => [JSON.stringify(text), text] as const))('a text such as %s', (_, text) => {
  it('the text is stored unchanged in names, reasons, comments and summaries', async () => {
    const { store, reopen, drop } = await open();
    const name = `x${text}`;
    await stored(store, createPolicy('1', { more: { name, description: text } }));
    await stored(store, openApproval('1', { reason: text }));
    const decided = decideApproval('1', 'denied');
    const effects = decided.effects!.map((effect) => ({ ...effect, comment: text }));
    await stored(store, { ...decided, effects });
    const key = apiKey('1', { name, description: text });
    await store.saveApiKey(key);
    const job = { jobId: 'job_1', type: 'proof', runId: 'r1', request: '{}', createdMs: startMs } as const;
    await stored(store, request([], { effects: [{ kind: 'enqueueJob', job }] }));
    const { lease } = (await store.claimJob(startMs, 1000))!;
    await store.failJob('prj_a', 'job_1', { lease, errorSummary: text, atMs: startMs, retryAtMs: null });
    const again = await reopen();
    expect(await again.policy('prj_a', 'pol_1')).toMatchObject({ name, description: text });
    expect(await again.approval('prj_a', 'apr_1')).toMatchObject({
      reason: text,
      decision: { comment: text },
    });
    expect((await again.apiKey(key.digest))?.key).toEqual(key);
    expect((await again.job('prj_a', 'job_1'))?.errorSummary).toBe(text);
    await drop();
  });
});
