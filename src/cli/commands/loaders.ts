/**
 * Loads the file of a hand-made command by its name: `plane config apply` is `plane/config-apply.ts`; a command of one
 * word, such as `erase`, is `erase/run.ts`. So a command loads only its own code. The build replaces the computed import
 * by a table of files (`scripts/build.ts`). Tested by `test/cli/commands/files.test.ts`.
 */
import type { Invocation } from '../context/command.ts';

/** Each module's `run` takes the invocation of its own spec, which the parser builds from that spec. */
interface CommandModule {
  readonly run: (invocation: Invocation<never>) => Promise<number | void>;
}

export function load(name: string): Promise<CommandModule> {
  const [noun = name, ...verb] = name.split(' ');
  const file = verb.length === 0 ? 'run' : verb.join('-');
  return import(`./${noun}/${file}.ts`);
}
