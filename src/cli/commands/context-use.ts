/** `gov context use NAME`. */
import type { Run } from '../command.ts';
import { updateUserConfig } from '../configwrite.ts';
import { unknownContext } from '../place.ts';
import { safe } from '../safe.ts';
import type { contextUse as spec } from '../specs/general.ts';

export const run: Run<typeof spec> = async ({ args, out, io }) => {
  await updateUserConfig(io.env, (config) => {
    if (Object.hasOwn(config.contexts, args.name)) return { ...config, currentContext: args.name };
    throw unknownContext(args.name, config.contexts);
  });
  await out.note(safe`context ${args.name} is the current one`);
};
