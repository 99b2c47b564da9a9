/** `gov context use NAME`. */
import type { Run } from '../command.ts';
import { updateUserConfig } from '../config.ts';
import { usage } from '../exit.ts';
import { safe } from '../safe.ts';
import type { contextUse as spec } from '../specs/general.ts';

export const run: Run<typeof spec> = async ({ args, out, io }) => {
  updateUserConfig(io.env, (config) => {
    if (Object.hasOwn(config.contexts, args.name)) return { ...config, currentContext: args.name };
    const known = Object.keys(config.contexts).join(', ') || 'none yet';
    throw usage(`no context is named ${JSON.stringify(args.name)}; there is: ${known}`, 'gov context list');
  });
  await out.note(safe`context ${args.name} is the current one`);
};
