import { afterAll, beforeAll, expect, it } from 'vitest';
import { startService, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { trustIn, verified, type Item } from '../support/receipts.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.end());

it('an answer waits for its receipt while the keys of the log change', async () => {
  const { call } = await service.signUp('ada');
  const { projectId } = (await call('GET', '/auth/identity')).body;
  const trust = trustIn((await call('GET', '/log/key')).text);
  let isAnswered = false;
  const record = async () => {
    const answer = await call('POST', '/events', { body: event({ runId: 'paused' }) });
    isAnswered = true;
    return answer;
  };
  const asked = await service.services.checkpoints.between(projectId, async () => {
    const answer = record();
    const count = async (): Promise<number> => (await call('GET', '/events/count?runId=paused')).body.count;
    await expect.poll(count).toBe(1);
    for (let more = 0; more < 5; more++) await count();
    expect(isAnswered).toBe(false);
    return { answer };
  });
  const answer = await asked.answer;
  expect(verified(answer, [answer.body as unknown as Item], trust).size).toBeGreaterThan(0);
});
