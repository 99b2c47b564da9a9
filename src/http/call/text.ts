/**
 * Query and path parameters (contract A2, A5). Only here does the text "5" become the number 5, in one
 * spelling only. Repeated, unknown or wrong parameters are errors, as in a body. Proven by
 * `test/http/hostile.test.ts`.
 */
import type { FieldCode } from '../../contract/field-codes.ts';
import { limits } from '../../contract/limits.ts';
import type { FieldError } from '../../contract/problems.ts';
import { echo, explain, type JsonSchema } from '../../service/call/explain.ts';
import { refusal } from '../../service/call/schema.ts';

type Texts = Readonly<Record<string, string>>;

/**
 * Reads a query string (without `?`) by the row's schema. Throws VALIDATION_ERROR or UNKNOWN_FIELD with every
 * finding. An attacker controls the text.
 */
export function readQuery(schema: JsonSchema | undefined, query: string): Record<string, unknown> {
  if (query === '') return schema === undefined ? {} : complete(schema, {});
  // without a prototype, `__proto__` is an ordinary name
  const values = Object.create(null) as Record<string, unknown>;
  const errors: FieldError[] = [];
  for (const part of query.split('&')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    const name = decode(at === -1 ? part : part.slice(0, at));
    const text = decode(at === -1 ? '' : part.slice(at + 1));
    if (name === null || text === null) {
      errors.push(fault(name ?? '', 'BAD_FORMAT', `expected percent-encoded UTF-8, got ${echo(part)}`));
    } else if (Object.hasOwn(values, name)) {
      errors.push(fault(name, 'DUPLICATE_ITEM', 'expected the parameter once'));
    } else {
      values[name] = convert(property(schema, name), text);
    }
  }
  if (errors.length > 0) throw refusal({ errors, truncated: false });
  return complete(schema ?? emptySchema, values);
}

const emptySchema = { type: 'object', properties: {}, additionalProperties: false } as const;

function complete(schema: JsonSchema, values: Record<string, unknown>): Record<string, unknown> {
  const findings = explain(schema, values, { in: 'query' });
  if (findings.errors.length > 0) throw refusal(findings);
  return values;
}

const property = (schema: JsonSchema | undefined, name: string): JsonSchema | undefined => {
  const properties = schema?.properties ?? {};
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
};

/**
 * The value of a parameter. Text that is no integer or boolean stays text; the schema then rejects its type.
 */
function convert(schema: JsonSchema | undefined, text: string): unknown {
  if (schema?.type === 'integer') return /^(?:[0-9]{1,9}|-[1-9][0-9]{0,8})$/.test(text) ? Number(text) : text;
  if (schema?.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}

/** Decodes a form component. Null where it is not percent-encoded UTF-8. */
function decode(text: string): string | null {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return null;
  }
}

const fault = (name: string, code: FieldCode, detail: string): FieldError => ({
  pointer: `/${name.slice(0, limits.echoChars)}`,
  in: 'query',
  code,
  detail,
});

/**
 * Path parameters as the row declares them. Null where one does not match its pattern: then no resource has
 * that path.
 */
export function readParams(schema: JsonSchema | undefined, params: Texts): Texts | null {
  if (schema === undefined) return params;
  return explain(schema, params, { in: 'path' }).errors.length === 0 ? params : null;
}
