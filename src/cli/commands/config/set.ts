/** `gov config set KEY VALUE`. Tested by `test/cli/context/explain.test.ts`. */
import { configPath, storable } from '../../context/config.ts';
import { updateUserConfig } from '../../context/config-write.ts';
import { candidatesOf, keyIn } from '../../context/explain.ts';
import { readSetting } from '../../context/stored.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { configSet as spec } from '../../specs/tool/config.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, out, io } = call;
  const key = keyIn(storable, args.key);
  readSetting(key, args.value, io.now());
  await updateUserConfig(io.env, (config) => ({
    ...config,
    settings: { ...config.settings, [key]: args.value },
  }));
  await out.note(safe`${key} is ${args.value} in ${configPath(io.env)}`);
  if (key === 'updateNotice' && args.value === 'true' && candidatesOf('updateRegistry', call).length === 0)
    await out.warn(safe`gov asks no registry yet: gov config set updateRegistry URL`);
  const [first] = candidatesOf(key, call);
  if (first !== undefined && !first.from.startsWith(configPath(io.env)))
    await out.warn(safe`${first.from} is stronger, and says ${first.value}`);
};
