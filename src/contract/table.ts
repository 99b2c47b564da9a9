/** The contract table: every operation, once. A row without a handler does not compile (`src/service/handlers.ts`). */
import { approvals } from './approvals.ts';
import { approvers } from './approvers.ts';
import { auth } from './auth.ts';
import { consoleSessions } from './console.ts';
import { billing } from './billing.ts';
import { coverage } from './coverage.ts';
import { cron } from './cron.ts';
import { planeConfig } from './plane-config.ts';
import { erasures } from './erasure.ts';
import { events } from './events.ts';
import { exports } from './exports.ts';
import { forwards } from './forwards.ts';
import { governance } from './governance.ts';
import { graphs } from './graphs.ts';
import { health } from './health.ts';
import { jobs } from './jobs.ts';
import { keys } from './keys.ts';
import { log } from './log.ts';
import { metering } from './metering.ts';
import type { Operation } from './operation.ts';
import { operations } from './operations.ts';
import { policies } from './policies.ts';
import { projects } from './projects.ts';
import { proofs } from './proofs.ts';
import { replay } from './replay.ts';
import { reportDeliveries } from './report-deliveries.ts';
import { reportSchedules } from './report-schedules.ts';
import { reportTemplates } from './report-templates.ts';
import { reports } from './reports.ts';
import { risk } from './risk.ts';
import { sources } from './sources.ts';
import { telemetry } from './telemetry.ts';
import { tools } from './tools.ts';
import { webhooks } from './webhooks.ts';

const rows = {
  ...events,
  ...sources,
  ...coverage,
  ...proofs,
  ...risk,
  ...replay,
  ...graphs,
  ...governance,
  ...policies,
  ...planeConfig,
  ...tools,
  ...approvals,
  ...approvers,
  ...erasures,
  ...jobs,
  ...exports,
  ...reports,
  ...reportTemplates,
  ...reportSchedules,
  ...reportDeliveries,
  ...cron,
  ...auth,
  ...consoleSessions,
  ...projects,
  ...keys,
  ...metering,
  ...billing,
  ...telemetry,
  ...operations,
  ...webhooks,
  ...health,
  ...log,
  ...forwards,
} as const satisfies Record<string, Operation>;

/** Names the rows of each file, so that their types are declared once in the published declarations. */
export type Table = typeof events &
  typeof sources &
  typeof coverage &
  typeof proofs &
  typeof risk &
  typeof replay &
  typeof graphs &
  typeof governance &
  typeof policies &
  typeof planeConfig &
  typeof tools &
  typeof approvals &
  typeof approvers &
  typeof erasures &
  typeof jobs &
  typeof exports &
  typeof reports &
  typeof reportTemplates &
  typeof reportSchedules &
  typeof reportDeliveries &
  typeof cron &
  typeof auth &
  typeof consoleSessions &
  typeof projects &
  typeof keys &
  typeof metering &
  typeof billing &
  typeof telemetry &
  typeof operations &
  typeof webhooks &
  typeof health &
  typeof log &
  typeof forwards;

export const table: Table = rows;

export type OperationId = keyof Table;
