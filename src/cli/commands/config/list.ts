/** `gov config list`. Tested by `test/cli/context/explain.test.ts`. */
import { candidatesOf, explained } from '../../context/explain.ts';
import type { Run } from '../../program/command.ts';
import type { View } from '../../terminal/view.ts';
import type { configList as spec } from './spec.ts';

const columns = ['key', 'value', 'from'].map((name) => ({ name, kind: 'text' as const }));
const view: View = { columns, wide: columns, id: 'key', items: undefined };

export const run: Run<typeof spec> = async (call) => {
  const items = explained.flatMap((key) =>
    candidatesOf(key, call)
      .slice(0, 1)
      .map((each) => ({ key, ...each })),
  );
  const pages = async function* () {
    yield { items, nextCursor: null };
  };
  await call.out.list(pages(), view, 'settings');
};
