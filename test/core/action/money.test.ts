import { describe, expect, it } from 'vitest';
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
