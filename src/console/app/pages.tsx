/**
 * The pages of the console: each is one line here, and gets the parameters of its path. Tested by
 * `test/console/accessible.long.test.ts`, which opens every page.
 */
import { Approvers } from '../approvals/approvers.tsx';
import { Approvals } from '../approvals/list.tsx';
import { ApprovalPage } from '../approvals/page.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Events } from '../events/list.tsx';
import { EventPage } from '../events/page.tsx';
import { Exports } from '../exports/page.tsx';
import { Home } from '../home/page.tsx';
import { Keys } from '../keys/page.tsx';
import { Planes } from '../planes/page.tsx';
import { Policies } from '../policies/list.tsx';
import { PolicyPage } from '../policies/page.tsx';
import { Projects } from '../projects/page.tsx';
import { Deliveries } from '../reports/deliveries.tsx';
import { Reports } from '../reports/list.tsx';
import { ReportPage } from '../reports/page.tsx';
import { Schedules } from '../reports/schedules.tsx';
import { Runs } from '../runs/list.tsx';
import { RunPage } from '../runs/page.tsx';
import { Verify } from '../verify/page.tsx';
import { Webhooks } from '../webhooks/page.tsx';
import type { ConsolePage, PageProps } from '../browser/page.ts';
import { matchPath, type PageAddress } from '../browser/router.ts';

export const pages: readonly ConsolePage[] = [
  { path: '/', title: 'Home', component: Home, nav: 'Home' },
  { path: '/approvals', title: 'Approvals', component: Approvals, nav: 'Approvals' },
  { path: '/approvals/:approvalId', title: 'Approval', component: ApprovalPage },
  { path: '/approvers', title: 'Approvers', component: Approvers },
  { path: '/runs', title: 'Runs', component: Runs, nav: 'Runs' },
  { path: '/runs/:runId', title: 'Run', component: RunPage },
  { path: '/events', title: 'Events', component: Events, nav: 'Events' },
  { path: '/events/:eventId', title: 'Event', component: EventPage },
  { path: '/policies', title: 'Policies', component: Policies, nav: 'Policies' },
  { path: '/policies/:policyId', title: 'Policy', component: PolicyPage },
  { path: '/reports', title: 'Reports', component: Reports, nav: 'Reports' },
  { path: '/reports/schedules', title: 'Schedules', component: Schedules },
  { path: '/reports/deliveries', title: 'Deliveries', component: Deliveries },
  { path: '/reports/:executionId', title: 'Report', component: ReportPage },
  { path: '/exports', title: 'Exports', component: Exports, nav: 'Exports' },
  { path: '/webhooks', title: 'Webhooks', component: Webhooks, nav: 'Webhooks' },
  { path: '/keys', title: 'API keys', component: Keys, nav: 'API keys' },
  { path: '/planes', title: 'Data planes', component: Planes, nav: 'Data planes', isHosted: true },
  { path: '/projects', title: 'Projects', component: Projects, nav: 'Projects', isHosted: true },
  { path: '/verify', title: 'Verify', component: Verify, nav: 'Verify' },
];

/** The page of an address with its parameters; null for an unknown one. */
export function findPage({
  segments,
}: PageAddress): { readonly page: ConsolePage; readonly params: PageProps['params'] } | null {
  for (const page of pages) {
    const params = matchPath(page.path, segments);
    if (params !== null) return { page, params };
  }
  return null;
}

export const NotFound = () => (
  <>
    <PageHead title="This page does not exist" />
    <p>
      The address may be incomplete. <a href="#/">Go to the start page</a>
    </p>
  </>
);
