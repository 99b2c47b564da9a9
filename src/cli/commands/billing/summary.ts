/** `gov billing summary`: one row for each project, also where it was deleted and had been used. */
import type { Run } from '../../program/command.ts';
import { meteredTypes } from '../../../contract/operation.ts';
import { printReport } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { billingSummary as spec } from '../usage/spec.ts';

const columns = [
  { name: 'projectId', kind: 'id' },
  { name: 'name', kind: 'text' },
  { name: 'environment', kind: 'text' },
  ...meteredTypes.map((name) => ({ name, kind: 'count' as const })),
  { name: 'deletedAt', kind: 'time' },
] as const;

export const run: Run<typeof spec> = async ({ out, session }) => {
  const client = await session.client();
  const { body } = await client.getBillingSummary();
  const { organizationId, period, hasCustomer, complete, projects } = body;
  const payment = hasCustomer ? 'known to the payment provider' : 'not known to the payment provider';
  if (!complete) await out.note(safe`more projects were deleted than can be listed: the oldest are missing`);
  await printReport(out, {
    whole: body,
    columns,
    rows: projects.map(({ used, ...project }) => ({ ...project, ...used })),
    head: [safe`${out.styles.bold(organizationId)} in ${period}, ${payment}`],
  });
};
