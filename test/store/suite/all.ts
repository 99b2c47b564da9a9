/**
 * What every engine of the store port must do, told through the port alone. A test file calls this once, at
 * its top, for one engine.
 */
import { setEngine, type Open } from '../support/engine.ts';

export async function storeSuite(open: Open): Promise<void> {
  await bodySuite(open);
  await import('./log/lists.ts');
  await import('./log/counts.ts');
  await import('./governance/jobs.ts');
  await import('./governance/cancelled.ts');
  await import('./governance/policies.ts');
  await import('./log/checkpoints.ts');
  await import('./log/intake.ts');
  await import('./log/index-map.ts');
  await import('./documents.ts');
  await import('./log/event-terms.ts');
  await import('./tenancy/quota.ts');
  await import('./tenancy/tenants.ts');
  await import('./tenancy/projects.ts');
  await import('./tenancy/homes.ts');
  await import('./tenancy/keys.ts');
  await import('./tenancy/callers.ts');
  await import('./tenancy/operator.ts');
  await import('./log/texts.ts');
  await import('./tenancy/planes.ts');
  await import('./tenancy/reports.ts');
  await import('./tenancy/plane-usage.ts');
  await import('./log/meter.ts');
  await import('./governance/export-bounds.ts');
}

/** As far as it writes or reads bodies: for an engine that keeps them in another form. */
export async function bodySuite(open: Open): Promise<void> {
  setEngine(open);
  await import('./log/append.ts');
  await import('./log/repeats.ts');
  await import('./log/paths.ts');
  await import('./log/reads.ts');
  await import('./log/leaf-figures.ts');
  await import('./log/work.ts');
  await import('./log/decided.ts');
  await import('./governance/approvals.ts');
  await import('./governance/erasures.ts');
  await import('./log/prunes.ts');
  await import('./governance/exports.ts');
}
