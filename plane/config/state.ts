/**
 * The configuration history of a plane, recorded in its own log. The append that puts a configuration in force
 * includes the event `config.change.applied`. A refused configuration becomes `config.change.refused`, once for
 * each hash. Proven by `test/plane/config/apply.test.ts`.
 */
import type { PlaneConfigFault, PlaneConfigSource, PolicyMode } from '../../src/contract/plane-config.ts';
import type { ContentCapture } from '../../src/contract/projects.ts';
import type { OpenPlaneConfig } from '../../src/core/planes/config.ts';
import { openEvent, systemRun, type EventDraft } from '../../src/core/events/record.ts';
import { riskRouter, type RiskSettings } from '../../src/core/risk/config.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import { systemEvent } from '../../src/service/writes/system.ts';
import type { StoreReader } from '../../src/store/port/store.ts';
import type { Plan } from './plan.ts';

const appliedType = 'config.change.applied';

/** The fields of the newest `config.change.applied` that later configurations depend on. */
export interface AppliedConfig {
  readonly bundleVersion: number;
  readonly bundleHash: string;
  /** When the service signed it, by the clock of the service. */
  readonly issuedAt: string;
  /** The project of the service. */
  readonly projectId: string;
  readonly mode: PolicyMode;
  readonly from: PlaneConfigSource;
  readonly appliedAt: string;
  readonly policies: number;
  readonly riskConfigHash: string | null;
  readonly redactionKeys: readonly string[];
  /** Null or absent: the service says nothing about it. */
  readonly contentCapture?: ContentCapture | null;
}

/** Returns null where no configuration was ever in force. Cost: one read. */
export async function appliedConfig(store: StoreReader, projectId: string): Promise<AppliedConfig | null> {
  const filter = { runId: systemRun, eventType: appliedType };
  const [leaf] = await store.events(projectId, filter, { limit: 1, order: 'desc' });
  if (leaf === undefined) return null;
  const { metadata, serverTimestamp } = openEvent(leaf.index, leaf.record, leaf.disclosures ?? '[]');
  // the plane wrote this event: the system run takes no events from outside
  return { ...(metadata as unknown as Omit<AppliedConfig, 'appliedAt'>), appliedAt: serverTimestamp };
}

/** Who applied it: a key, a person at the machine, or the plane itself. */
export interface ConfigOrigin {
  readonly id: string;
  readonly type: string;
}

export interface EventContext {
  readonly nowMs: number;
  readonly salt: () => string;
  readonly by: ConfigOrigin;
}

/** The event that a configuration took effect. */
export function configApplied(
  { bundle, hash, signedBy, findings }: OpenPlaneConfig,
  { by, ...context }: EventContext,
  applied: Pick<Plan, 'added' | 'changed' | 'archived'> & {
    readonly from: PlaneConfigSource;
    readonly mode: PolicyMode;
    readonly previous: AppliedConfig | null;
  },
): EventDraft {
  const { added, changed, archived, from, mode, previous } = applied;
  const { riskConfig } = bundle;
  return systemEvent(
    {
      eventType: appliedType,
      action: 'apply',
      actor: { id: by.id, type: by.type },
      resource: { id: bundle.projectId, type: 'config_bundle' },
      metadata: {
        bundleVersion: bundle.bundleVersion,
        bundleHash: hash,
        projectId: bundle.projectId,
        environment: bundle.environment,
        issuedAt: bundle.issuedAt,
        signedBy,
        from,
        mode,
        policies: bundle.policies.length,
        policySetHash: bundle.policySetHash,
        added,
        changed,
        archived,
        findings,
        riskConfigHash: riskConfig === null ? null : riskRouter(riskConfig.config as RiskSettings).configHash,
        redactionKeys: [...bundle.settings.redactionKeys],
        contentCapture: bundle.settings.contentCapture ?? null,
        previousVersion: previous?.bundleVersion ?? null,
        previousHash: previous?.bundleHash ?? null,
      },
    },
    context,
  );
}

/** A refused configuration. It stays refused until another one arrives. */
export interface RefusedConfig {
  readonly reason: PlaneConfigFault;
  readonly detail: string;
  readonly bundleHash: string;
  readonly sinceMs: number;
}

/**
 * The event that a configuration was refused. Its client id contains the hash, so the log has one event for
 * each hash.
 */
export const configRefused = (
  { reason, bundleHash }: Pick<RefusedConfig, 'reason' | 'bundleHash'>,
  { by, ...context }: EventContext,
  inForce: AppliedConfig | null,
): EventDraft & { readonly clientEventId: string | null } =>
  systemEvent(
    {
      eventType: 'config.change.refused',
      action: 'refuse',
      actor: { id: by.id, type: by.type },
      resource: { id: bundleHash, type: 'config_bundle' },
      metadata: { bundleHash, reason, inForce: inForce?.bundleHash ?? null },
      clientEventId: `config.refused:${bundleHash.replace('sha256:', '')}`,
    },
    context,
  );

export const shownRefusal = ({ sinceMs, ...refused }: RefusedConfig) => ({
  ...refused,
  since: formatTimestamp(sinceMs),
});
