/** `gov alias list`. Tested by `test/cli/grammar/alias.test.ts`. */
import { readAliases } from '../../context/config.ts';
import { checkAliases, isCommand } from '../../grammar/alias.ts';
import type { Run } from '../../context/command.ts';
import { CliError } from '../../program/exit.ts';
import { problemView } from '../../terminal/view.ts';
import type { aliasList as spec } from '../../specs/tool/alias.ts';

export const run: Run<typeof spec> = async ({ out, io }) => {
  const aliases = readAliases(io.env);
  const problemOf = (name: string): string | null => {
    if (isCommand(name)) return 'a command has this name now';
    try {
      checkAliases(name, aliases);
      return null;
    } catch (cause) {
      if (!(cause instanceof CliError)) throw cause;
      return cause.message;
    }
  };
  const items = Object.entries(aliases)
    .map(([name, expansion]) => ({ name, expansion, problem: problemOf(name) }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  const pages = async function* () {
    yield { items, nextCursor: null };
  };
  await out.list(pages(), problemView(['name', 'expansion'], items, out), 'aliases');
};
