/**
 * The handler of every operation. A row of the table without a handler does not compile. Proven by
 * `test/service/combine.test.ts`.
 */
import { answers } from './completeness/handlers.ts';
import { apiKeys } from './access/api-keys.ts';
import { approvals } from './approvals/handlers.ts';
import { approvers } from './approvers/handlers.ts';
import { statements } from './approvals/decision.ts';
import { auth } from './access/auth.ts';
import { signIns } from './console/sign-in.ts';
import { consoleSessions } from './console/handlers.ts';
import { billing } from './billing/portal.ts';
import { planeConfigs } from './planes/config.ts';
import { combine } from './combine.ts';
import { coverage } from './coverage/handlers.ts';
import type { Handlers } from './port/handler.ts';
import { evaluations } from './policies/evaluate.ts';
import { evaluationList } from './policies/evaluation-list.ts';
import { erasures } from './erasure/handlers.ts';
import { events } from './events/handlers.ts';
import { exports } from './exports/handlers.ts';
import { forwards } from './forwards/handlers.ts';
import { graphs } from './graphs/handlers.ts';
import { health } from './operations/health.ts';
import { jobs } from './jobs/handlers.ts';
import { log } from './operations/log.ts';
import { metering } from './billing/metering.ts';
import { operations } from './operations/handlers.ts';
import { policies } from './policies/handlers.ts';
import { projects } from './access/projects.ts';
import { proofs } from './proofs/handlers.ts';
import { branding } from './reports/branding/handlers.ts';
import { cron } from './reports/cron.ts';
import { reports } from './reports/handlers.ts';
import { reportSchedules } from './reports/schedules/handlers.ts';
import { reportTemplates } from './reports/custom/handlers.ts';
import { reportDeliveries } from './reports/deliveries/handlers.ts';
import { shares } from './reports/shares.ts';
import { replays } from './replay/handlers.ts';
import { risk } from './policies/risk.ts';
import { simulations } from './policies/simulate.ts';
import { sources } from './events/sources.ts';
import { snapshots } from './policies/snapshots.ts';
import { telemetry } from './planes/handlers.ts';
import { search } from './search/handlers.ts';
import { tools } from './policies/tools.ts';
import { endpoints } from './webhooks/handlers.ts';
import { history } from './webhooks/history.ts';

export const handlers: Handlers = combine({
  events,
  sources,
  coverage,
  proofs,
  risk,
  replays,
  graphs,
  evaluations,
  evaluationList,
  policies,
  planeConfigs,
  simulations,
  snapshots,
  tools,
  approvals,
  approvers,
  statements,
  erasures,
  jobs,
  exports,
  search,
  reports,
  reportSchedules,
  reportTemplates,
  reportDeliveries,
  cron,
  shares,
  branding,
  projects,
  apiKeys,
  metering,
  telemetry,
  webhookEndpoints: endpoints,
  webhookHistory: history,
  billing,
  operations,
  health,
  log,
  forwards,
  answers,
  auth,
  signIns,
  consoleSessions,
});
