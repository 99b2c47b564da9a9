import { afterAll, beforeAll, expect, it } from 'vitest';
import { silentLog } from '../../../src/service/call/log.ts';
import type { Services } from '../../../src/service/port/services.ts';
import { recordViolation } from '../../../src/service/operations/events.ts';
import { answered, openPostOffice, projectId, type PostOffice } from '../webhooks/support/post-office.ts';

let office: PostOffice;
beforeAll(async () => (office = await openPostOffice(() => answered(200))));
afterAll(() => office.end());

it('an altered place is recorded once, however often it is found, and reaches an endpoint', async () => {
  const endpointId = await office.endpoint('a', { events: ['integrity.violation'] });
  const { store } = office;
  const services = { ...office.services, store, log: silentLog, fingerprint: () => 'same' } as Services;
  const place = { tree: 'audit', index: 3, detail: 'leaf 3 of the audit log is missing' } as const;
  await recordViolation(services, projectId, place);
  await recordViolation(services, projectId, place);
  await office.follow();
  expect(await office.deliveries(endpointId)).toMatchObject([{ eventType: 'integrity.violation' }]);
});
