/**
 * Loads the file of a hand-made command by its name: `plane config apply` is `plane/config-apply.ts`, and a command of
 * one word, `erase`, is `erase/run.ts`. A command therefore costs only its own code. The build replaces the computed
 * import by a table of files (`scripts/build.ts`). `test/cli/commands/files.test.ts` checks names and files.
 */
import type { Invocation } from '../program/command.ts';

/** Each module's `run` takes the invocation of its own spec, which the parser builds from that spec. */
interface CommandModule {
  readonly run: (invocation: Invocation<never>) => Promise<number | void>;
}

export function load(name: string): Promise<CommandModule> {
  const [noun = name, ...verb] = name.split(' ');
  const file = verb.length === 0 ? 'run' : verb.join('-');
  return import(`./${noun}/${file}.ts`);
}
