/** `gov log prune` for a plane that does not serve. Proven by `test/host/data/prune.test.ts`. */
import { pruneLog, type PruneResult, type PruneOptions } from '../../src/host/data/prune.ts';
import { withHeldConfig } from '../config/direct.ts';

/** Works as `pruneLog`. CONFLICT while a process serves the plane. */
export const planePrune = (
  place: { readonly dataDir: string; readonly env: Readonly<Record<string, string | undefined>> },
  options: Omit<PruneOptions, 'projectId'>,
): Promise<PruneResult> =>
  withHeldConfig(place, ({ config, services }) =>
    pruneLog(services, { ...options, projectId: config.projectId }),
  );
