import { afterEach, expect, it } from 'vitest';
import { cursorId, cursorKind, followOnce } from '../../../src/service/webhooks/following.ts';
import type { Services } from '../../../src/service/port/services.ts';
import { event, request } from '../../store/support/fixture.ts';
import { answered, openPostOffice, projectId, type PostOffice } from './support/post-office.ts';

let office: PostOffice;
afterEach(() => office.end());
const open = async () => (office = await openPostOffice(() => answered(200)));

it('each endpoint gets the messages of its kinds, from the leaf after its creation on', async () => {
  await open();
  await office.block(1);
  const all = await office.endpoint('all');
  const blocked = await office.endpoint('blocked', { events: ['risk.blocked'] });
  await office.endpoint('proofs', { events: ['proof.completed'] });
  await office.endpoint('off', { enabled: false });
  await office.block(2);
  await office.follow();
  const found = await office.deliveries();
  expect(found.map(({ endpointId }) => endpointId).toSorted()).toEqual([all, all, blocked, blocked]);
  expect(new Set(found.map(({ deliveryId }) => deliveryId)).size).toBe(4);
  // an event has one id, whatever endpoint gets it
  expect(new Set(found.map(({ eventId }) => eventId)).size).toBe(2);
});

it('events of clients give no messages, and many of them save the cursor rarely', async () => {
  await open();
  await office.endpoint('all');
  await office.store.append(request(Array.from({ length: 500 }, () => event({ eventType: 'job.failed' }))));
  const before = await office.store.document(projectId, cursorKind, cursorId);
  let cursor = before;
  for (let step = await followOnce(office.services, cursor!); step.cursor !== null;) {
    if (step.cursor === 'lost') throw new Error('lost');
    cursor = step.cursor;
    step = await followOnce(office.services, cursor);
  }
  expect(JSON.parse(cursor!.data)).toEqual({ next: 501 });
  expect(await office.store.document(projectId, cursorKind, cursorId)).toEqual(before);
  expect(await office.deliveries()).toEqual([]);
});

it('two processes that follow at the same time, and one that ends before it saved, make each message once', async () => {
  await open();
  await office.endpoint('all');
  await office.block(300);
  const cursor = await office.store.document(projectId, cursorKind, cursorId);
  // ends between reading and saving
  const dying = { ...office.store, saveDocuments: () => Promise.reject(new Error('killed')) };
  const store = Object.setPrototypeOf(dying, Object.getPrototypeOf(office.store) as object) as typeof dying;
  await expect(followOnce({ ...office.services, store } as unknown as Services, cursor!)).rejects.toThrow(
    'killed',
  );
  const steps = await Promise.all([1, 2, 3].map(() => followOnce(office.services, cursor!)));
  expect(steps.filter((step) => step.cursor === 'lost')).toHaveLength(2);
  await office.follow();
  const found = await office.deliveries();
  expect(found).toHaveLength(300);
  expect(new Set(found.map(({ eventId }) => eventId)).size).toBe(300);
});

it('a step saves about two hundred messages however many endpoints there are', async () => {
  await open();
  for (let at = 0; at < 20; at++) await office.endpoint(`e${at}`);
  await office.block(200);
  const cursor = await office.store.document(projectId, cursorKind, cursorId);
  await followOnce(office.services, cursor!);
  expect((await office.deliveries()).length).toBeLessThanOrEqual(200);
  await office.follow();
  expect(await office.deliveries()).toHaveLength(4000);
});

it.each([
  ['record', "UPDATE leaf SET record = replace(record, 'block', 'blokk') WHERE idx IN (2, 3)"],
  [
    'body',
    "UPDATE body SET disclosures = replace(disclosures, 'job_', 'jab_') WHERE position IN (SELECT position FROM leaf WHERE idx IN (2, 3))",
  ],
])(
  'a leaf whose %s was altered is skipped and logged once, and the others give their messages',
  async (what, sql) => {
    await open();
    const all = await office.endpoint('all');
    if (what === 'record') await office.block(5);
    else await office.fail(5);
    office.alter(sql);
    await office.follow();
    const { length } = await office.deliveries(all);
    expect(length).toBe(3);
    expect(office.logged).toEqual(['webhooks skip an altered leaf', 'webhooks skip an altered leaf']);
    // another process, from the stored cursor
    await office.follow();
    expect(office.logged).toHaveLength(2);
  },
);
