/** `gov config path`. Tested by `test/cli/context/explain.test.ts`. */
import { existsSync } from 'node:fs';
import { configPath } from '../../context/config.ts';
import type { Run } from '../../context/command.ts';
import { plainView } from '../../terminal/view.ts';
import type { configPath as spec } from '../../specs/tool/config.ts';

export const run: Run<typeof spec> = async ({ out, io }) => {
  const path = configPath(io.env);
  await out.one({ path, exists: existsSync(path) }, { ...plainView(['path', 'exists']), id: 'path' });
};
