/**
 * Who may use reports (contract C4): everybody on a plane, and on a service whom its operator names. Proven by
 * `test/service/reports/entitlement.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { Project } from '../../store/port/store.ts';
import type { Services } from '../port/services.ts';

/** ENTITLEMENT_REQUIRED. */
export async function requireReporting(
  { hosting, store }: Pick<Services, 'hosting' | 'store'>,
  { organizationId }: Pick<Project, 'organizationId'>,
): Promise<void> {
  const reporting = hosting?.reporting;
  if (reporting === undefined || reporting.isFor === 'everyone') return;
  // an organization pays once the payment provider knows it
  const organization = await store.organization(organizationId);
  if (organization !== null && organization.customerId !== null) return;
  const { upgradeUrl } = reporting;
  const how = upgradeUrl === null ? 'ask the operator of the service' : `see ${upgradeUrl}`;
  throw new GovError('ENTITLEMENT_REQUIRED', `expected a plan with reports, got one without; ${how}`, {
    extensions: { entitlement: 'reporting', ...(upgradeUrl === null ? {} : { upgradeUrl }) },
  });
}
