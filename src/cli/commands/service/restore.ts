/**
 * `gov service restore`: the project's keys work again at once, on PostgreSQL within five seconds.
 * Tested by `test/cli/commands/service/serve.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { serviceRestore as spec } from '../../specs/operate/service.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, io }) => {
  const { operate, restoreProject } = await import('../../../host/service/operator.ts');
  const options = { dataDir: flags.data, env: io.env, logLevel: 'warn' };
  const { changed, project } = await operate(options, (services) => restoreProject(services, args.project));
  if (!out.isHuman) return out.one({ changed, ...project }, plainView(['changed', ...Object.keys(project)]));
  const what = changed ? 'is restored' : 'was not deleted; unchanged';
  return out.line(safe`${out.styles.green('✓')} project ${project.name} (${project.projectId}) ${what}`);
};
