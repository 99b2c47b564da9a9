/**
 * `gov billing summary`: one row for each project, including deleted projects with usage.
 * Tested by `test/cli/commands/usage/show.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import { meteredTypes } from '../../../contract/operation.ts';
import { printReport } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { billingSummary as spec } from '../../specs/account/billing.ts';

const columns = [
  { name: 'projectId', kind: 'id' },
  { name: 'name', kind: 'text' },
  { name: 'environment', kind: 'text' },
  ...meteredTypes.map((name) => ({ name, kind: 'count' as const })),
  { name: 'deletedAt', kind: 'time' },
] as const;

/** For programs, which do not get the line above the table. */
const more = [
  { name: 'organizationId', kind: 'id' },
  { name: 'period', kind: 'text' },
  { name: 'hasCustomer', kind: 'flag' },
] as const;

export const run: Run<typeof spec> = async ({ out, session }) => {
  const client = await session.client();
  const { body } = await client.getBillingSummary();
  const { organizationId, period, hasCustomer, complete, projects } = body;
  const payment = hasCustomer ? 'known to the payment provider' : 'not known to the payment provider';
  if (!complete) await out.note(safe`too many projects were deleted to list all: the oldest are missing`);
  await printReport(out, {
    whole: body,
    columns: out.isHuman ? columns : [...columns, ...more],
    rows: projects.map(({ used, ...project }) => ({
      ...project,
      ...used,
      organizationId,
      period,
      hasCustomer,
    })),
    head: [safe`${out.styles.bold(organizationId)} in ${period}, ${payment}`],
  });
};
