/** `gov config explain KEY`. Tested by `test/cli/context/explain.test.ts`. */
import { candidatesOf, explained, keyIn } from '../../context/explain.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import { problemView } from '../../terminal/view.ts';
import type { configExplain as spec } from '../../specs/tool/config.ts';

export const run: Run<typeof spec> = async (call) => {
  const items = candidatesOf(keyIn(explained, call.args.key), call).map((each) => ({ ...each }));
  if (items.length === 0) await call.out.note(safe`nothing sets ${call.args.key}`);
  const pages = async function* () {
    yield { items, nextCursor: null };
  };
  await call.out.list(pages(), problemView(['value', 'from'], items, call.out), 'sources');
};
