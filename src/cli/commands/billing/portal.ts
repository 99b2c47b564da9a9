/** `gov billing portal [--open]`. */
import type { Run } from '../../program/command.ts';
import { usage } from '../../program/exit.ts';
import { Safe } from '../../terminal/safe.ts';
import type { billingPortal as spec } from '../usage/spec.ts';
import { viewOf } from '../../terminal/answer-view.ts';

export const run: Run<typeof spec> = async ({ flags, io, out, session }) => {
  const service = new URL('/', session.baseUrl().value);
  if (flags.returnUrl === undefined && service.protocol !== 'https:')
    throw usage(`expected --return-url https://…: the service itself is at ${service.href}`);
  const returnUrl = flags.returnUrl ?? service.href;
  const client = await session.client();
  const { body } = await client.openBillingPortal({ body: { returnUrl } });
  // alone on its line, for whoever copies it
  await (out.isHuman || out.format === 'tsv'
    ? out.line(Safe.cell(body.url))
    : out.one(body, viewOf('openBillingPortal')));
  if (!flags.open) return;
  const { openPage } = await import('../../terminal/browser.ts');
  await openPage(body.url, io.env);
};
