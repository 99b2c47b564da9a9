/**
 * The current risk router of a project; the worker thread reads it too. Proven by
 * `test/service/policies/risk.engines.test.ts`.
 */
import { openLeaf } from '../../core/decided/leaf.ts';
import { openConfigChange } from '../../core/decided/risk-config.ts';
import {
  defaultRiskConfig,
  riskConfigHash,
  riskRouter,
  type RiskConfig,
  type RiskRouter,
} from '../../core/risk/config.ts';
import type { StoredRiskConfig, StoreReader } from '../../store/port/store.ts';
import { contradiction } from '../log/contradiction.ts';

/** A router, and the leaf that put its configuration in force. */
interface RouterInForce extends RiskRouter {
  /** Null for the default before any configuration. */
  readonly configIndex: number | null;
}

/** The newest router of each project, with the stored configuration it was built from. */
const made = new Map<string, { readonly of: StoredRiskConfig; readonly router: RouterInForce }>();

/**
 * The project's router; cheap where the configuration has not changed since the last call. STORAGE_FAULT
 * where the stored configuration contradicts the log: then the service scores nothing.
 */
export async function routerOf(store: StoreReader, projectId: string): Promise<RouterInForce> {
  const stored = await store.riskConfig(projectId);
  const { config, configIndex } = stored;
  const known = made.get(projectId);
  if (known?.of.config === config && known.of.configIndex === configIndex) return known.router;
  await requireLogged(store, projectId, stored);
  // `putRiskConfig` logged it after checking it
  const settings = config === null ? defaultRiskConfig : (JSON.parse(config) as RiskConfig);
  const router = { ...riskRouter(settings), configIndex };
  made.set(projectId, { of: stored, router });
  return router;
}

async function requireLogged(
  store: StoreReader,
  projectId: string,
  { config, configIndex }: StoredRiskConfig,
): Promise<void> {
  const leaf = configIndex === null ? null : await store.leaf(projectId, configIndex);
  const stored = config === null ? null : riskConfigHash(config);
  const logged = leaf === null ? null : openConfigChange(openLeaf(leaf)).configHash;
  if (stored !== logged) throw contradiction('the configuration of the risk router', leaf);
}
