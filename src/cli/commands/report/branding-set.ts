/** `gov report branding set`: changes the members of its flags. Tested by `test/cli/commands/report/run.test.ts`. */
import type { Client } from '../../../client/create.ts';
import { GovApiError } from '../../../client/errors.ts';
import type { ReportingBranding } from '../../../contract/reports.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import type { reportBrandingSet as spec } from '../../specs/prove/report.ts';

export const run: Run<typeof spec> = async ({ flags, out, session }) => {
  const { company, primary, accent, footer, paper } = flags;
  if ([company, primary, accent, footer, paper].every((each) => each === undefined))
    throw usage('expected one of --company, --primary, --accent, --footer and --paper, got none');
  const client = await session.client();
  const before = await current(client);
  const emptyAsNull = (text: string): string | null => (text === '' ? null : text);
  const { body } = await client.putBranding({
    body: {
      ...before,
      ...(company === undefined ? {} : { companyName: emptyAsNull(company) }),
      ...(primary === undefined ? {} : { primaryColor: primary }),
      ...(accent === undefined ? {} : { accentColor: accent }),
      ...(paper === undefined ? {} : { paper: paper === 'letter' ? 'Letter' : 'A4' }),
      ...(footer === undefined ? {} : { footerText: emptyAsNull(footer) }),
    },
  });
  await out.one(body, viewOf('putBranding'));
};

/** The members that a caller may set, as they are; none before the first change. */
async function current(client: Client): Promise<Partial<Omit<ReportingBranding, 'logoUrl' | 'updatedAt'>>> {
  try {
    const { logoUrl: _url, updatedAt: _at, ...members } = (await client.getBranding()).body;
    return members;
  } catch (error) {
    if (error instanceof GovApiError && error.status === 404) return {};
    throw error;
  }
}
