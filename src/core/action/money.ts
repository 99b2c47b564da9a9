/**
 * The greatest amount of money in the arguments of a tool, by the names that payment tools use, or by the map of its MCP server: the
 * policy `mcp-map.SERVER`, whose condition lists `{"amount":"/amount","currency":"/currency","tool":"pay"}` as texts and never
 * holds. An amount that cannot be read is null, so a limit about it is indeterminate. Proven by `test/core/action/money.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { isObject } from '../json/object.ts';
import { canonicalText, type Json, type JsonObject } from '../json/canonical.ts';
import { memberName } from '../json/pointer.ts';
import type { Money, MoneyMap } from './shape.ts';

const amounts = /^(?:amount|total|price|sum|value_amount)$/i;
const minorAmounts = /^(?:amount_?minor|amount_?in_?cents|amount_?cents|unit_amount)$/i;
const counterparties = /^(?:counterparty|payee|recipient|beneficiary|to|iban|account|destination)$/i;

interface Found {
  readonly amounts: { readonly amount: number | null; readonly currency: string | null }[];
  counterparty: string | null;
}

export const moneyMapMembers = ['amount', 'currency', 'counterparty'] as const;

/** The policy with the maps of a server. */
export const mapPolicyId = (server: string): string => `mcp-map.${server}`;
export const isMapPolicy = (policyId: string): boolean => policyId.startsWith('mcp-map.');

/** The condition that lists maps by tool; it reads a member that no context has, so it never holds. */
export const mapCondition = (maps: ReadonlyMap<string, MoneyMap>): JsonObject => ({
  in: [
    { '??': [{ val: ['context', 'moneyMap'] }, ''] },
    [...maps].map(([tool, map]) => canonicalText({ tool, ...map })).toSorted(),
  ],
});

/** The maps that a condition lists, by tool. Null for a condition of another form. */
export function mapsIn(condition: unknown): ReadonlyMap<string, MoneyMap> | null {
  const list = isObject(condition) ? condition['in'] : undefined;
  const texts = Array.isArray(list) ? list[1] : undefined;
  if (!Array.isArray(texts)) return null;
  const maps = new Map<string, MoneyMap>();
  for (const text of texts) {
    const value = typeof text === 'string' ? parsed(text) : null;
    const map = moneyMapIn(value);
    if (map === null || !isObject(value) || typeof value['tool'] !== 'string') return null;
    maps.set(value['tool'], map);
  }
  return maps;
}

/** Null for a value that is no map. */
export function moneyMapIn(value: unknown): MoneyMap | null {
  if (!isObject(value)) return null;
  const { amount, currency, counterparty } = value;
  if (!isPointer(amount)) return null;
  if (currency !== undefined && !isPointer(currency)) return null;
  if (counterparty !== undefined && !isPointer(counterparty)) return null;
  return {
    amount,
    ...(currency === undefined ? {} : { currency }),
    ...(counterparty === undefined ? {} : { counterparty }),
  };
}

/** Whether a value is a JSON pointer to a member. */
export const isPointer = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length <= limits.actionPathChars &&
  /^(?:\/(?:[^~/]|~[01])*)+$/.test(value);

function parsed(text: string): Json {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return null; // no map
  }
}

/** The money that a map finds. A member that is missing, or of another type, is null. */
function mappedMoney(given: Json, { amount, currency, counterparty }: MoneyMap): Money {
  const text = (pointer: string | undefined): string | null => {
    const value = pointer === undefined ? undefined : valueAt(given, pointer);
    return typeof value === 'string' ? value : null;
  };
  return {
    amount: numberOf(valueAt(given, amount) ?? null),
    currency: text(currency)?.toUpperCase() ?? null,
    counterparty: text(counterparty),
  };
}

function valueAt(value: Json, pointer: string): Json | undefined {
  let at: Json | undefined = value;
  for (const name of pointer.slice(1).split('/').map(memberName)) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = Array.isArray(at) ? at[Number(name)] : at[name];
  }
  return at;
}

/** Returns null if no member is named as an amount. Amounts in several currencies have no common one. */
export function moneyOf(given: Json, map: MoneyMap | null = null): Money | null {
  if (map !== null) return mappedMoney(given, map);
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
