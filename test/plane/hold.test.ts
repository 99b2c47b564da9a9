/** A plane that stops lets no request wait. */
import { expect, it } from 'vitest';
import { limits } from '../../src/contract/limits.ts';
import { startPlane } from '../support/serving.ts';
import { governing } from '../service/support/governed.ts';

it('a plane that stops answers the requests that wait, and names the time to wait in its decisions', async () => {
  const plane = await startPlane({ holdSeconds: 90 });
  const gov = governing(plane);
  await gov.policy('ask', {}, 'escalate');
  const { approvalId, obligations } = await gov.tool('run', 'pay').then(Object);
  expect(obligations).toMatchObject([{ type: 'wait_for_approval', params: { holdSeconds: 90 } }]);
  const path = `/approvals/${approvalId}/standing?waitSeconds=${limits.holdWaitSeconds}`;
  const waiting = plane.call('GET', path);
  // the request is on its way
  await plane.call('GET', `/approvals/${approvalId}`);
  const startedMs = performance.now();
  await plane.end();
  expect((await waiting).body).toMatchObject({ status: 'pending' });
  expect(performance.now() - startedMs).toBeLessThan((limits.holdWaitSeconds * 1000) / 2);
});
