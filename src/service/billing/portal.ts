/**
 * Handlers of billing (contract I6, I10, I11): the payment provider's portal, the use of an organization's
 * projects, and how long a project keeps its bodies. Proven by `test/service/billing/portal.test.ts`.
 */
import type { BillingSummary } from '../../contract/billing.ts';
import { GovError } from '../../contract/problems.ts';
import { addTotals } from '../../core/planes/metering.ts';
import { formatTimestamp } from '../../core/time.ts';
import { append } from '../writes/append.ts';
import { requireTag } from '../call/entity-tag.ts';
import { sealedWrite } from '../call/idempotency.ts';
import type { Call, Handlers } from '../port/handler.ts';
import type { Table } from '../../contract/table.ts';
import { actsIn } from '../access/bounds.ts';
import { monthOf } from '../call/month.ts';
import { portalOpened, retentionChanged } from '../access/project-events.ts';
import { hostingOf } from '../access/projects.ts';
import { checkedReturnUrl } from './return-url.ts';
import type { Services } from '../port/services.ts';
import { settingsChange, settingsOf, type StoredSettings } from '../call/settings.ts';
import { changeProject, livingProject, organizationOf } from '../access/tenant-change.ts';

export const billing: Pick<
  Handlers,
  'openBillingPortal' | 'getBillingSummary' | 'getRetention' | 'putRetention'
> = {
  async openBillingPortal(call, services) {
    const { body, caller, basePath } = call;
    const { portal, returnHosts } = hostingOf(services);
    const returnUrl = checkedReturnUrl(body.returnUrl, {
      hosts: returnHosts,
      sandbox: basePath.startsWith('/sandbox/'),
    });
    const { customerId } = await organizationOf(services, caller.project);
    if (customerId === null || portal === null) throw noCustomer();
    const url = await portal.open(customerId, returnUrl);
    return recordPortalOpened(call, services, { status: 200, body: { url } } as const);
  },

  async getBillingSummary({ caller }, services) {
    const { store, now } = services;
    const { organizationId, customerId } = await organizationOf(services, caller.project);
    const period = monthOf(now());
    const { projects, complete } = await store.usageOf(organizationId, period);
    const own = projects.filter(({ environment }) => actsIn(caller, environment));
    const body: BillingSummary = {
      organizationId,
      period,
      hasCustomer: customerId !== null,
      complete,
      projects: own.map(({ deletedMs, used, planes, ...named }) => ({
        ...named,
        deletedAt: deletedMs === null ? null : formatTimestamp(deletedMs),
        used: { ...addTotals(used, planes) },
        hybrid: { ...planes },
      })),
    };
    return { status: 200, body };
  },

  async getRetention({ caller }, services) {
    return { status: 200, body: retentionOf(settingsOf(await livingProject(services, caller))) };
  },

  async putRetention({ body, caller, ifMatch }, services) {
    const { retentionDays, legalHold } = body;
    const changed = await changeProject(services, { caller, scope: 'projects:write' }, (stored, nowMs) => {
      requireTag(ifMatch, retentionOf(settingsOf(stored)), 'the retention');
      const { changes, text } = settingsChange(stored, { retentionDays, legalHold }, '');
      if (Object.keys(changes).length === 0) return null;
      return {
        effect: { settings: text },
        event: () => retentionChanged(stored, { nowMs, salt: services.salt, by: caller }, { changes, text }),
      };
    });
    return { status: 200, body: retentionOf(settingsOf(changed)) };
  },
};

const retentionOf = ({ retentionDays, legalHold }: StoredSettings) => ({ retentionDays, legalHold });

const noCustomer = (): GovError =>
  new GovError(
    'NOT_FOUND',
    'the organization has no customer at the payment provider yet; the operator of the service enters it',
  );

/**
 * Records that the portal was opened, and stores the answer sealed, because its URL lets any holder in. The
 * event goes to the project of the call and to the home, as for changes of a project.
 */
async function recordPortalOpened<
  Answer extends { readonly status: 200; readonly body: { readonly url: string } },
>({ caller, idempotency }: Call<Table['openBillingPortal']>, services: Services, answer: Answer) {
  const { organizationId, projectId } = caller.project;
  const nowMs = services.now();
  const event = () => portalOpened(organizationId, { nowMs, salt: services.salt, by: caller });
  const request = {
    projectId,
    leaves: [event()],
    toHome: [event()],
    ...sealedWrite(idempotency, answer, services),
  };
  const stored = await append(services, request, { by: { caller, scopes: ['billing:write'] } });
  return 'replayed' in stored ? stored : answer;
}
