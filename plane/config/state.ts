/**
 * Which configuration of its service a plane holds, as its own log tells: each that was put in force is an event
 * `config.change.applied`, in the append that made it so; one that was refused is `config.change.refused`, once for
 * each hash. Proven by `test/plane/config/apply.test.ts`.
 */
import type { PlaneConfigFault, PlaneConfigSource, PolicyMode } from '../../src/contract/plane-config.ts';
import type { OpenPlaneConfig } from '../../src/core/plane/config.ts';
import { openEvent, systemRun, type EventDraft } from '../../src/core/event/record.ts';
import { riskRouter, type RiskSettings } from '../../src/core/risk/config.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import { systemEvent } from '../../src/service/system.ts';
import type { StoreReader } from '../../src/store/port/store.ts';
import type { Plan } from './plan.ts';

const appliedType = 'config.change.applied';

/** What of the newest `config.change.applied` later ones depend on. */
export interface AppliedBundle {
  readonly bundleVersion: number;
  readonly bundleHash: string;
  /** Of the service. */
  readonly projectId: string;
  readonly mode: PolicyMode;
  readonly from: PlaneConfigSource;
  readonly appliedAt: string;
  readonly policies: number;
  readonly riskConfigHash: string | null;
  readonly redactionKeys: readonly string[];
}

/** Null where none was ever put in force. Cost: one read. */
export async function appliedBundle(store: StoreReader, projectId: string): Promise<AppliedBundle | null> {
  const filter = { runId: systemRun, eventType: appliedType };
  const [leaf] = await store.events(projectId, filter, { limit: 1, order: 'desc' });
  if (leaf === undefined) return null;
  const { metadata, serverTimestamp } = openEvent(leaf.index, leaf.record, leaf.disclosures ?? '[]');
  // our own, of the system run, which takes no events from outside
  return { ...(metadata as unknown as Omit<AppliedBundle, 'appliedAt'>), appliedAt: serverTimestamp };
}

/** Who put it in force: a key, somebody at the machine, or the plane itself, which asks its service. */
export interface By {
  readonly id: string;
  readonly type: string;
}

export interface Telling {
  readonly nowMs: number;
  readonly salt: () => string;
  readonly by: By;
}

/** A configuration was put in force. */
export function configApplied(
  { bundle, hash, signedBy, findings }: OpenPlaneConfig,
  { by, ...context }: Telling,
  told: Pick<Plan, 'added' | 'changed' | 'archived'> & {
    readonly from: PlaneConfigSource;
    readonly mode: PolicyMode;
    readonly previous: AppliedBundle | null;
  },
): EventDraft {
  const { added, changed, archived, from, mode, previous } = told;
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
        previousVersion: previous?.bundleVersion ?? null,
        previousHash: previous?.bundleHash ?? null,
      },
    },
    context,
  );
}

/** A configuration that is refused, and stays refused until another one comes. */
export interface RefusedBundle {
  readonly reason: PlaneConfigFault;
  readonly detail: string;
  readonly bundleHash: string;
  readonly sinceMs: number;
}

/** A configuration was refused. The client id is that of its hash, so the log has one for each. */
export const configRefused = (
  { reason, bundleHash }: Pick<RefusedBundle, 'reason' | 'bundleHash'>,
  { by, ...context }: Telling,
  inForce: AppliedBundle | null,
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

export const shownRefusal = ({ sinceMs, ...refused }: RefusedBundle) => ({
  ...refused,
  since: formatTimestamp(sinceMs),
});
