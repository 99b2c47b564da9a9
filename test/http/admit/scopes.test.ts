/**
 * The scope matrix (contract B6, B7; OWASP API5:2023), made of the contract table: every operation with every single
 * scope, in every world, by keys that were made through the interface where there is one.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessOf, scopes, type Operation, type Scope } from '../../../src/contract/operation.ts';
import { table } from '../../../src/contract/table.ts';
import { nobodysIds, rowRequest } from '../../support/rows.ts';
import type { TestPlane } from '../../support/serving.ts';
import { operationsOf, startWorld, worlds } from '../../support/worlds.ts';

const single = Object.fromEntries(scopes.map((scope) => [scope, { scopes: [scope] }] as const));

const forPages: ReadonlySet<string> = new Set(['startSignIn', 'finishSignIn', 'signOut']);

describe.each(worlds)('a key on %s', (world) => {
  let at: TestPlane;
  beforeAll(async () => {
    at = await startWorld(world, { extraKeys: single });
  });
  afterAll(() => at.end());

  /** A request that changes nothing: its body is refused, its ids are nobody's. */
  const probe = (id: (typeof rows)[number], scope: Scope) => {
    const { method, path, body } = rowRequest(id, nobodysIds);
    const key = at.keys[scope] ?? '';
    return at.call(method, path, { key, ...(body === undefined ? {} : { raw: 'no JSON' }) });
  };
  // what data planes call takes none of these keys: `plane-credentials.test.ts`
  const rows = operationsOf(world).filter(
    (id) => (table[id] as Operation).scope !== null && accessOf(table[id]) !== 'plane',
  );

  it.each(rows)('a key may %s with the scope of its row and with *, and with no other', async (id) => {
    const { scope: needed }: Operation = table[id];
    const wrong: string[] = [];
    for (const scope of scopes) {
      const { status, body, headers } = await probe(id, scope);
      const isOpen = scope === '*' || scope === needed;
      if ((status !== 403) !== isOpen || status === 401) wrong.push(`${scope}: ${status}`);
      if (isOpen) continue;
      const said = [body.code, body.requiredScope, headers['www-authenticate']];
      const challenge = `Bearer realm="gov", error="insufficient_scope", scope="${needed}"`;
      expect(said).toEqual(['INSUFFICIENT_SCOPE', needed, challenge]);
    }
    expect(wrong).toEqual([]);
  });

  it('a key needs no scope for rows without one', async () => {
    const open = operationsOf(world).filter((id) => (table[id] as Operation).scope === null);
    expect(open.length).toBeGreaterThanOrEqual(3);
    for (const id of open) {
      const { status, body } = await probe(id, 'events:read');
      // these refuse a program for another reason: only pages of the service may call them
      if (forPages.has(id) && status === 403) expect([id, body.code]).toEqual([id, 'FORBIDDEN']);
      else expect([id, status]).not.toEqual([id, 403]);
    }
  });
});
