/**
 * Every integer and every id of the contract at the bounds of the types that could hold it: no answer is a fault of ours
 * (promise R8). Made of the contract table, so a row that is new is covered by itself.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessOf, type Operation } from '../../src/contract/operation.ts';
import { table, type OperationId } from '../../src/contract/table.ts';
import { eventId } from '../../src/core/id.ts';
import type { JsonSchema } from '../../src/service/call/explain.ts';
import { fillProject, type Filled } from '../service/support/filled.ts';
import type { Answer } from '../support/answer.ts';
import { nobodysIds, rowRequest } from '../support/rows.ts';
import type { TestPlane } from '../support/serving.ts';
import { enrolledPlane, type Sender } from '../support/telemetry-plane.ts';
import { operationsOf, startWorld, worlds, type HostedPlane } from '../support/worlds.ts';

const rowOf = (id: OperationId): Operation => table[id];
const schemaOf = (schema: unknown): JsonSchema => schema as JsonSchema;

/** Around the bounds of bytes, of 16, 31, 32, 33, 36, 48, 53 and 64 bits, of milliseconds in a date, and of a double. */
const bounds = [8, 16, 31, 32, 33, 36, 47, 48, 53, 63, 64]
  .flatMap((bits) => [2 ** bits - 1, 2 ** bits])
  .concat(8.64e15, 8.64e15 + 1, 1e21, 1e300);
const integers = [...new Set([0, ...bounds, -1, -(2 ** 31) - 1, -(2 ** 53), -1e300])];

/** Positions in a log that an event id can say. */
const positions = [2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 33 - 1, 2 ** 33, 2 ** 36 - 1, 2 ** 36, 2 ** 48 - 1];

/** Ids of the form of this one, at the ends of what the form can say. Null for a text that is no id of ours. */
function idsLike(pattern: string): string[] | null {
  const prefix = /^\^([a-z]{3})_\[/.exec(pattern)?.[1];
  if (prefix === undefined) return null;
  const ends = [`${prefix}_${'0'.repeat(26)}`, `${prefix}_7${'z'.repeat(25)}`];
  // a challenge has twice the digits
  if (prefix === 'chl') return ['0', 'z'].map((digit) => `chl_${digit.repeat(52)}`);
  return prefix === 'evt' ? [...ends, ...positions.map((index) => eventId(0, index, 0))] : ends;
}
/** Names that a client chooses, which look like numbers and like ids of ours. */
const names = ['0', '2147483648', '9223372036854775808', '9'.repeat(128), ...(idsLike('^evt_[0-7]') ?? [])];
const clientPattern = '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$';

/** Tiles at the ends of levels, of numbers in a path and of widths. */
const tiles = ['0/x999/x999/999', '5/000', '63/000', '0/x999/x999/x999/x999/999', '8/x999/999.p/255'];

/** Tokens of share links that nobody has. */
const tokens = ['0', 'z'].map((digit) => `gov_shr_${digit.repeat(43)}`);

/** Places in a path whose form the contract does not say by a pattern of ids. */
const valuesOf: Readonly<Record<string, readonly string[]>> = {
  '*': tiles,
  token: tokens,
  reportTemplateId: [...(idsLike('^tpl_[0-7]') ?? []), 'z'.repeat(128)],
};

const idValues = ({ pattern = '' }: JsonSchema): readonly string[] =>
  idsLike(pattern) ?? (pattern === clientPattern ? names : []);

/** A place in a body: names of members and places in lists. */
type Path = readonly (string | number)[];
interface Place {
  readonly path: Path;
  readonly values: readonly unknown[];
  readonly isInteger: boolean;
}

/** Places of a schema that take an integer or an id. */
function placesOf(schema: JsonSchema, path: Path = []): Place[] {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap((each) => placesOf(each, path));
  if (schema.type === 'integer' || schema.type === 'number')
    return [{ path, values: integers, isInteger: schema.type === 'integer' }];
  if (schema.type === 'string') {
    const values = idValues(schema);
    return values.length === 0 ? [] : [{ path, values, isInteger: false }];
  }
  if (schema.items !== undefined) return placesOf(schema.items, [...path, 0]);
  return Object.entries(schema.properties ?? {}).flatMap(([name, each]) => placesOf(each, [...path, name]));
}

/** A copy of a value with another one at a place; what is missing on the way is made. */
function withAt(value: unknown, [first, ...rest]: Path, put: unknown): unknown {
  if (first === undefined) return put;
  if (typeof first === 'number') {
    const list = Array.isArray(value) ? [...(value as unknown[])] : [];
    list[first] = withAt(list[first], rest, put);
    return list;
  }
  const object = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  return { ...object, [first]: withAt(object[first], rest, put) };
}

const pointerOf = (path: Path): string => path.map((each) => `/${each}`).join('');

describe.each(worlds)('bounds of numbers and ids on %s', (world) => {
  let at: TestPlane | HostedPlane;
  let made: Filled;
  let sender: Sender | undefined;
  beforeAll(async () => {
    at = await startWorld(world);
    const project = 'projectId' in at ? { projectId: at.projectId } : {};
    made = await fillProject(at.call, { name: 'own', ...project });
    if ('projectId' in at) sender = await enrolledPlane(at.call, { name: 'bounds', projectId: at.projectId });
  }, 120_000);
  afterAll(() => at.end());

  const ask = async (id: OperationId, path: string, body: unknown): Promise<Answer> => {
    const { method } = rowOf(id);
    if (sender === undefined || accessOf(rowOf(id)) !== 'plane') {
      return at.call(method, path, body === undefined ? {} : { body });
    }
    const answer = method === 'GET' ? await sender.get(path) : await sender.post(path, body);
    // after a rotation the plane goes on with what it got
    if (answer.body?.signingSecret !== undefined) sender.credentials = answer.body;
    return answer;
  };
  const all = operationsOf(world);

  const byId = all.filter((id) => rowOf(id).params !== undefined);
  it.each(byId)('%s answers an id at the limits of its form as an unknown id', async (id) => {
    const { params, method } = rowOf(id);
    // a client that puts something under a name makes it
    const makes = method === 'PUT';
    const wrong: string[] = [];
    for (const [name, schema] of Object.entries(schemaOf(params).properties ?? {})) {
      const values = valuesOf[name] ?? idValues(schema);
      expect(values.length).toBeGreaterThan(0);
      for (const value of values) {
        const ids = { ...(makes ? made : nobodysIds), ...(name === '*' ? {} : { [name]: value }) };
        const { path, body } = rowRequest(id, ids);
        const { status, text } = await ask(
          id,
          name === '*' ? path.replace(/tile\/.*/, `tile/${value}`) : path,
          body,
        );
        if (status >= 500 || (status < 400 && !makes)) wrong.push(`${value}: ${status} ${text}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  const queried = all.filter((id) => placesOf(schemaOf(rowOf(id).query ?? {})).length > 0);
  it.each(queried)('%s answers integers and ids of its query at their limits', async (id) => {
    const [path = '', rest] = rowRequest(id, made).path.split('?');
    const wrong: string[] = [];
    for (const {
      path: [name],
      values,
      isInteger,
    } of placesOf(schemaOf(rowOf(id).query))) {
      for (const value of values) {
        const query = new URLSearchParams(rest);
        query.set(String(name), isInteger ? BigInt(value as number).toString() : String(value));
        const { status, text } = await ask(id, `${path}?${query}`, undefined);
        const isWide = isInteger && Math.abs(value as number) > 999_999_999;
        if (status >= 500 || (isWide && status !== 400))
          wrong.push(`${name}=${String(value)}: ${status} ${text}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  const withBody = all.filter((id) => placesOf(schemaOf(rowOf(id).body ?? {})).length > 0);
  it.each(withBody)('%s answers integers and ids of its body at their limits', async (id) => {
    const { path, body } = rowRequest(id, made);
    const wrong: string[] = [];
    for (const { path: place, values, isInteger } of placesOf(schemaOf(rowOf(id).body))) {
      for (const value of values) {
        const { status, text } = await ask(id, path, withAt(body, place, value));
        const isWide = isInteger && !Number.isSafeInteger(value);
        if (status >= 500 || (isWide && status !== 400))
          wrong.push(`${pointerOf(place)} ${String(value)}: ${status} ${text}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('an id or a version wider than what it names answers 404, and a number wider than any integer 400', async () => {
    const policy = `/governance/policies/${made.policyId}`;
    for (const index of positions) {
      const id = eventId(0, index, 0);
      const read = await at.call('GET', `/events/${id}`);
      const erased = await at.call('POST', '/erasures', { body: { eventId: id } });
      expect([read.status, erased.status], id).toEqual([404, 404]);
    }
    for (const [version, status] of [
      [2 ** 31, 404],
      [2 ** 53 - 1, 404],
      [1e300, 400],
    ]) {
      const published = await at.call('POST', `${policy}/publish`, { body: { version } });
      const back = await at.call('POST', `${policy}/rollback`, { body: { targetVersion: version } });
      const checkpoint = { step: version, context: {} };
      const simulated = await at.call('POST', `${policy}/simulate`, { body: { checkpoint } });
      expect([published.status, back.status], String(version)).toEqual([status, status]);
      expect(simulated.status).toBe(status === 400 ? 400 : 200);
    }
  });
});
