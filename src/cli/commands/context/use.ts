/** `gov context use NAME`. Tested by `test/cli/context/config.test.ts`. */
import type { Run } from '../../context/command.ts';
import { updateUserConfig } from '../../context/config-write.ts';
import { unknownContext } from '../../context/place.ts';
import { safe } from '../../terminal/safe.ts';
import type { contextUse as spec } from '../../specs/tool/context.ts';

export const run: Run<typeof spec> = async ({ args, out, io }) => {
  await updateUserConfig(io.env, (config) => {
    if (Object.hasOwn(config.contexts, args.name)) return { ...config, currentContext: args.name };
    throw unknownContext(args.name, config.contexts);
  });
  await out.note(safe`context ${args.name} is the current one`);
};
