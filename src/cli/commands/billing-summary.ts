/** `gov billing summary`: one row for each project. */
import type { Run } from '../command.ts';
import { meteredTypes } from '../../contract/operation.ts';
import { printReport } from '../report.ts';
import { safe } from '../safe.ts';
import type { billingSummary as spec } from '../specs/usage.ts';

const columns = [
  { name: 'projectId', kind: 'id' },
  { name: 'name', kind: 'text' },
  { name: 'environment', kind: 'text' },
  ...meteredTypes.map((name) => ({ name, kind: 'count' as const })),
] as const;

export const run: Run<typeof spec> = async ({ out, session }) => {
  const client = await session.client();
  const { body } = await client.getBillingSummary();
  const { organizationId, period, hasCustomer, projects } = body;
  const payment = hasCustomer ? 'known to the payment provider' : 'not known to the payment provider';
  await printReport(out, {
    whole: body,
    columns,
    rows: projects.map(({ used, ...project }) => ({ ...project, ...used })),
    head: [safe`${out.styles.bold(organizationId)} in ${period}, ${payment}`],
  });
};
