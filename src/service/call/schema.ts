/**
 * Exact validation of inputs by Ajv: no coercion, no removal, no defaults, because a body is evidence. Ajv
 * stops at the first error; `explain.ts` then lists all of them. Ajv is loaded after the server listens
 * (`prepareChecks`), and each schema is compiled on first use, so that neither delays startup. Proven by
 * `test/contract/schema.test.ts`.
 */
import type { TSchema } from 'typebox';
import { GovError, type FieldError, type ProblemCode } from '../../contract/problems.ts';
import { canonicalize, type Json } from '../../core/json/parse.ts';
import { parseTimestamp } from '../../core/time.ts';
import { explain, type Findings, type JsonSchema } from './explain.ts';

/** Returns null for a valid value, else the findings. */
export type BodyCheck = (value: unknown) => Findings | null;

interface Compiler {
  compile(schema: object): (value: unknown) => boolean;
}

let compiler: Promise<Compiler> | undefined;

/**
 * Loads Ajv once. All schemas are the contract's own, never a caller's. A later call tries again after a
 * failure.
 */
function loadCompiler(): Promise<Compiler> {
  compiler ??= makeCompiler().catch((error: unknown) => {
    compiler = undefined;
    throw error;
  });
  return compiler;
}

async function makeCompiler(): Promise<Compiler> {
  const { Ajv } = await import('ajv');
  const ajv = new Ajv({
    strict: true,
    strictRequired: false,
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: false,
    allErrors: false,
    validateFormats: true,
    allowUnionTypes: false,
    messages: false,
    code: { optimize: 2 },
  });
  ajv.addFormat('date-time', { type: 'string', validate: (text: string) => parseTimestamp(text) !== null });
  return ajv;
}

/** Loads the schema compiler early, so that no request waits for it or finds the installation replaced. */
export const prepareChecks = async (): Promise<void> => void (await loadCompiler());

/** Compiles a schema of the contract into a check. Takes milliseconds, so keep the result. */
export async function loadCheck(
  schema: TSchema,
  options: { in: FieldError['in']; readOnly?: readonly string[] },
): Promise<BodyCheck> {
  const valid = (await loadCompiler()).compile(schema);
  return (value) => {
    if (valid(value)) return null;
    const findings = explain(schema as JsonSchema, value, options);
    if (findings.errors.length > 0) return findings;
    throw new Error('expected at least one finding about a value that Ajv rejected, got none');
  };
}

const own: ReadonlySet<string> = new Set<ProblemCode>(['UNKNOWN_FIELD', 'READ_ONLY_FIELD']);

/**
 * The problem for findings: the code that all of them share where that is a code of its own, else
 * VALIDATION_ERROR.
 */
export function refusal(findings: Findings): GovError {
  const [first, ...rest] = findings.errors;
  if (first === undefined) throw new Error('expected at least one finding, got none');
  const shared = own.has(first.code) && rest.every(({ code }) => code === first.code);
  const more = rest.length === 0 ? '' : ` (and ${rest.length} more)`;
  return new GovError(
    shared ? (first.code as ProblemCode) : 'VALIDATION_ERROR',
    `${first.in} ${first.pointer === '' ? '/' : first.pointer}: ${first.detail}${more}`,
    { errors: findings.errors, ...(findings.truncated ? { extensions: { errorsTruncated: true } } : {}) },
  );
}

/** A problem with one finding of a rule that no schema can state. */
export const fieldError = (field: FieldError): GovError => refusal({ errors: [field], truncated: false });

/** Whether two values are the same JSON. Bodies have been read as JSON, and answers become it. */
export const isSameJson = (one: unknown, other: unknown): boolean =>
  typeof one === 'object' && other !== undefined && canonicalize(one as Json) === canonicalize(other as Json);

/** READ_ONLY_FIELD where a body sets a member that it may only repeat as `answered` has it (contract A4). */
export function refuseReadOnly(sent: Readonly<Record<string, unknown>>, answered: object): void {
  const known = new Map<string, unknown>(Object.entries(answered));
  for (const [name, value] of Object.entries(sent)) {
    const is = known.get(name);
    if (value === is || isSameJson(value, is)) continue;
    throw fieldError({
      pointer: `/${name}`,
      in: 'body',
      code: 'READ_ONLY_FIELD',
      detail: `expected no ${name}, or its value ${String(is)}; it cannot be set`,
    });
  }
}
