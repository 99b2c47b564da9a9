/**
 * `gov service projects`: reads the store itself, so on SQLite only while the service is stopped.
 * Tested by `test/cli/commands/service/serve.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import type { ListPage } from '../../terminal/out.ts';
import type { serviceProjects as spec } from '../../specs/operate/service.ts';
import type { Column, View } from '../../terminal/view.ts';

const columns: readonly Column[] = [
  { name: 'projectId', kind: 'id' },
  { name: 'name', kind: 'text' },
  { name: 'environment', kind: 'text' },
  { name: 'deletedAt', kind: 'time' },
  { name: 'organizationId', kind: 'id' },
];
const wide: readonly Column[] = [
  ...columns,
  { name: 'createdAt', kind: 'time' },
  { name: 'quotas', kind: 'text' },
];
const view: View = { columns, wide, id: 'projectId', items: undefined };

export const run: Run<typeof spec> = async ({ flags, out, io }) => {
  const { everyProject, operate } = await import('../../../host/service/operator.ts');
  const { data: dataDir, organization } = flags;
  const filter = organization === undefined ? {} : { organizationId: organization };
  await operate({ dataDir, env: io.env, logLevel: 'warn' }, async (services) => {
    const pages = async function* (): AsyncGenerator<ListPage> {
      for await (const page of everyProject(services, filter)) {
        yield { items: page.map((each) => ({ ...each })), nextCursor: null };
      }
    };
    await out.list(pages(), view, 'projects');
  });
};
