/** Null for an optional member of a body (contract A5), over HTTP: each operation of a plane, and what is recorded. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planeOperations } from '../../plane/serve/operations.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { table } from '../../src/contract/table.ts';
import type { JsonSchema } from '../../src/service/call/explain.ts';
import { withNulls } from '../support/nulls.ts';
import { nobodysIds, rowRequest } from '../support/rows.ts';
import { event, startPlane, type TestPlane } from '../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

/** The body without optional members. */
function requiredOf({ required = [] }: JsonSchema, body: unknown): unknown {
  const members = Object.entries(body as object);
  return Object.fromEntries(members.filter(([name]) => required.includes(name)));
}

const rows = planeOperations.filter((id) => {
  const { body, signed }: Operation = table[id];
  return body !== undefined && signed !== true;
});

describe('a request with null for every optional member', () => {
  it.each(rows)(
    'a request with null for every optional member of %s is answered like one without',
    async (id) => {
      const schema = (table[id] as Operation).body as JsonSchema;
      const { method, path, body } = rowRequest(id, nobodysIds);
      const less = requiredOf(schema, body);
      const answers = [];
      for (const each of [less, withNulls(schema, less)]) {
        const { status, body: answer } = await plane.call(method, path, { body: each });
        answers.push([status, answer?.code, answer?.detail]);
      }
      expect(answers[1]).toEqual(answers[0]);
    },
  );
});

describe('an event with nulls', () => {
  const record = async (members: Record<string, unknown>) => {
    const { status, body } = await plane.call('POST', '/events', { body: event(members) });
    expect(status, JSON.stringify(body)).toBe(201);
    return (await plane.call('GET', `/events/${body.eventId}`)).body;
  };

  it('an event with nulls has the nulls of its content, and no optional member that is null', async () => {
    const content = {
      actor: { id: 'a', name: null, role: null, type: null, more: null },
      metadata: { a: null, b: [null, { c: null }] },
    };
    const absent = { causedBy: null, aiSystemId: null, clientEventId: null };
    const kept = await record({ runId: 'nulls', ...content, resource: { name: 'x', type: null }, ...absent });
    expect(kept).toMatchObject({ ...content, resource: { name: 'x', type: null }, ...absent });
    const bare = await record({ runId: 'nulls', resource: null, metadata: null, ...absent });
    expect(bare).toMatchObject({ resource: null, metadata: {}, ...absent });
    const graph = await plane.call('GET', '/graphs/nulls');
    expect(graph.status).toBe(200);
  });

  it('an event with nulls is proven as it is returned', async () => {
    const { body } = await plane.call('POST', '/proofs', { body: { runId: 'nulls', async: null } });
    const verified = await plane.call('POST', '/proofs/verify', { body: { proofId: body.proofId } });
    expect(verified.body).toMatchObject({ verified: true });
    const { events } = (await plane.call('GET', '/events?runId=nulls')).body;
    expect(events).toHaveLength(2);
  });

  it('an event with null for a member and one without it are the same event', async () => {
    const own = { runId: 'same', clientEventId: 'c-1' };
    const first = await record(own);
    const again = await record({ ...own, causedBy: null, aiSystemId: null });
    expect(again.eventId).toBe(first.eventId);
  });

  it('an event with nulls in a batch is judged like a single one', async () => {
    const events = [
      event({ resource: null, causedBy: null, clientEventId: null }),
      event({ runId: null }),
      event({ actor: { name: null } }),
    ];
    // a large batch is read item by item
    for (const padding of ['', 'x'.repeat(300_000)]) {
      const body = {
        events:
          padding === ''
            ? events
            : [
                ...events,
                event({ metadata: { padding: padding.slice(0, 250_000), more: padding.slice(250_000) } }),
              ],
      };
      const { results } = (await plane.call('POST', '/events/batch', { body })).body;
      expect(results.slice(0, 3).map(({ status }: { status: string }) => status)).toEqual([
        'accepted',
        'rejected',
        'accepted',
      ]);
    }
  });
});
