/** Compares the JSON that a command printed with the schema that it states in `gov commands -o json`. */
import { allSpecs } from '../../../src/cli/specs/all.ts';
import { schemaOfPrinted } from '../../../src/cli/program/prints.ts';
import type { Schema } from '../../../src/cli/program/schema.ts';

const specs = allSpecs();

/** Throws where a hand-made command printed other members than it states. `=…`: the names alone, since tests answer for services. */
export function checkPrinted(argv: readonly string[], stdout: string): void {
  const at = argv.indexOf('-o');
  if (argv[at + 1] !== 'json' || at < 0 || argv.some((word) => /^--(jq|json)\b/.test(word))) return;
  const spec = specs
    .filter(({ name }) => name.split(' ').every((word, place) => argv[place] === word))
    .toSorted((a, b) => b.name.length - a.name.length)[0];
  if (spec?.prints === undefined || stdout.trim() === '') return;
  const value = JSON.parse(stdout) as unknown;
  const schema = schemaOfPrinted(spec.prints);
  if (schema === null)
    throw new Error(`gov ${spec.name} states that it prints no JSON, and printed ${stdout}`);
  const fault = faultOf(value, schema, { isWhole: !spec.prints.includes('=') });
  if (fault !== null) throw new Error(`gov ${spec.name} -o json: ${fault}; it states: ${spec.prints}`);
}

function faultOf(value: unknown, schema: Schema, { isWhole }: { readonly isWhole: boolean }): string | null {
  if (schema.anyOf !== undefined) {
    const faults = schema.anyOf.map((each) => faultOf(value, each, { isWhole }));
    return faults.includes(null) ? null : faults.join(', or ');
  }
  if (schema.type !== undefined && !typesOf(value).includes(schema.type))
    return `expected ${schema.type}, got ${JSON.stringify(value)?.slice(0, 80)}`;
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return null;
    return value.map((each) => faultOf(each, items, { isWhole })).find((fault) => fault !== null) ?? null;
  }
  const { properties, required = [] } = schema;
  if (properties === undefined || typeof value !== 'object' || value === null) return null;
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined) return `member ${unknown} is not stated`;
  if (!isWhole) return null;
  const missing = required.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `member ${missing} is missing`;
  for (const [name, each] of Object.entries(value)) {
    const fault = faultOf(each, properties[name] ?? {}, { isWhole });
    if (fault !== null) return `${name}: ${fault}`;
  }
  return null;
}

function typesOf(value: unknown): readonly string[] {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  if (typeof value === 'number') return Number.isInteger(value) ? ['integer', 'number'] : ['number'];
  return [typeof value];
}
