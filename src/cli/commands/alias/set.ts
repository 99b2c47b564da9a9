/** `gov alias set NAME TEXT`. Tested by `test/cli/grammar/alias.test.ts`. */
import { configPath } from '../../context/config.ts';
import { updateUserConfig } from '../../context/config-write.ts';
import { checkAliases, checkAliasName } from '../../grammar/alias.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { aliasSet as spec } from '../../specs/tool/alias.ts';

export const run: Run<typeof spec> = async ({ args, out, io }) => {
  const { name, expansion } = args;
  checkAliasName(name);
  await updateUserConfig(io.env, (config) => {
    const aliases = { ...config.aliases, [name]: expansion };
    checkAliases(name, aliases);
    return { ...config, aliases };
  });
  await out.note(safe`gov ${name} is gov ${expansion}, in ${configPath(io.env)}`);
};
