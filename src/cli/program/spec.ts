/**
 * The declaration of a command, as data. The parser, `--help`, completion and `gov commands -o json` derive from it.
 * `manifest.ts` makes declarations from contract rows; `src/cli/specs/` has the hand-made ones.
 * Flags have camelCase keys and are typed in kebab-case. Tested by `test/cli/program/manifest.test.ts`.
 */

/**
 * How to read a flag's text. `duration`: milliseconds, from `500ms`, `30s`, `5m`, `2h`, `1d` or plain seconds.
 * `time`: RFC 3339 text, from itself or a duration ago. `json`: a JSON value, `@FILE` or `@-`.
 */
type FlagType = 'string' | 'strings' | 'integer' | 'boolean' | 'duration' | 'time' | 'json';

export interface FlagSpec {
  readonly type: FlagType;
  readonly description: string;
  /** Placeholder in help, such as FILE. */
  readonly value?: string;
  readonly short?: string;
  /** The value comes after `=`, or not at all. */
  readonly optionalValue?: true;
  readonly required?: true;
  readonly choices?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  /** Splits one value of a `strings` flag into several. */
  readonly separator?: ',';
  /** Accepted, but not in help or completion. */
  readonly hidden?: true;
}

export interface ArgSpec {
  readonly name: string;
  readonly description: string;
  readonly optional?: true;
  readonly variadic?: true;
  /** For completion; the command itself refuses other words. */
  readonly choices?: readonly string[];
}

export interface CommandSpec {
  /** `noun verb`, or one word. */
  readonly name: string;
  readonly summary: string;
  /** Further paragraphs of `--help`. */
  readonly details?: readonly string[];
  readonly args?: readonly ArgSpec[];
  readonly flags?: Readonly<Record<string, FlagSpec>>;
  readonly examples: readonly string[];
  /** Output formats beyond the common ones, such as `dot`. */
  readonly formats?: readonly string[];
  /** The JSON that it prints, as `prints.ts` reads it. A generated command prints the response of its row. */
  readonly prints?: string;
  /** Exit codes that have a special meaning for this command. */
  readonly exitCodes?: Readonly<Record<number, string>>;
  /** Changes data at the service: always, with one of these flags, without this one, or unless an argument or flag has this value. */
  readonly changes?:
    | true
    | { readonly with: readonly string[] }
    | { readonly without: string }
    | { readonly unless: Readonly<Record<string, string | boolean>> };
  /** Runs also if a configuration file is broken, because it shows or repairs the file. */
  readonly withoutSettings?: true;
  /** Handles SIGINT and SIGTERM itself, as a daemon does. */
  readonly ownsSignals?: true;
  /** Contract row of a generated command. */
  readonly operation?: string;
  readonly hidden?: true;
}

type More = Omit<FlagSpec, 'type' | 'value' | 'description'>;

/** A flag with a value: `listen: flag.text('HOST:PORT', 'Address to serve at')`. Keeps the literal types of `more`. */
const valued =
  <Type extends FlagType>(type: Type) =>
  <const Rest extends More = Record<never, never>>(value: string, description: string, more?: Rest) =>
    ({ type, value, description, ...more }) as { type: Type; value: string; description: string } & Rest;

export const flag = {
  /** A flag without a value. */
  on: <const Rest extends More = Record<never, never>>(description: string, more?: Rest) =>
    ({ type: 'boolean', description, ...more }) as { type: 'boolean'; description: string } & Rest,
  text: valued('string'),
  /** May be given several times. */
  list: valued('strings'),
  integer: valued('integer'),
  duration: valued('duration'),
  time: valued('time'),
  json: valued('json'),
};

/** Keeps the literal types, from which `Invocation` derives the types of `args` and `flags`. */
export const command = <const Spec extends CommandSpec>(spec: Spec): Spec => spec;

interface FlagValueTypes {
  string: string;
  strings: readonly string[];
  integer: number;
  boolean: boolean;
  duration: number;
  time: string;
  json: unknown;
}
type FlagValue<Flag> = Flag extends { type: 'boolean' }
  ? boolean
  : Flag extends { type: 'strings' }
    ? readonly (Flag extends { choices: readonly (infer Choice)[] } ? Choice : string)[]
    : Flag extends { type: infer Type extends FlagType; choices: readonly (infer Choice)[] }
      ? Type extends 'string'
        ? Choice | (Flag extends { required: true } ? never : undefined)
        : FlagValueTypes[Type] | undefined
      : Flag extends { type: infer Type extends FlagType }
        ? FlagValueTypes[Type] | (Flag extends { required: true } ? never : undefined)
        : never;
type ArgValue<Arg> = Arg extends { variadic: true }
  ? readonly string[]
  : Arg extends { optional: true }
    ? string | undefined
    : string;

export type FlagValues<Spec> = Spec extends { flags: infer Flags }
  ? { readonly [Name in keyof Flags]: FlagValue<Flags[Name]> }
  : Readonly<Record<never, never>>;
export type ArgValues<Spec> = Spec extends { args: readonly (infer Arg extends ArgSpec)[] }
  ? { readonly [Each in Arg as Each['name']]: ArgValue<Each> }
  : Readonly<Record<never, never>>;

/** The verbs `show` and `get` are one: `gov runs get` is `gov runs show`, and `gov policy show` is `gov policy get`. */
const readingVerbs: Readonly<Record<string, string>> = { show: 'get', get: 'show' };
export const otherVerbs = (verb: string): string[] =>
  Object.hasOwn(readingVerbs, verb) ? [readingVerbs[verb] ?? ''] : [];
