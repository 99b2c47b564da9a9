/**
 * What every engine of the store port must do, told through the port alone. A test file calls this once, at
 * its top, for one engine.
 */
import { setEngine, type Open } from './engine.ts';

export async function storeSuite(open: Open): Promise<void> {
  await bodySuite(open);
  await import('./suite/lists.ts');
  await import('./suite/jobs.ts');
  await import('./suite/policies.ts');
  await import('./suite/checkpoints.ts');
  await import('./suite/quota.ts');
  await import('./suite/tenants.ts');
  await import('./suite/projects.ts');
  await import('./suite/homes.ts');
  await import('./suite/keys.ts');
  await import('./suite/callers.ts');
  await import('./suite/operator.ts');
  await import('./suite/texts.ts');
  await import('./suite/telemetry.ts');
  await import('./suite/reports.ts');
  await import('./suite/planeusage.ts');
  await import('./suite/meter.ts');
  await import('./suite/exportbounds.ts');
}

/** As far as it writes or reads bodies: for an engine that keeps them in another form. */
export async function bodySuite(open: Open): Promise<void> {
  setEngine(open);
  await import('./suite/append.ts');
  await import('./suite/repeats.ts');
  await import('./suite/reads.ts');
  await import('./suite/work.ts');
  await import('./suite/decided.ts');
  await import('./suite/approvals.ts');
  await import('./suite/erasures.ts');
  await import('./suite/prunes.ts');
  await import('./suite/exports.ts');
}
