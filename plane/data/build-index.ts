/** `gov log index build` for a plane that does not serve. Proven by `test/host/data/build-index.test.ts`. */
import { buildIndex, type BuiltIndex } from '../../src/host/data/build-index.ts';
import { withHeldConfig } from '../config/direct.ts';

/** Works as `buildIndex`. CONFLICT while a process serves the plane. */
export const planeBuildIndex = (place: {
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}): Promise<BuiltIndex> =>
  withHeldConfig(place, ({ config, services }) => buildIndex(services, config.projectId));
