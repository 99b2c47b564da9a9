import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limitGroups, limits } from '../../src/contract/limits.ts';
import { event, startPlane, type CallOptions, type TestPlane } from '../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

type Limit = keyof typeof limits;
interface Request extends CallOptions {
  readonly method?: string;
  readonly path?: string;
}
const a = (count: number): string => 'a'.repeat(count);
const withMetadata = (metadata: unknown): Request => ({ body: event({ metadata }) });
const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) });
const list = (count: number): number[] => Array.from({ length: count }, () => 1);
const members = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]));
/** Metadata of so many canonical bytes: {"a":"…"}. */
const bytes = (count: number): Record<string, string> => ({ a: a(count - 8) });
const party = (count: number): Record<string, unknown> => ({
  name: 'x',
  extra: a(count - '{"extra":"","name":"x"}'.length),
});

/** A request at n is accepted, one at n + 1 gets this status. */
const cases: Partial<Record<Limit, { at: (n: number) => Request; over: number }>> = {
  bodyBytes: { at: (n) => ({ raw: JSON.stringify(event()).padEnd(n) }), over: 413 },
  batchBodyBytes: {
    at: (n) => ({ path: '/events/batch', raw: JSON.stringify({ events: [event()] }).padEnd(n) }),
    over: 413,
  },
  graphBodyBytes: {
    at: (n) => ({ method: 'PUT', path: '/graphs/bytes', raw: '{"nodes":[],"edges":[]}'.padEnd(n) }),
    over: 413,
  },
  // the depth of metadata is smaller, so the bound of JSON itself is seen in an actor
  jsonDepth: { at: (n) => ({ body: event({ actor: { extra: nested(n - 2) } }) }), over: 400 },
  jsonValues: { at: (n) => withMetadata({ a: list(n - 13) }), over: 400 },
  jsonValuesLarge: {
    at: (n) => ({ path: '/events/batch', body: { events: [event({ metadata: { a: list(n - 15) } })] } }),
    over: 400,
  },
  memberNameChars: { at: (n) => ({ body: event({ actor: { [a(n)]: 1 } }) }), over: 400 },
  stringBytes: {
    // the metadata of an event is smaller, and a batch rejects the event alone
    at: (n) => ({
      method: 'PUT',
      path: '/graphs/strings',
      body: { nodes: [{ id: 'a', type: 'a', data: { a: a(n) } }], edges: [] },
    }),
    over: 400,
  },
  identifierChars: { at: (n) => ({ body: event({ runId: a(n) }) }), over: 400 },
  eventTypeChars: { at: (n) => ({ body: event({ eventType: a(n) }) }), over: 400 },
  actionChars: { at: (n) => ({ body: event({ action: 'é'.repeat(n) }) }), over: 400 },
  partyChars: { at: (n) => ({ body: event({ actor: '𝄞'.repeat(n) }) }), over: 400 },
  partyMembers: { at: (n) => ({ body: event({ actor: members(n) }) }), over: 400 },
  partyIdChars: { at: (n) => ({ body: event({ actor: { id: a(n) } }) }), over: 400 },
  partyNameChars: { at: (n) => ({ body: event({ resource: { name: a(n) } }) }), over: 400 },
  partyRoleChars: { at: (n) => ({ body: event({ actor: { role: a(n) } }) }), over: 400 },
  partyTypeChars: { at: (n) => ({ body: event({ resource: { type: a(n) } }) }), over: 400 },
  partyBytes: { at: (n) => ({ body: event({ resource: party(n) }) }), over: 400 },
  metadataKeys: { at: (n) => withMetadata(members(n)), over: 400 },
  metadataKeyChars: { at: (n) => withMetadata({ [a(n)]: 1 }), over: 400 },
  metadataDepth: { at: (n) => withMetadata(nested(n)), over: 400 },
  metadataBytes: { at: (n) => withMetadata(bytes(n)), over: 400 },
  causedBy: {
    at: (n) => ({ body: event({ causedBy: Array.from({ length: n }, (_, at) => `c${at}`) }) }),
    over: 400,
  },
  batchEvents: {
    at: (n) => ({ path: '/events/batch', body: { events: Array.from({ length: n }, () => 0) } }),
    over: 400,
  },
  idempotencyKeyChars: { at: (n) => ({ body: event(), headers: { 'idempotency-key': a(n) } }), over: 400 },
  graphTypeChars: {
    at: (n) => ({
      method: 'PUT',
      path: '/graphs/types',
      body: { nodes: [{ id: 'a', type: a(n) }], edges: [] },
    }),
    over: 400,
  },
};

describe('limits of the contract', () => {
  it('no subject has a limit with the name of another one, which it would replace', () => {
    const names = limitGroups.flatMap(([, group]) => Object.keys(group));
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    expect(names.toSorted()).toEqual(Object.keys(limits).toSorted());
  });

  it.each(Object.entries(cases))('the limit %s accepts n and refuses n + 1', async (name, { at, over }) => {
    const send = async (n: number): Promise<number> => {
      const { method = 'POST', path = '/events', ...options } = at(n);
      return (await plane.call(method, path, options)).status;
    };
    const n = limits[name as Limit];
    expect([200, 201], `${n}`).toContain(await send(n));
    expect(await send(n + 1), `${n + 1}`).toBe(over);
  });

  it('the page limit is both the default and the maximum, and larger requests get a page of that size', async () => {
    const events = Array.from({ length: limits.eventPageMax + 1 }, (_, at) =>
      event({ runId: at < limits.pageMax + 1 ? `page-${at}` : 'page', metadata: {} }),
    );
    const more = Array.from({ length: limits.pageMax + 1 }, () => event({ runId: 'page', metadata: {} }));
    for (let at = 0; at < events.length; at += limits.batchEvents) {
      const body = { events: events.slice(at, at + limits.batchEvents) };
      await plane.call('POST', '/events/batch', { body });
    }
    await plane.call('POST', '/events/batch', { body: { events: more } });
    const sizeOf = async (path: string): Promise<number> => {
      const { body } = await plane.call('GET', path);
      return (body.events ?? body.data).length as number;
    };
    expect(await sizeOf('/events?runId=page')).toBe(limits.eventPageDefault);
    expect(await sizeOf(`/events?runId=page&limit=${limits.eventPageMax}`)).toBe(limits.eventPageMax);
    expect(await sizeOf(`/events?runId=page&limit=${limits.eventPageMax + 1}`)).toBe(limits.eventPageMax);
    expect(await sizeOf('/runs')).toBe(limits.pageDefault);
    expect(await sizeOf(`/runs?limit=${limits.pageMax}`)).toBe(limits.pageMax);
    expect(await sizeOf(`/runs?limit=${limits.pageMax + 1}`)).toBe(limits.pageMax);
  });

  it('the length of a cursor is checked before the cursor is opened', async () => {
    const codeOf = async (length: number): Promise<string> =>
      (await plane.call('GET', `/runs?cursor=${a(length)}`)).body.code as string;
    expect(await codeOf(limits.cursorChars)).toBe('INVALID_CURSOR');
    expect(await codeOf(limits.cursorChars + 1)).toBe('VALIDATION_ERROR');
  });

  it(
    'a synchronous proof covers a limited number of events, and async covers more',
    { timeout: 120_000 },
    async () => {
      const record = (count: number) =>
        plane.call('POST', '/events/batch', {
          body: { events: Array.from({ length: count }, () => event({ runId: 'sync', metadata: {} })) },
        });
      for (let at = 0; at < limits.syncProofEvents; at += limits.batchEvents)
        await record(limits.batchEvents);
      const proof = await plane.call('POST', '/proofs', { body: { runId: 'sync' } });
      expect(proof.status).toBe(201);
      await record(1);
      const over = await plane.call('POST', '/proofs', { body: { runId: 'sync' } });
      expect(over.body).toMatchObject({ code: 'RUN_TOO_LARGE_FOR_SYNC', events: 10_001, limit: 10_000 });
      const { body } = await plane.call('POST', '/proofs', { body: { runId: 'sync', async: true } });
      for (let status = ''; status !== 'completed';) {
        status = (await plane.call('GET', `/jobs/${body.jobId}`)).body.status;
        expect(status).not.toBe('failed');
      }
      const { proofId } = proof.body;
      expect((await plane.call('POST', '/proofs/verify', { body: { proofId } })).body.verified).toBe(true);
      // records are enclosed by default up to the same number, so not here
      expect((await plane.call('GET', `/proofs/${proofId}/bundle`)).body.events).toBeUndefined();
    },
  );
});
