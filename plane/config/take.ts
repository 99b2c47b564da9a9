/**
 * The steps by which a plane applies a signed configuration. Each step may refuse it. The plane opens it
 * (`src/core/planes/config.ts`), compares it with the one in force (same project, greater version), and plans
 * the change (`plan.ts`). One append stores all of it: `gov.policy/1` and `gov.config/1` leaves, rows, and the
 * event that records it. A crash leaves the old configuration or the new one. Proven by
 * `test/plane/config/apply.test.ts` and `test/plane/config/crash.long.test.ts`.
 */
import {
  SignedPlaneConfig,
  type PlaneConfigSource,
  type PolicyMode,
} from '../../src/contract/plane-config.ts';
import { GovError } from '../../src/contract/problems.ts';
import {
  PlaneConfigError,
  openingPlaneConfig,
  type PlaneConfigTrust,
  type OpenPlaneConfig,
} from '../../src/core/planes/config.ts';
import { append } from '../../src/service/writes/append.ts';
import { routerOf } from '../../src/service/policies/risk-router.ts';
import { loadCheck } from '../../src/service/call/schema.ts';
import type { Services } from '../../src/service/port/services.ts';
import { inTurns } from '../../src/service/call/time-slice.ts';
import type { ConfigCopy } from './copy.ts';
import { planOf, type Plan } from './plan.ts';
import { configApplied, type AppliedConfig, type ConfigOrigin } from './state.ts';
import { untilStored } from '../../src/service/call/overtaken.ts';

/** Opens a text as a plane in this mode does. PlaneConfigError. */
export async function openText(
  text: Uint8Array,
  { mode, trust }: { readonly mode: PolicyMode; readonly trust: PlaneConfigTrust | null },
): Promise<OpenPlaneConfig> {
  if (mode === 'off') {
    const detail = 'expected a plane that takes configurations, but plane.json has config.policies: off';
    throw new PlaneConfigError('switched_off', detail);
  }
  if (trust === null) {
    const detail =
      'expected a plane that trusts a service; enrol it, or name the service with ' +
      'gov plane config set --project-id … --key …';
    throw new PlaneConfigError('untrusted', detail);
  }
  const check = await loadCheck(SignedPlaneConfig, { in: 'body' });
  const opening = openingPlaneConfig(text, trust, (value) => {
    const [first] = check(value)?.errors ?? [];
    return first === undefined ? null : `at ${first.pointer}: ${first.detail}`;
  });
  return inTurns(opening);
}

/** Whether this version is the one in force. PlaneConfigError for an older one, which may be a replay. */
export function requireNewer(applied: AppliedConfig | null, { bundle, hash }: OpenPlaneConfig): boolean {
  if (applied === null || applied.projectId !== bundle.projectId) return false;
  if (applied.bundleHash === hash) return true;
  const { bundleVersion } = bundle;
  if (bundleVersion > applied.bundleVersion) return false;
  if (bundleVersion === applied.bundleVersion) {
    const detail = `expected version ${bundleVersion} to be ${applied.bundleHash}, as first taken, got ${hash}`;
    throw new PlaneConfigError('rewritten', detail);
  }
  const detail = `expected a version after ${applied.bundleVersion}, which is in force, got ${bundleVersion}`;
  throw new PlaneConfigError('outdated', detail);
}

export interface ConfigTarget {
  readonly services: Services;
  /** The project of the plane, not of the service. */
  readonly projectId: string;
  readonly mode: PolicyMode;
  readonly applied: AppliedConfig | null;
  readonly copy: ConfigCopy;
}

export interface TakeResult {
  readonly plan: Plan;
  /** False where the plane already matches the configuration. Then nothing was appended. */
  readonly isNew: boolean;
}

/**
 * Puts an opened configuration in force, one at a time with changes of policies. PlaneConfigError where it
 * does not fit. OVERLOADED where policies keep changing meanwhile. A crash before the append leaves a file that
 * the next start removes. A crash after it leaves a file that the next start renames.
 */
export async function putInForce(
  target: ConfigTarget,
  open: OpenPlaneConfig,
  {
    text,
    from,
    by,
  }: { readonly text: Uint8Array; readonly from: PlaneConfigSource; readonly by: ConfigOrigin },
): Promise<TakeResult> {
  const { services, projectId, mode, applied, copy } = target;
  const isHeld = applied?.bundleHash === open.hash && applied.mode === mode;
  const attempt = async (): Promise<TakeResult | null> => {
    await services.runs.overtaken(projectId);
    const atMs = services.now();
    const { configHash, configIndex } = await routerOf(services.store, projectId);
    const planned: { plan?: Plan } = {};
    const stored = await services.policySets.changeMany(projectId, async (before) => {
      const { store, salt } = services;
      const present = { store, projectId, set: before.set, configHash, atMs, salt };
      const plan = await planOf({ ...present, bundle: open.bundle, mode });
      planned.plan = plan;
      if (isHeld && plan.leaves.length === 0) return nothing;
      copy.prepare(text);
      const summary = { ...plan, from, mode, previous: applied };
      return append(
        services,
        {
          projectId,
          leaves: [...plan.leaves, configApplied(open, { nowMs: atMs, salt, by }, summary)],
          effects: plan.effects,
        },
        { expect: { policyIndex: before.policyIndex, configIndex } },
      );
    });
    const { plan } = planned;
    if (plan === undefined || 'replayed' in stored) {
      throw new Error('a configuration was appended without its plan');
    }
    return stored.outcome === 'stored' ? { plan, isNew: stored !== nothing } : null;
  };
  try {
    return await untilStored('the policies', attempt);
  } catch (error) {
    if (error instanceof GovError && error.code === 'OVERLOADED') copy.drop();
    throw error;
  }
}

/** Stands for an append that was not needed. */
const nothing = { outcome: 'stored', assigned: [], response: null, used: 0 } as const;
