/** `gov report branding get`. Tested by `test/cli/commands/report/run.test.ts`. */
import type { Run } from '../../context/command.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import type { reportBrandingGet as spec } from '../../specs/prove/report.ts';

export const run: Run<typeof spec> = async ({ out, session }) => {
  const client = await session.client();
  await out.one((await client.getBranding()).body, viewOf('getBranding'));
};
