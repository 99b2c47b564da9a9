/**
 * SIGHUP, which ends a command when its terminal closes, except one that nohup(1) started: nohup ignores SIGHUP, and Node
 * sets that back at its start. So `bin/gov` looks before, and says it in a variable (contract T12). Tested by
 * `test/cli/commands/events/watch.test.ts` and `test/cli/commands/tools/exec.test.ts`.
 */
const variable = 'GOV_SIGHUP_IGNORED';
let isIgnored = false;

/** Ignores SIGHUP for the life of this process if `bin/gov` found it ignored. Removes the variable. */
export function keepHangupIgnored(): void {
  isIgnored = process.env[variable] === '1';
  delete process.env[variable];
  if (isIgnored) process.on('SIGHUP', () => {});
}

/** The signals that end a command: without SIGHUP where it is ignored. */
export const endingSignals = (): readonly NodeJS.Signals[] =>
  isIgnored ? ['SIGINT', 'SIGTERM', 'SIGQUIT'] : ['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGHUP'];

/**
 * The words that start a program as this command was started: Node gives each child the default of SIGHUP. A program that
 * does not exist then ends with 127 of the shell, not with an error of the start.
 */
export const withHangupOf = (words: readonly string[]): readonly string[] =>
  isIgnored ? ['/bin/sh', '-c', 'trap "" HUP; exec "$@"', 'sh', ...words] : words;
