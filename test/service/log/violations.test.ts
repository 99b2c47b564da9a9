import { afterAll, beforeAll, expect, it } from 'vitest';
import { recordViolations } from '../../../src/service/log/violations.ts';
import type { Services } from '../../../src/service/dependencies.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { answered, openPostOffice, projectId, type PostOffice } from '../webhooks/support/post-office.ts';

let office: PostOffice;
beforeAll(async () => (office = await openPostOffice(() => answered(200))));
afterAll(() => office.end());

it('a finding of the store is recorded once, by whichever process finds it, and reaches an endpoint', async () => {
  const endpointId = await office.endpoint('a', { events: ['integrity.violation'] });
  const reasons = [`integrity_violation: project ${projectId}: leaf 3 differs`, 'storage_full: no room'];
  const store = Object.assign(Object.create(office.store) as typeof office.store, {
    condition: () => ({ writable: true, reasons, queued: 0 }),
    append: office.store.append.bind(office.store),
  });
  const services = { ...office.services, store, log: silentLog } as Services;
  const known = new Set<string>();
  await recordViolations(services, known);
  await recordViolations(services, known);
  await recordViolations(services, new Set());
  await office.follow();
  expect(await office.deliveries(endpointId)).toMatchObject([{ eventType: 'integrity.violation' }]);
});
