/** The configuration that a data plane took from its service. `plane/config/apply.ts` implements it. */
import type { BundleApplied, HeldBundle } from '../../contract/plane-config.ts';
import type { StoredPolicy } from '../../store/port/store.ts';
import type { Caller } from '../call/caller.ts';
import type { StoredSettings } from '../call/settings.ts';
import type { DraftedChange } from '../policies/drafted-change.ts';

export interface ApplyOptions {
  /** Whether a version that is not after the one in force is taken too. */
  readonly older?: boolean;
}

/** The configuration that a plane took from its service. Absent at a service. */
export interface PlaneConfig {
  /** NOT_FOUND where it holds none. */
  held(): Promise<HeldBundle>;
  /** By a person, from a file. BundleRefused; then nothing changed. */
  apply(text: Uint8Array, caller: Caller, options?: ApplyOptions): Promise<BundleApplied>;
  /** FORBIDDEN where a change of a policy is for the service alone to make. */
  refusePolicyChange(policy: StoredPolicy, change: DraftedChange): void;
  /** FORBIDDEN where the risk router is configured by the service. */
  refuseRiskConfig(): void;
  /** Settings that the service decides. */
  settings(): Partial<StoredSettings>;
}
