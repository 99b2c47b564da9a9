import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { isPointer, mapCondition, mapsIn } from '../../../src/core/action/money.ts';
import { mcpAction } from './shell-lines.ts';
import type { JsonObject } from '../../../src/core/json/canonical.ts';

const moneyOf = (given: JsonObject) => mcpAction('bank', 'pay', given).money;

describe('the money of an MCP call', () => {
  it.each<[JsonObject, number | null, string | null]>([
    [{ amount: 5, currency: 'eur' }, 5, 'EUR'],
    [{ amount: '10.50', currency: 'EUR' }, 10.5, 'EUR'],
    [{ value: { amount: 9, currency: 'CHF' } }, 9, 'CHF'],
    [{ amount: { value: 9, currency: 'CHF' } }, 9, 'CHF'],
    [{ amountMinor: 5000, currency: 'EUR' }, 50, 'EUR'],
    [{ amount: 5 }, 5, null],
    [{ amount: 'many', currency: 'EUR' }, null, 'EUR'],
    [{ amount: '1e9', currency: 'EUR' }, null, 'EUR'],
    [{ amount: [1, 5000], currency: 'EUR' }, null, 'EUR'],
    [
      {
        a: [
          { amount: 1, currency: 'EUR' },
          { amount: 7, currency: 'EUR' },
        ],
      },
      7,
      'EUR',
    ],
    [
      {
        a: [
          { amount: 900, currency: 'EUR' },
          { amount: 1, currency: 'BTC' },
        ],
      },
      900,
      null,
    ],
  ])('%j moves %j %j', (given, amount, currency) => {
    expect(moneyOf(given)).toMatchObject({ amount, currency });
  });

  it('an MCP call without an amount has none', () => {
    expect(moneyOf({ price_list: 'x', currency: 'EUR' })).toBeUndefined();
  });

  it('names who gets it', () => {
    expect(moneyOf({ amount: 1, payment: { iban: 'DE1' } })?.counterparty).toBe('DE1');
  });

  it('finds an amount at any depth', () => {
    let deep: JsonObject = { amount: 5000, currency: 'EUR' };
    for (let level = 0; level < 25; level += 1) deep = { deep };
    expect(moneyOf(deep)?.amount).toBe(5000);
  });
});

describe('maps of money', () => {
  it('a condition lists maps, and is read as them', () => {
    const maps = new Map([
      ['send "x"', { amount: '/a~1b/0', currency: '/c' }],
      ['pay', { amount: '/amount', counterparty: '/to' }],
    ]);
    expect(mapsIn(mapCondition(maps))).toEqual(maps);
    expect(mapsIn(mapCondition(new Map()))).toEqual(new Map());
  });

  it.each([
    {},
    { in: [1] },
    { in: [1, [1]] },
    { in: [1, ['x']] },
    { in: [1, ['{"tool":"a"}']] },
    { in: [1, ['{"amount":"/a"}']] },
    { in: [1, ['{"tool":"a","amount":"a"}']] },
    { in: [1, ['{"tool":"a","amount":"/a","currency":1}']] },
  ])('the condition %j lists no maps', (condition) => {
    expect(mapsIn(condition)).toBeNull();
  });

  it('a pointer has a number of characters', () => {
    expect(isPointer(`/${'x'.repeat(limits.actionPathChars - 1)}`)).toBe(true);
    expect(isPointer(`/${'x'.repeat(limits.actionPathChars)}`)).toBe(false);
  });
});
