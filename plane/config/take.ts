/**
 * The steps by which a plane takes a signed configuration, each of which may refuse it: it is opened
 * (`src/core/plane/config.ts`), compared with the one in force (a greater version of the same project), planned
 * (`plan.ts`), and everything of it is one append: `gov.policy/1` and `gov.config/1` leaves, rows, and the event
 * that tells of it. A crash leaves the old configuration or the new one.
 * Proven by `test/plane/config/apply.test.ts` and `test/plane/config/crash.long.test.ts`.
 */
import {
  SignedPlaneConfig,
  type PlaneConfigSource,
  type PolicyMode,
} from '../../src/contract/plane-config.ts';
import { limits } from '../../src/contract/limits.ts';
import { GovError } from '../../src/contract/problems.ts';
import {
  PlaneConfigRefused,
  openingPlaneConfig,
  type PlaneConfigTrust,
  type OpenPlaneConfig,
} from '../../src/core/plane/config.ts';
import { appendOrStale, unmetered } from '../../src/service/events/append.ts';
import { routerOf } from '../../src/service/policies/risk-router.ts';
import { loadCheck } from '../../src/service/call/schema.ts';
import type { Services } from '../../src/service/dependencies.ts';
import { inTurns } from '../../src/service/call/time-slice.ts';
import type { ConfigCopy } from './copy.ts';
import { planOf, type Plan } from './plan.ts';
import { configApplied, type AppliedBundle, type By } from './state.ts';

const attempts = 5;

/** Opens a text as a plane of this mode would. PlaneConfigRefused. */
export async function openText(
  text: Uint8Array,
  { mode, trust }: { readonly mode: PolicyMode; readonly trust: PlaneConfigTrust | null },
): Promise<OpenPlaneConfig> {
  if (mode === 'off') {
    const detail = 'expected a plane that takes configurations, but plane.json says config.policies: off';
    throw new PlaneConfigRefused('switched_off', detail);
  }
  if (trust === null) {
    const detail =
      'expected a plane that was told which service to trust; enrol it, or say so with ' +
      'gov plane config set --project-id … --key …';
    throw new PlaneConfigRefused('untrusted', detail);
  }
  const check = await loadCheck(SignedPlaneConfig, { in: 'body' });
  const opening = openingPlaneConfig(text, trust, (value) => {
    const [first] = check(value)?.errors ?? [];
    return first === undefined ? null : `at ${first.pointer}: ${first.detail}`;
  });
  return inTurns(opening);
}

/** Whether it is the very one in force. PlaneConfigRefused for an older one: it may be a replay of what somebody kept. */
export function requireNewer(applied: AppliedBundle | null, { bundle, hash }: OpenPlaneConfig): boolean {
  if (applied === null || applied.projectId !== bundle.projectId) return false;
  if (applied.bundleHash === hash) return true;
  const { bundleVersion } = bundle;
  if (bundleVersion > applied.bundleVersion) return false;
  if (bundleVersion === applied.bundleVersion) {
    const detail = `expected version ${bundleVersion} to be ${applied.bundleHash}, as it was taken, got ${hash}`;
    throw new PlaneConfigRefused('rewritten', detail);
  }
  const detail = `expected a version after ${applied.bundleVersion}, which is in force, got ${bundleVersion}`;
  throw new PlaneConfigRefused('outdated', detail);
}

export interface Place {
  readonly services: Services;
  /** The plane's own. */
  readonly projectId: string;
  readonly mode: PolicyMode;
  readonly applied: AppliedBundle | null;
  readonly copy: ConfigCopy;
}

export interface Taken {
  readonly plan: Plan;
  /** False where everything is as the bundle says already: then nothing was appended. */
  readonly isNew: boolean;
}

/**
 * Puts an opened bundle in force. PlaneConfigRefused where it does not fit; OVERLOADED where policies keep changing meanwhile.
 * One at a time, with changes of policies. A crash before the append leaves a file that the next start removes; one after
 * it a file that the next start gives its name.
 */
export async function putInForce(
  place: Place,
  open: OpenPlaneConfig,
  { text, from, by }: { readonly text: Uint8Array; readonly from: PlaneConfigSource; readonly by: By },
): Promise<Taken> {
  const { services, projectId, mode, applied, copy } = place;
  const isHeld = applied?.bundleHash === open.hash && applied.mode === mode;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const atMs = services.now();
    const { configHash, configIndex } = await routerOf(services.store, projectId);
    const planned: { plan?: Plan } = {};
    const stored = await services.policySets.changeMany(projectId, async (before) => {
      const { store, salt } = services;
      const stands = { store, projectId, set: before.set, configHash, atMs, salt };
      const plan = await planOf({ ...stands, bundle: open.bundle, mode });
      planned.plan = plan;
      if (isHeld && plan.leaves.length === 0) return nothing;
      copy.prepare(text);
      const told = { ...plan, from, mode, previous: applied };
      return appendOrStale(services, {
        projectId,
        leaves: [...plan.leaves, configApplied(open, { nowMs: atMs, salt, by }, told)],
        meter: unmetered,
        inForce: { policyIndex: before.policyIndex, configIndex },
        effects: plan.effects,
      });
    });
    const { plan } = planned;
    if (plan === undefined || 'replayed' in stored) {
      throw new Error('a configuration was appended without its plan');
    }
    if (stored.outcome === 'stored') return { plan, isNew: stored !== nothing };
  }
  copy.drop();
  throw new GovError('OVERLOADED', 'the policies kept changing meanwhile; repeat later', {
    retryAfterSeconds: limits.overloadRetrySeconds,
  });
}

/** In place of an append. */
const nothing = { outcome: 'stored', assigned: [], response: null, used: 0 } as const;
