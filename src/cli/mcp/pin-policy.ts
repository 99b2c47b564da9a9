/**
 * The policy by which a person accepts definitions of a server's tools: it denies each named tool under any other
 * definition, so the plane itself holds it, also for calls that another proxy reports.
 * Tested by `test/cli/commands/mcp/pin.test.ts` against a real plane.
 */
import type { Json, JsonObject } from '../../core/json/canonical.ts';
import { isObject } from '../../core/json/object.ts';

export const pinPolicyId = (server: string): string => `mcp-pins.${server}`;

const inContext = (...path: string[]): Json => ({ val: ['context', ...path] });
/** An absent member counts as the empty text: a condition on it stays decidable. */
const orEmpty = (value: Json): Json => ({ '??': [value, ''] });

/**
 * The condition that denies: the server's call names a pinned tool, and `TOOL HASH` is not accepted. `accepted` maps tools
 * to hashes.
 */
export function pinCondition(server: string, accepted: ReadonlyMap<string, string>): JsonObject {
  const name = inContext('tool', 'name');
  const pins = [...accepted].map(([tool, hash]) => `${tool} ${hash}`);
  return {
    and: [
      { '==': [orEmpty(inContext('tool', 'server')), server] },
      { in: [name, [...accepted.keys()]] },
      { '!': { in: [{ cat: [name, ' ', orEmpty(inContext('tool', 'schemaHash'))] }, pins] } },
      // a hook sees no definitions, and names its client; the proxy decides the same call again, with the definition
      { or: [{ exists: ['context', 'tool', 'schemaHash'] }, { missing: ['context', 'client'] }] },
    ],
  };
}

/** Returns what `pinCondition` accepts; empty for a condition of another form. */
export function acceptedIn(condition: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const parts = condition['and'];
  const last: unknown = Array.isArray(parts) ? parts[2] : undefined;
  const negated: unknown = isObject(last) ? last['!'] : undefined;
  const inside: unknown = Array.isArray(negated) ? negated[0] : negated;
  const list: unknown = isObject(inside) ? inside['in'] : undefined;
  const pins: unknown = Array.isArray(list) ? list[1] : undefined;
  if (!Array.isArray(pins)) return new Set();
  return new Set(pins.filter((pin) => typeof pin === 'string'));
}
