/** `gov billing portal [--open]`. Tested by `test/cli/commands/usage/show.test.ts`. */
import { refusePlane } from '../../context/target.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { Safe, safe } from '../../terminal/safe.ts';
import type { billingPortal as spec } from '../../specs/account/billing.ts';
import { viewOf } from '../../terminal/answer-view.ts';

export const run: Run<typeof spec> = async ({ flags, io, out, session }) => {
  refusePlane('billing portal', { session, io });
  const service = new URL('/', session.baseUrl().value);
  if (flags.returnUrl === undefined && service.protocol !== 'https:')
    throw usage(`expected --return-url https://…, because the service itself is at ${service.href}`);
  const returnUrl = flags.returnUrl ?? service.href;
  const client = await session.client();
  const { body } = await client.openBillingPortal({ body: { returnUrl } });
  // alone on its line, for copying
  await (out.isHuman || out.format === 'tsv'
    ? out.line(Safe.cell(body.url))
    : out.one(body, viewOf('openBillingPortal')));
  if (!flags.open) return;
  const { openPage } = await import('../../terminal/browser.ts');
  const why = await openPage(body.url, io.env);
  if (why !== null) await out.warn(safe`no browser opened: ${why}; open the address above`);
};
