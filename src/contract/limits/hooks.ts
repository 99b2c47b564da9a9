/** Limits: hooks and drills of agents. */
import { MiB } from './units.ts';

export const hooks = {
  /** Standard input of one hook. */
  hookInputBytes: 16 * MiB,
  /** From the start of a hook to its answer. The client waits longer, so that the hook decides what a delay means. */
  hookSeconds: 5,
  hookClientSeconds: 15,
  hookAnswerBytes: 1 * MiB,
  /** How long a request token is good; the clock of the plane may differ by as much. */
  requestTokenSeconds: 60,
  /** After so long without a call, gov reads the workspace of a session again. */
  agentSessionDays: 30,
  /** One drill of one client. A quiet machine needs 5 s. */
  drillSeconds: 45,
  /** Newest results that a plane judges, and the age at which it forgets a machine. */
  drillResults: 500,
  drillForgetDays: 30,
  /** Newest results of ways around hooks that a plane and a report judge: about 40 for a machine with four clients. */
  drillBypassResults: 2000,
  /** Open ways that a reason of health names. */
  drillBypassesNamed: 5,
  /** Of each text in a result that is shown. */
  drillTextChars: 300,
  drillHours: 24 * 365,
  /** Entries of a workspace that a sandbox looks at for files with keys, and events that it sends at once. */
  sandboxEntries: 20_000,
  sandboxBatch: 100,
} as const;
