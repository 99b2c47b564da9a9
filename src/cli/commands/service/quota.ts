/**
 * `gov service quota`: applies at once, on PostgreSQL within five seconds.
 * Tested by `test/cli/commands/service/serve.test.ts`.
 */
import { meteredTypes } from '../../../contract/operation.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { serviceQuota as spec } from '../../specs/operate/service.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, io }) => {
  const wanted = Object.fromEntries(flags.set.map(readQuota));
  const { operate, setQuotas } = await import('../../../host/service/operator.ts');
  const options = { dataDir: flags.data, env: io.env, logLevel: 'warn' };
  const { changed, project } = await operate(options, (services) =>
    setQuotas(services, args.project, wanted),
  );
  if (!out.isHuman) return out.one({ changed, ...project }, plainView(['changed', ...Object.keys(project)]));
  const quotas = Object.entries(project.quotas).map(([type, units]) => `${type} ${units ?? 'unlimited'}`);
  const set = quotas.length === 0 ? 'those of its environment' : quotas.join(', ');
  const done = changed ? 'set' : 'unchanged';
  return out.line(
    safe`${out.styles.green('✓')} quotas of ${project.name} (${project.projectId}) ${done}: ${set}`,
  );
};

/** `audit_event=1000`, `audit_event=none`, `audit_event=default`. */
function readQuota(text: string): readonly [type: string, units: number | null | undefined] {
  const [type = '', units = ''] = text.split('=');
  if (!meteredTypes.some((known) => known === type)) {
    throw usage(`--set ${text}: expected a type of ${meteredTypes.join(', ')}, then = and its units`);
  }
  if (units === 'none') return [type, null];
  if (units === 'default') return [type, undefined];
  if (/^[0-9]{1,15}$/.test(units)) return [type, Number(units)];
  throw usage(`--set ${text}: expected a whole number, none or default after =`);
}
