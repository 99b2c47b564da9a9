/**
 * JSON text of a value that a program gives. JSON.stringify alone writes NaN and holes as null, a Map as {} and a Date as
 * a text, so the log would keep, and hash, something else than the program has. Tested by
 * `test/client/json-text.test.ts`.
 */

/** Deeper values are left to JSON.stringify, which finds cycles, and to the service, which has a lower limit. */
const deepest = 100;

/**
 * Returns the JSON text of a value; members that are undefined are left out. TypeError, with a JSON Pointer, for what JSON
 * has no form for: NaN, Infinity, BigInt, functions, undefined in a list, Date, Map, Error and other objects of a class
 * of the runtime. Cost: one more walk.
 */
export function jsonText(value: unknown): string {
  const fault = faultIn(value, 0);
  if (fault !== null) throw new TypeError(`${fault.pointer || '/'}: expected JSON, got ${fault.got}`);
  return JSON.stringify(value);
}

interface Fault {
  readonly pointer: string;
  readonly got: string;
}

function faultIn(value: unknown, depth: number): Fault | null {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return null;
    case 'number':
      return Number.isFinite(value) ? null : { pointer: '', got: String(value) };
    case 'object':
      return value === null || depth > deepest ? null : faultOfObject(value, depth);
    case 'bigint':
      return { pointer: '', got: `the BigInt ${value}; send a number or a text` };
    default:
      return { pointer: '', got: typeof value };
  }
}

function faultOfObject(value: object, depth: number): Fault | null {
  if (Array.isArray(value)) {
    // by index, because forEach skips holes
    for (let at = 0; at < value.length; at += 1) {
      const fault = faultIn(value[at], depth + 1);
      if (fault !== null) return below(at, fault);
    }
    return null;
  }
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1);
  if (kind === 'Date') return { pointer: '', got: 'a Date; send its toISOString()' };
  if (kind !== 'Object') return { pointer: '', got: `an object of class ${kind}` };
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function')
    return { pointer: '', got: 'an object with toJSON; send what it returns' };
  for (const [name, member] of Object.entries(value)) {
    const fault = member === undefined ? null : faultIn(member, depth + 1);
    if (fault !== null) return below(name, fault);
  }
  return null;
}

const below = (name: string | number, { pointer, got }: Fault): Fault => ({
  pointer: `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}${pointer}`,
  got,
});
