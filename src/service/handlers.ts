/** Every handler by operation. A row of the table without one does not compile. */
import { apiKeys } from './apikeys.ts';
import { approvals } from './approvals.ts';
import { auth } from './auth.ts';
import { billing } from './billing.ts';
import { bundles } from './bundle.ts';
import type { Handlers } from './call.ts';
import { evaluations } from './evaluatepolicy.ts';
import { erasures } from './erasures.ts';
import { events } from './events.ts';
import { exports } from './exports.ts';
import { graphs } from './graphs.ts';
import { health } from './health.ts';
import { jobs } from './jobs.ts';
import { log } from './logread.ts';
import { metering } from './metering.ts';
import { policies } from './policies.ts';
import { projects } from './projects.ts';
import { proofs } from './proofs.ts';
import { replays } from './replays.ts';
import { risk } from './risk.ts';
import { simulations } from './simulate.ts';
import { snapshots } from './snapshots.ts';
import { telemetry } from './telemetry.ts';
import { tools } from './tools.ts';

export const handlers: Handlers = {
  ...events,
  ...proofs,
  ...risk,
  ...replays,
  ...graphs,
  ...evaluations,
  ...policies,
  ...bundles,
  ...simulations,
  ...snapshots,
  ...tools,
  ...approvals,
  ...erasures,
  ...jobs,
  ...exports,
  ...projects,
  ...apiKeys,
  ...metering,
  ...telemetry,
  ...billing,
  ...health,
  ...log,
  ...auth,
};
