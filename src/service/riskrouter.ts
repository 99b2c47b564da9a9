/** The risk router of a project as it is configured now; the worker thread asks for it too. */
import { defaultRiskConfig, riskRouter, type RiskConfig, type RiskRouter } from '../core/risk/config.ts';
import type { StoreReader } from '../store/port.ts';

/** The newest router of each project, by the text that it was made of. */
const made = new Map<string, { readonly text: string | null; readonly router: RiskRouter }>();

/** The project's router; cheap where its configuration is the one of the last call. */
export async function routerOf(store: StoreReader, projectId: string): Promise<RiskRouter> {
  const text = await store.riskConfig(projectId);
  const known = made.get(projectId);
  if (known !== undefined && known.text === text) return known.router;
  // stored by `putRiskConfig`, which checked it
  const router = riskRouter(text === null ? defaultRiskConfig : (JSON.parse(text) as RiskConfig));
  made.set(projectId, { text, router });
  return router;
}
