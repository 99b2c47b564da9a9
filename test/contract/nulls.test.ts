/** Null for an optional member of a body (contract A5): what is removed from the body of each operation, and what stays. */
import { describe, expect, it } from 'vitest';
import { nullDropper, rowNullDropper } from '../../src/contract/nulls.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { table, type OperationId } from '../../src/contract/table.ts';
import { explain, type JsonSchema } from '../../src/service/call/explain.ts';
import { nobodysIds, rowRequest } from '../support/rows.ts';
import { optionalMembers, settable, withNulls } from '../support/nulls.ts';

const bodies = (Object.keys(table) as OperationId[]).filter(
  (id) => (table[id] as Operation).body !== undefined,
);
const row = (id: OperationId): Operation => table[id];
const schemaOf = (id: OperationId) => row(id).body as JsonSchema;
const dropped = (id: OperationId, body: unknown): unknown => {
  const copy: unknown = structuredClone(body);
  rowNullDropper(row(id))?.(copy);
  return copy;
};

describe('null for an optional member', () => {
  it.each(bodies)('null for an optional member of %s is removed, at any depth', (id) => {
    const { body } = rowRequest(id, nobodysIds);
    const nulls = withNulls(schemaOf(id), body);
    const isSigned = row(id).signed === true;
    expect(dropped(id, nulls)).toEqual(isSigned ? nulls : body);
    // without the removal the check would refuse them
    const refused = explain(schemaOf(id), nulls, { in: 'body' }).errors.length > 0;
    expect(refused).toBe(nulls !== body);
  });

  it('null for an optional member is tried with members at the top, in objects, lists and maps', () => {
    const names = bodies.flatMap((id) => optionalMembers(schemaOf(id)).map((name) => `${id}${name}`));
    for (const name of [
      'createEvent/causedBy',
      'evaluateTool/tool/annotations/readOnlyHint',
      'createGraphReplay/nodes/*/data',
      'importTelemetry/messages/*/challengeId',
    ])
      expect(names).toContain(name);
    expect(names.length).toBeGreaterThan(60);
  });

  it.each(bodies.filter((id) => row(id).method === 'PUT'))(
    '%s takes null for exactly the members that its answer can show as null',
    (id) => {
      const answered = new Map(settable(Object.values(row(id).success)[0] as JsonSchema));
      for (const [pointer, isNullable] of settable(schemaOf(id)))
        expect([pointer, answered.get(pointer)]).toEqual([pointer, isNullable]);
    },
  );

  it('null where a schema accepts it, for a required member and in free-form content stays', () => {
    const key = { name: 'n', expiresAt: null, description: null, scopes: null };
    expect(dropped('updateApiKey', key)).toEqual({ name: 'n', expiresAt: null, description: null });
    const retention = { retentionDays: null, legalHold: null };
    expect(dropped('putRetention', retention)).toEqual(retention);
    const event = {
      runId: null,
      actor: { name: null, x: null },
      metadata: { a: null, b: [null] },
      extra: null,
    };
    expect(dropped('createEvent', { ...event, resource: null, aiSystemId: null })).toEqual(event);
    const call = { tool: { name: 'ls', server: null }, arguments: { a: null }, context: { b: null } };
    expect(dropped('evaluateTool', call)).toEqual({ ...call, tool: { name: 'ls' } });
  });

  it('null for a member of a name that every object has is not taken for one of the schema', () => {
    const hostile: unknown = JSON.parse('{"__proto__":null,"constructor":null,"runId":"r","async":null}');
    rowNullDropper(table.createProof)?.(hostile);
    expect(JSON.stringify(hostile)).toBe('{"__proto__":null,"constructor":null,"runId":"r"}');
  });

  it('a body of another type than the schema is left for the check', () => {
    const drop = nullDropper(table.createProof.body);
    for (const body of [null, 1, 'x', [null], { composed: 1 }, { composed: [null] }]) {
      const copy: unknown = structuredClone(body);
      drop?.(copy);
      expect(copy).toEqual(body);
    }
  });
});
