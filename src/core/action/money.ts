/**
 * The greatest amount of money in the arguments of an MCP tool, by the names that payment tools use. An amount that cannot be read is
 * null, so a limit about it is indeterminate. Proven by `test/core/action/money.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { isObject } from '../json/object.ts';
import type { Json } from '../json/canonical.ts';
import type { Money } from './shape.ts';

const amounts = /^(?:amount|total|price|sum|value_amount)$/i;
const minorAmounts = /^(?:amount_?minor|amount_?in_?cents|amount_?cents|unit_amount)$/i;
const counterparties = /^(?:counterparty|payee|recipient|beneficiary|to|iban|account|destination)$/i;

interface Found {
  readonly amounts: { readonly amount: number | null; readonly currency: string | null }[];
  counterparty: string | null;
}

/** Returns null if no member is named as an amount. Amounts in several currencies have no common one. */
export function moneyOf(given: Json): Money | null {
  const found: Found = { amounts: [], counterparty: null };
  collect(given, { currency: null, depth: 0, found });
  const [first] = found.amounts;
  if (first === undefined) return null;
  const { counterparty } = found;
  const currency = found.amounts.every((each) => each.currency === first.currency) ? first.currency : null;
  const values = found.amounts.map(({ amount }) => amount);
  const known = values.filter((amount) => amount !== null);
  const amount = known.length < values.length ? null : known.reduce((a, b) => Math.max(a, b));
  return { amount, currency, counterparty };
}

function collect(
  value: Json,
  place: { readonly currency: string | null; readonly depth: number; readonly found: Found },
): void {
  if (place.depth > limits.jsonDepth) return;
  const inside = { ...place, depth: place.depth + 1 };
  if (Array.isArray(value)) for (const each of value) collect(each, inside);
  if (!isObject(value)) return;
  const { found } = place;
  const named = value['currency'] ?? value['currencyCode'] ?? value['currency_code'];
  const currency = typeof named === 'string' ? named.toUpperCase() : place.currency;
  const add = (each: Json, minor: number): void => {
    const amount = numberOf(each);
    found.amounts.push({ amount: amount === null ? null : amount / minor, currency });
  };
  for (const [name, each] of Object.entries(value)) {
    if (amounts.test(name) && isObject(each)) {
      const inner = each['value'] ?? each['units'];
      if (inner === undefined) collect(each, { ...inside, currency });
      else collect({ amount: inner, currency: each['currency'] ?? currency }, inside);
    } else if (amounts.test(name)) add(each, 1);
    else if (minorAmounts.test(name)) add(each, 100);
    else if (counterparties.test(name) && typeof each === 'string') found.counterparty ??= each;
    else collect(each, { ...inside, currency });
  }
}

function numberOf(value: Json): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return typeof value === 'string' && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(value) ? Number(value) : null;
}
