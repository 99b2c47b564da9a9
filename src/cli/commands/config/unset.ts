/** `gov config unset KEY`. Tested by `test/cli/context/explain.test.ts`. */
import { configPath, storable } from '../../context/config.ts';
import { updateUserConfig } from '../../context/config-write.ts';
import { keyIn } from '../../context/explain.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { configUnset as spec } from '../../specs/tool/config.ts';

export const run: Run<typeof spec> = async ({ args, out, io }) => {
  const key = keyIn(storable, args.key);
  await updateUserConfig(io.env, (config) => {
    const { [key]: _removed, ...settings } = config.settings ?? {};
    return { ...config, settings };
  });
  await out.note(safe`${configPath(io.env)} does not set ${key}`);
};
