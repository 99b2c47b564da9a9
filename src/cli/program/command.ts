/** What a running command gets, and what it returns. The types of `args` and `flags` follow from the command's spec. */
import type { Io } from '../terminal/io.ts';
import type { Out } from '../terminal/out.ts';
import type { Session } from '../context/session.ts';
import type { GivenFlags, Settings } from '../context/settings.ts';
import type { ArgValues, CommandSpec, FlagValues } from './spec.ts';

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
