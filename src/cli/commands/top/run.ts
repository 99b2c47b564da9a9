/** `gov top`. Tested by `test/cli/screens/top.test.ts`. */
import type { Run } from '../../context/command.ts';
import { watchTop } from '../../screens/top/watch.ts';
import type { top as spec } from '../../specs/operate/top.ts';

export const run: Run<typeof spec> = (call) => {
  const { interval, count, ascii } = call.flags;
  return watchTop(call, { intervalMs: interval, count, ascii });
};
