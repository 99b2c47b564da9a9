/** `gov service restore`: as soon as it is back its keys work, on PostgreSQL within five seconds. */
import type { Run } from '../../program/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { serviceRestore as spec } from './spec.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, io }) => {
  const { operate, restoreProject } = await import('../../../host/identity/operator.ts');
  const options = { dataDir: flags.data, env: io.env, logLevel: 'warn' };
  const { changed, project } = await operate(options, (services) => restoreProject(services, args.project));
  if (!out.isHuman) return out.one({ changed, ...project }, plainView(['changed', ...Object.keys(project)]));
  const what = changed ? 'is back' : 'was not deleted; nothing was changed';
  return out.line(safe`${out.styles.green('✓')} project ${project.name} (${project.projectId}) ${what}`);
};
