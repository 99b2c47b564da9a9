/**
 * Exact validation of inputs by Ajv: no coercion, no removal, no defaults, since a body is evidence. Ajv says
 * yes or no and stops at the first fault; `explain.ts` then lists the faults. Ajv is loaded once a server listens
 * (`prepareChecks`), and each schema compiled on first use, so that a plane listens before it has read a line of it.
 * Proven by `test/contract/schema.test.ts`.
 */
import type { TSchema } from 'typebox';
import { GovError, type FieldError, type ProblemCode } from '../../contract/problems.ts';
import { parseTimestamp } from '../../core/time.ts';
import { explain, type Findings, type JsonSchema } from './explain.ts';

/** Answers null for a valid value, else what is wrong with it. */
export type Check = (value: unknown) => Findings | null;

interface Compiler {
  compile(schema: object): (value: unknown) => boolean;
}

let compiler: Promise<Compiler> | undefined;

/** Loads Ajv once; the schemas it gets are the contract's own, never a caller's. Whoever comes after a failure tries again. */
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

/** Loads what checks are compiled with, so that no request waits for that, or finds the installation replaced meanwhile. */
export const prepareChecks = async (): Promise<void> => void (await loadCompiler());

/** Compiles a schema of the contract into a check; milliseconds, so keep what it resolves with. */
export async function loadCheck(
  schema: TSchema,
  options: { in: FieldError['in']; readOnly?: readonly string[] },
): Promise<Check> {
  const valid = (await loadCompiler()).compile(schema);
  return (value) => {
    if (valid(value)) return null;
    const findings = explain(schema as JsonSchema, value, options);
    if (findings.errors.length > 0) return findings;
    throw new Error('a value was refused but nothing was found wrong with it');
  };
}

const own: ReadonlySet<string> = new Set<ProblemCode>(['UNKNOWN_FIELD', 'READ_ONLY_FIELD']);

/** The problem for findings: the code that all of them share if it is a problem of its own. */
export function refusal(findings: Findings): GovError {
  const [first, ...rest] = findings.errors;
  if (first === undefined) throw new Error('a refusal needs at least one finding');
  const shared = own.has(first.code) && rest.every(({ code }) => code === first.code);
  const more = rest.length === 0 ? '' : ` (and ${rest.length} more)`;
  return new GovError(
    shared ? (first.code as ProblemCode) : 'VALIDATION_ERROR',
    `${first.in} ${first.pointer === '' ? '/' : first.pointer}: ${first.detail}${more}`,
    { errors: findings.errors, ...(findings.truncated ? { extensions: { errorsTruncated: true } } : {}) },
  );
}

/** One fault found by a rule that no schema can state. */
export const fieldError = (field: FieldError): GovError => refusal({ errors: [field], truncated: false });
