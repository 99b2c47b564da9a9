/**
 * Risk routing (contract F7-F9, O3): scores a moment of a run, routes it, and records leaf `gov.decision/1`
 * with all inputs. The recorded configuration is the one in force at its place in the log: where it changed
 * in the meantime, the service decides again. A change of the configuration is leaf `gov.config/1`, audit
 * event and row in one append. Proven by `test/service/policies/risk.engines.test.ts`.
 */
import { refuseSystemRun } from '../writes/system-run.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { RiskConfigInput, RiskRouterConfig } from '../../contract/risk.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { draftConfigChange } from '../../core/decided/risk-config.ts';
import {
  draftRiskDecision,
  openRiskDecision,
  riskDecisionBody,
  type RiskRecord,
} from '../../core/decided/risk-decision.ts';
import { systemRun } from '../../core/events/record.ts';
import { typeId } from '../../core/id.ts';
import { canonicalize, type Json, type JsonObject } from '../../core/json/parse.ts';
import { checkRiskConfig, riskRouter, type RiskRouter, type RiskSettings } from '../../core/risk/config.ts';
import { canonicalInputs, type CanonicalInputs } from '../../core/risk/inputs.ts';
import { bands, evaluateRisk } from '../../core/risk/router.ts';
import { formatTimestamp } from '../../core/time.ts';
import { append, type PlainRequest } from '../writes/append.ts';
import type { Caller } from '../call/caller.ts';
import { requireTag } from '../call/entity-tag.ts';
import { idempotencyWrite } from '../call/idempotency.ts';
import type { Handlers } from '../port/handler.ts';
import { untilStored } from '../call/overtaken.ts';
import { pageLimit, sizedPage } from '../call/pages.ts';
import { meterOf } from '../billing/quota.ts';
import { routerOf } from './risk-router.ts';
import type { Services } from '../port/services.ts';
import { riskConfigured } from '../writes/system.ts';

export const risk: Pick<Handlers, 'evaluateRisk' | 'getRiskConfig' | 'putRiskConfig' | 'listRiskDecisions'> =
  {
    async evaluateRisk({ body, caller, idempotency }, services) {
      const { runId, ...given } = body;
      const { projectId } = caller.project;
      refuseSystemRun(runId, 'body');
      services.planeConfig?.refuseExpired();
      const inputs = canonicalInputs(given);
      return services.runs.untilJudged(projectId, 'the configuration', async () => {
        const router = await routerOf(services.store, projectId);
        const decision = decideBy(router, { runId, inputs, services });
        const answer = { status: 200, body: riskDecisionBody(decision) } as const;
        const leaves = [draftRiskDecision(decision, services.salt)];
        const stored = await append(
          services,
          { projectId, leaves, ...idempotencyWrite(idempotency, answer) },
          {
            meter: meterOf(services, { caller, op: 'risk_decision', units: 1 }),
            expect: { configIndex: router.configIndex },
          },
        );
        if ('replayed' in stored) return stored;
        return stored.outcome === 'stored' ? answer : null;
      });
    },

    async getRiskConfig({ caller }, { store }) {
      return { status: 200, body: configBody(await routerOf(store, caller.project.projectId)) };
    },

    async putRiskConfig({ body, caller, ifMatch }, services) {
      services.planeConfig?.refuseRiskConfig();
      const { bands: sentBands, ...settings } = body;
      checkRiskConfig(settings as RiskSettings);
      const router = riskRouter(settings as RiskSettings);
      const answered = configBody(router);
      refuseOtherBands(sentBands, answered.bands);
      const { projectId } = caller.project;
      // each change is an event of the system run
      return services.runs.inTurn({ projectId, runId: systemRun }, () =>
        untilStored('the configuration', async () => {
          await services.runs.overtaken(projectId);
          const before = ifMatch === null ? null : await routerOf(services.store, projectId);
          if (before !== null) requireTag(ifMatch, configBody(before), 'the configuration');
          const expect = before === null ? {} : { configIndex: before.configIndex };
          const request = configChange(router, { projectId, caller, services });
          const stored = await append(services, request, { expect });
          return 'replayed' in stored || stored.outcome === 'stored'
            ? ({ status: 200, body: answered } as const)
            : null;
        }),
      );
    },

    async listRiskDecisions({ query, caller }, services) {
      const { projectId } = caller.project;
      const filter = query.runId === undefined ? {} : { runId: query.runId };
      const { items, nextCursor } = await sizedPage(services, {
        scope: { list: 'riskDecisions', projectId, filters: filter },
        cursor: query.cursor,
        limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
        read: (page: { after?: number; limit: number }) =>
          services.store.leavesOf(
            projectId,
            { type: 'gov.decision/1', ...filter },
            { ...page, order: 'desc' },
          ),
        position: ({ index }) => index,
        item: (leaf) => ({
          item: riskDecisionBody(openRiskDecision(openLeaf(leaf))),
          bytes: leaf.record.length + (leaf.disclosures?.length ?? 0),
        }),
      });
      return { status: 200, body: { data: items, nextCursor } };
    },
  };

/** The leaves and the row of a new configuration. */
function configChange(
  router: RiskRouter,
  {
    projectId,
    caller,
    services,
  }: { readonly projectId: string; readonly caller: Caller; readonly services: Services },
): PlainRequest {
  const atMs = services.now();
  const changed = {
    configHash: router.configHash,
    at: formatTimestamp(atMs),
    // JSON by its type
    config: router.config as unknown as JsonObject,
    actor: caller.id,
  };
  return {
    projectId,
    leaves: [
      draftConfigChange(changed, services.salt),
      riskConfigured(router, { nowMs: atMs, salt: services.salt, by: caller }),
    ],
    effects: [{ kind: 'saveRiskConfig', config: router.text, atMs }],
  };
}

function decideBy(
  router: RiskRouter,
  of: { readonly runId: string; readonly inputs: CanonicalInputs; readonly services: Services },
): RiskRecord {
  const { runId, inputs, services } = of;
  const atMs = services.now();
  return {
    id: typeId('rsk', atMs, services.randomBytes(10)),
    runId,
    ...evaluateRisk(inputs, router),
    evaluatedAt: formatTimestamp(atMs),
    // both are JSON by their types
    inputs: { ...inputs, config: router.config as unknown as JsonObject },
  };
}

function configBody({ config }: RiskRouter): RiskRouterConfig {
  const { mode, thresholds, defaultAction, signals } = config;
  return {
    mode,
    thresholds: { ...thresholds },
    defaultAction,
    signals: { ...signals },
    bands: bands(config),
  };
}

/** A client may send back the bands of a GET. Other bands would contradict the thresholds. */
function refuseOtherBands(sent: RiskConfigInput['bands'], bandsNow: RiskRouterConfig['bands']): void {
  if (sent === undefined || canonicalize(sent as Json) === canonicalize(bandsNow)) return;
  const detail = `expected no bands, or those of the thresholds: ${canonicalize(bandsNow)}`;
  throw new GovError('READ_ONLY_FIELD', `body /bands: ${detail}`, {
    errors: [{ pointer: '/bands', in: 'body', code: 'READ_ONLY_FIELD', detail }],
  });
}
