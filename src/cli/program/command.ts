/**
 * What a command of the tool is: static data from which the parser, `--help`, completion and
 * `gov commands -o json` are derived. Generated commands come from contract rows (`manifest.ts`), hand-made
 * ones are declared in `specs/`; `src/cli/commands/loaders.ts` says which module runs each, loaded when called.
 * Flags are keyed in camelCase and typed in kebab-case. `test/cli/program/manifest.test.ts` proves the derivation.
 */
import type { Io } from '../terminal/io.ts';
import type { Out } from '../terminal/out.ts';
import type { Session } from '../context/session.ts';
import type { GivenFlags, Settings } from '../context/settings.ts';

/**
 * How a flag's text is read. `duration`: milliseconds, from `500ms`, `30s`, `5m`, `2h`, `1d` or plain
 * seconds. `time`: RFC 3339 text, from itself or a duration ago. `json`: a JSON value, `@FILE` or `@-`.
 */
export type FlagType = 'string' | 'strings' | 'integer' | 'boolean' | 'duration' | 'time' | 'json';

export interface FlagSpec {
  readonly type: FlagType;
  readonly description: string;
  /** Placeholder shown in help, such as FILE. */
  readonly value?: string;
  readonly short?: string;
  readonly required?: true;
  readonly choices?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  /** Splits one value of a `strings` flag into several. */
  readonly separator?: ',';
  /** Accepted but shown nowhere. */
  readonly hidden?: true;
}

export interface ArgSpec {
  readonly name: string;
  readonly description: string;
  readonly optional?: true;
  readonly variadic?: true;
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
  /** Exit codes that this command uses in a sense of its own. */
  readonly exitCodes?: Readonly<Record<number, string>>;
  /** It changes something at the service: always, with one of these flags, or without this one. */
  readonly changes?: true | { readonly with: readonly string[] } | { readonly without: string };
  /** The command handles SIGINT and SIGTERM itself (a daemon). */
  readonly ownsSignals?: true;
  /** Contract row behind a generated command. */
  readonly operation?: string;
  readonly hidden?: true;
}

/** Keeps the literal types, from which `Invocation` derives what `args` and `flags` hold. */
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

/** All that a running command is given. It writes to `out` only, and stops when `signal` fires. */
export interface Invocation<Spec = CommandSpec> {
  readonly args: ArgValues<Spec>;
  readonly flags: FlagValues<Spec>;
  readonly settings: Settings;
  /** Texts of the flags of every command, as typed. */
  readonly globals: GivenFlags;
  readonly session: Session;
  readonly out: Out;
  readonly io: Io;
  readonly signal: AbortSignal;
}

/** Runs a command; the answer is the exit code where it is not 0. Failures are thrown (`exit.ts`). */
export type Run<Spec = CommandSpec> = (invocation: Invocation<Spec>) => Promise<number | void>;
