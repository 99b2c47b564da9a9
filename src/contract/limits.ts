/**
 * Every limit of the interface, once, with its unit in the name (contract A7, D2, D6, E1-E10, F1-F16, H1-H5).
 * `test/contract/limits.test.ts` tests the limits of requests at n and at n + 1.
 */
import { requests } from './limits/requests.ts';
import { events } from './limits/events.ts';
import { lists } from './limits/lists.ts';
import { proofs } from './limits/proofs.ts';
import { exporting } from './limits/exporting.ts';
import { reports } from './limits/reports.ts';
import { conditions } from './limits/conditions.ts';
import { decisions } from './limits/decisions.ts';
import { accounts } from './limits/accounts.ts';
import { log } from './limits/log.ts';
import { serving } from './limits/serving.ts';
import { planes } from './limits/planes.ts';
import { planeConfig } from './limits/plane-config.ts';
import { sending } from './limits/sending.ts';
import { witnesses } from './limits/witnesses.ts';
import { forwarding } from './limits/forwarding.ts';
import { client } from './limits/client.ts';
import { push } from './limits/push.ts';
import { mcp } from './limits/mcp.ts';
import { hooks } from './limits/hooks.ts';
import { outbound } from './limits/outbound.ts';
import { schedules } from './limits/schedules.ts';
import { reportTables } from './limits/report-tables.ts';

export const limits = {
  ...requests,
  ...events,
  ...lists,
  ...proofs,
  ...exporting,
  ...reports,
  ...conditions,
  ...decisions,
  ...accounts,
  ...log,
  ...serving,
  ...planes,
  ...planeConfig,
  ...sending,
  ...witnesses,
  ...forwarding,
  ...client,
  ...push,
  ...mcp,
  ...hooks,
  ...outbound,
  ...schedules,
  ...reportTables,
} as const;

/** The same by subject, each with its heading in the reference. */
export const limitGroups = [
  ['Requests', requests],
  ['Events', events],
  ['Lists and idempotency', lists],
  ['Proofs and graphs', proofs],
  ['Exports and jobs', exporting],
  ['Reports', reports],
  ['Conditions of policies', conditions],
  ['Policies, risk, tools, approvals, replay', decisions],
  ['Accounts, keys, projects, billing', accounts],
  ['Log, erasure, proof bundles', log],
  ['Serving and streams', serving],
  ['Data planes and their reports', planes],
  ['Configuration of data planes', planeConfig],
  ['Sending reports', sending],
  ['Witnesses', witnesses],
  ['Forwarding to a SIEM', forwarding],
  ['Client', client],
  ['Import and push', push],
  ['MCP proxy', mcp],
  ['Hooks of agents', hooks],
  ['Webhooks and what leaves the process', outbound],
  ['Schedules and deliveries', schedules],
  ['Tables of reports', reportTables],
] as const;
