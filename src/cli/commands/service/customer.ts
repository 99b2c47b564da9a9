/**
 * `gov service customer`: sets the payment provider's customer. Without one the billing portal returns 404.
 * Tested by `test/cli/commands/service/serve.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { serviceCustomer as spec } from '../../specs/operate/service.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, io }) => {
  if ((flags.set === undefined) === !flags.clear) throw usage('expected one of --set cus_… and --clear');
  const { operate, setCustomer } = await import('../../../host/service/operator.ts');
  const options = { dataDir: flags.data, env: io.env, logLevel: 'warn' };
  const done = await operate(options, (services) =>
    setCustomer(services, args.organization, flags.set ?? null),
  );
  if (!out.isHuman) return out.one(done, plainView(Object.keys(done)));
  const who = done.customerId === null ? 'no customer' : `customer ${done.customerId}`;
  return out.line(
    safe`${out.styles.green('✓')} ${done.name} (${done.organizationId}) is ${who}${done.changed ? '' : ', unchanged'}`,
  );
};
