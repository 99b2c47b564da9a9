/** `gov forward list`. Tested by `test/cli/commands/forward.test.ts`. */
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import type { ListPage } from '../../terminal/out.ts';
import type { Column, View } from '../../terminal/view.ts';
import type { forwardList as spec } from '../../specs/operate/forward.ts';

const columns: readonly Column[] = ['name', 'to', 'format', 'from', 'eventTypes', 'decisions'].map(
  (name) => ({
    name,
    kind: 'text',
  }),
);
const view: View = { columns, wide: columns, id: 'name', items: undefined };

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const { readTargets } = await import('../../../host/data/forwards.ts');
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const items = readTargets(dataDir).map(({ name, to, format, from, filter, content, projects }) => ({
    name,
    to,
    format,
    from,
    eventTypes: filter.eventTypes ?? null,
    decisions: filter.decisions ?? null,
    content,
    projects,
  }));
  const pages = async function* (): AsyncGenerator<ListPage> {
    yield { items, nextCursor: null };
  };
  await out.list(pages(), view, 'forwards');
};
