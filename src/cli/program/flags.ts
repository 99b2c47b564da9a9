/**
 * Reads the text of a flag into its value. Every error names the flag, what it expected and what came.
 * Tested by `test/cli/program/flags.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { FlagSpec } from './spec.ts';
import { CliError, exit, usage } from './exit.ts';
import { editedText } from '../../core/text.ts';

/** Returns the flag's name as typed: `schemaVersion` is `--schema-version`. */
export const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns the milliseconds of `500ms`, `30s`, `5m`, `2h`, `1d` or plain seconds; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const [, digits, unit] = /^([0-9]{1,9})(ms|s|m|h|d)?$/.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const ms = Number(digits) * (units[unit ?? 's'] ?? 1000);
  // setTimeout counts with 31 bits
  return ms <= 2 ** 31 - 1 || unit === 'd' || unit === 'h' ? ms : undefined;
}

const rfc3339 =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$/;

/** Returns RFC 3339 text: the text itself, the start of a day (UTC), or the time that long before `now`. */
function parseTime(text: string, now: number): string | undefined {
  if (rfc3339.test(text)) return text;
  if (/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return `${text}T00:00:00Z`;
  const ago = parseDuration(text.replace(/ ?ago$/, ''));
  return ago === undefined || /^[0-9]+$/.test(text) ? undefined : new Date(now - ago).toISOString();
}

/** A flag and its text; `flag` includes the dashes. */
interface FlagText {
  readonly flag: string;
  readonly spec: FlagSpec;
  readonly text: string;
  readonly now: number;
  /** Folder of the file of a `json` flag. */
  readonly cwd?: string;
}

const shownText = (text: string): string => (text.length > 64 ? `${text.slice(0, 64)}…` : text);
const refuse = ({ flag, text }: FlagText, expected: string): CliError =>
  usage(`${flag}: expected ${expected}, got ${JSON.stringify(shownText(text))}`);

function asInteger(given: FlagText): number {
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = given.spec;
  const value = /^-?[0-9]{1,16}$/.test(given.text) ? Number(given.text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= minimum && value <= maximum) return value;
  const range =
    maximum === Number.MAX_SAFE_INTEGER ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`;
  throw refuse(given, `a whole number ${range}`);
}

function asString(given: FlagText): string {
  const { choices, maxLength = 65_536, pattern } = given.spec;
  if (choices !== undefined && !choices.includes(given.text))
    throw refuse(given, `one of ${choices.join(', ')}`);
  if (given.text.length > maxLength) throw refuse(given, `at most ${maxLength} characters`);
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(given.text)) {
    throw refuse(given, `text that matches ${pattern}`);
  }
  return given.text;
}

function asJson(given: FlagText): unknown {
  const file = given.text.startsWith('@') ? given.text.slice(1) : null;
  const text = file === null ? given.text : readText(file, given.cwd ?? '.');
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (file === null) throw refuse(given, 'a JSON value, or @FILE with one');
    // JavaScript names the place: the reader of `jsonFault` would have to be loaded at every start
    throw usage(`${given.flag}: expected JSON in ${file}: ${(cause as SyntaxError).message}`);
  }
}

/** Reads a file, or standard input for `-`; `cwd`: folder of relative paths. Errors: exit 2 with the reason. */
export function readText(path: string, cwd: string): string {
  try {
    return editedText(readFileSync(path === '-' ? 0 : resolve(cwd, path), 'utf8'));
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

export function unreadable(path: string, cause: unknown): CliError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: 'the file does not exist',
    EACCES: 'this user may not read it',
    EISDIR: 'it is a directory',
    ENOTDIR: 'a file blocks the path',
    ENAMETOOLONG: 'the name is too long',
    ELOOP: 'its links lead in a circle',
  };
  return new CliError(exit.usage, `cannot read ${path}: ${reasons[code] ?? code}`, { code, cause });
}

/** Returns the value of the flag. Errors: `CliError` with exit 2. */
export function readFlag(given: FlagText): unknown {
  const { spec, text, now } = given;
  switch (spec.type) {
    case 'boolean':
      return true;
    case 'integer':
      return asInteger(given);
    case 'duration': {
      const ms = parseDuration(text);
      if (ms === undefined || ms === 0) throw refuse(given, 'a time such as 500ms, 30s, 5m or 2h');
      return ms;
    }
    case 'time': {
      const time = parseTime(text, now);
      if (time === undefined) throw refuse(given, 'a time such as 2026-01-31T09:00:00Z, 2026-01-31 or 2h');
      return time;
    }
    case 'json':
      return asJson(given);
    case 'string':
    case 'strings':
      return asString(given);
  }
}

/** Whether a flag without a value is there. commander reads --no-input as the negation of an option named input. */
export const isGiven = (name: string, given: Readonly<Record<string, unknown>>): boolean =>
  /^no[A-Z]/.test(name)
    ? given[`${name.charAt(2).toLowerCase()}${name.slice(3)}`] === false
    : given[name] === true;
