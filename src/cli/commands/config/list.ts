/** `gov config list`. Tested by `test/cli/context/explain.test.ts`. */
import { candidatesOf, explained } from '../../context/explain.ts';
import type { Run } from '../../context/command.ts';
import { problemView } from '../../terminal/view.ts';
import type { configList as spec } from '../../specs/tool/config.ts';

export const run: Run<typeof spec> = async (call) => {
  const items = explained.flatMap((key) => {
    const candidates = candidatesOf(key, call);
    const inUse = candidates.find(({ problem }) => problem === null);
    const shown = [
      ...(inUse === undefined ? [] : [inUse]),
      ...candidates.filter(({ problem }) => problem !== null),
    ];
    return shown.map((each) => ({ key, ...each }));
  });
  const pages = async function* () {
    yield { items, nextCursor: null };
  };
  await call.out.list(pages(), problemView(['key', 'value', 'from'], items, call.out), 'settings');
};
