/**
 * The input of a running command, and its result. The types of `args` and `flags` follow from the command's spec.
 * Tested by `test/cli/grammar/parse.test.ts`.
 */
import type { Io } from '../terminal/io.ts';
import type { Out } from '../terminal/out.ts';
import type { Session } from './session.ts';
import type { GivenFlags, Settings } from './settings.ts';
import type { ArgValues, CommandSpec, FlagValues } from '../program/spec.ts';

/** The input of a running command. It writes to `out` only, and stops when `signal` fires. */
export interface Invocation<Spec = CommandSpec> {
  readonly args: ArgValues<Spec>;
  readonly flags: FlagValues<Spec>;
  readonly settings: Settings;
  /** Texts of the global flags, as typed. */
  readonly globals: GivenFlags;
  readonly session: Session;
  readonly out: Out;
  readonly io: Io;
  readonly signal: AbortSignal;
}

/** Runs a command. Returns the exit code if it is not 0, and throws a failure (`exit.ts`). */
export type Run<Spec = CommandSpec> = (invocation: Invocation<Spec>) => Promise<number | void>;
