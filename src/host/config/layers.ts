/**
 * The layers of a configuration: flag > GOV_* environment > file > default. Each value is checked, and an error
 * names its layer. Proven by `test/host/data/config.test.ts` and `test/host/service/config.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { GovError } from '../../contract/problems.ts';
import { explain, type JsonSchema } from '../../service/call/explain.ts';
import { receiptChoices } from '../../service/log/receipts.ts';
import { lossChoices } from '../../store/acked/losses.ts';
import { editedText } from '../../core/text.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

/** A VALIDATION_ERROR that begins with the invalid layer. */
export const invalid = (from: string, expected: string, cause?: unknown): GovError =>
  new GovError('VALIDATION_ERROR', `${from}: expected ${expected}`, { cause });

export interface SettingValue<Value = string> {
  readonly value: Value;
  /** The flag, variable or file with the value. */
  readonly from: string;
}

/** Returns the value of the first layer that has one. `file` is the name of the last layer. */
export function layers<Flag extends string>(
  flags: Readonly<Partial<Record<Flag, string | undefined>>>,
  env: Variables,
  file: string,
): <Fallback extends string | null>(
  flag: Flag,
  name: string,
  fallback: Fallback,
) => SettingValue<string | Fallback> {
  return (flag, name, fallback) => {
    const given = flags[flag];
    if (given !== undefined) return { value: given, from: flagName(flag) };
    const set = env[name];
    return set === undefined || set === '' ? { value: fallback, from: file } : { value: set, from: name };
  };
}

/** `metricsListen` → `--metrics-listen`. */
const flagName = (flag: string): string => `--${flag.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`;

/**
 * Reads a JSON file that fits its schema. NOT_FOUND with the text `missing` where there is no file; FORBIDDEN where
 * this user may not read it.
 */
export function readConfigFile(path: string, schema: JsonSchema, missing: string): unknown {
  let text: string;
  try {
    text = editedText(readFileSync(path, 'utf8'));
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EACCES')
      throw new GovError('FORBIDDEN', `cannot read ${path}: this user may not read it; run as its owner`, {
        cause,
      });
    throw new GovError('NOT_FOUND', missing, { cause });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid(path, 'JSON', cause);
  }
  const [fault] = explain(schema, value, { in: 'body' }).errors;
  if (fault !== undefined) throw invalid(`${path} ${fault.pointer}`, fault.detail.replace(/^expected /, ''));
  return value;
}

/** Parts for the schemas of such files. */
export const text = (maxLength: number): JsonSchema => ({ type: 'string', minLength: 1, maxLength });
/** A path, which is relative to the data directory. */
export const filePath: JsonSchema = text(4096);
export const oneOf = (values: readonly string[]): JsonSchema => ({
  anyOf: values.map((value) => ({ const: value })),
});
export const whole = (minimum: number, maximum: number): JsonSchema => ({
  type: 'integer',
  minimum,
  maximum,
});
export const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] });

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** The members of every serving process. */
export const servingMembers = {
  listen: text(255),
  metricsListen: orNull(text(255)),
  problemBase: { type: 'string', pattern: '^https?://[^\\s]+$', maxLength: 255 },
  logLevel: oneOf(logLevels),
  memoryMiB: whole(128, 1_048_576),
  onLoss: oneOf(lossChoices),
  receipts: oneOf(receiptChoices),
  tlsCert: filePath,
  tlsKey: filePath,
  tlsClientCa: filePath,
} satisfies Readonly<Record<string, JsonSchema>>;

export function parseLogLevel({ value, from }: SettingValue): LogLevel {
  const level = logLevels.find((known) => known === value);
  if (level === undefined) throw invalid(from, `one of ${logLevels.join(', ')}, got ${value}`);
  return level;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

const addressForm = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s/]+)):([0-9]{1,5})$/;

/** Parses `host:port`, with brackets around an IPv6 address. Port 0 lets the system choose. */
export function parseAddress({ value, from }: SettingValue): Address {
  const [, v6, name, digits] = addressForm.exec(value) ?? [];
  const host = v6 ?? name;
  const port = Number(digits);
  if (host === undefined || port > 65_535)
    throw invalid(from, `host:port, such as 127.0.0.1:7460, got ${value}`);
  return { host, port };
}

/** Parses the same, or `off` for null. */
export const parseOptionalAddress = (picked: SettingValue): Address | null =>
  picked.value === 'off' ? null : parseAddress(picked);
