/** `PUT` and `GET` at one path: what one answers the other accepts, and null erases what an answer can show as null. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { table, type OperationId } from '../../src/contract/table.ts';
import { erasableOf, valueAt, withNull } from '../support/nulls.ts';
import { rowRequest } from '../support/rows.ts';
import { operationsOf, startWorld, type HostedPlane } from '../support/worlds.ts';
import { fillProject, type Filled } from './support/filled.ts';

let at: HostedPlane;
let made: Filled;
beforeAll(async () => {
  at = (await startWorld('sqlite', { service: {} })) as HostedPlane;
  made = await fillProject(at.call, { name: 'own', projectId: at.projectId });
});
afterAll(() => at.end());

const rows = operationsOf('sqlite');
const replaceable = rows.flatMap((put) => {
  const get = rows.find((id) => table[id].method === 'GET' && table[id].path === table[put].path);
  return table[put].method === 'PUT' && get !== undefined ? [[put, get] as const] : [];
});

describe('PUT of what GET answers', () => {
  it.each(replaceable)('%s accepts the answer of %s and changes nothing', async (put, get) => {
    const { method, path, body } = rowRequest(put, made);
    await at.call(method, path, { body });
    const { status, body: found } = await at.call('GET', rowRequest(get, made).path);
    expect([status, found]).toEqual([200, expect.any(Object)]);
    const again = await at.call(method, path, { body: found });
    expect([again.status, again.text]).toEqual([200, expect.any(String)]);
    const { updatedAt: _now, ...same } = again.body;
    expect(found).toMatchObject(same);
  });

  it.each(replaceable)('null in %s erases each member that %s can show as null', async (put, get) => {
    const { method, path, body } = rowRequest(put, made);
    for (const pointer of erasableOf(put)) {
      const { status, text } = await at.call(method, path, { body: withNull(put, body, pointer) });
      expect([pointer, status, text]).toEqual([pointer, 200, expect.any(String)]);
      const found = await at.call('GET', rowRequest(get, made).path);
      expect([pointer, valueAt(found.body, pointer)]).toEqual([pointer, null]);
    }
  });

  it('every PUT has a GET at its path', () => {
    const puts = rows.filter((id) => table[id].method === 'PUT');
    expect(replaceable.map(([put]): OperationId => put)).toEqual(puts);
  });
});
