/** `gov alias delete NAME`. Tested by `test/cli/grammar/alias.test.ts`. */
import { updateUserConfig } from '../../context/config-write.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { aliasDelete as spec } from '../../specs/tool/alias.ts';

export const run: Run<typeof spec> = async ({ args, out, io }) => {
  const { name } = args;
  await updateUserConfig(io.env, (config) => {
    const { [name]: removed, ...aliases } = config.aliases ?? {};
    if (removed === undefined)
      throw new CliError(exit.notFound, `there is no alias ${JSON.stringify(name)}`, {
        code: 'NOT_FOUND',
        hint: 'see what there is: gov alias list',
      });
    return { ...config, aliases };
  });
  await out.note(safe`deleted alias ${name}`);
};
