/**
 * The configuration that a data plane applied, as its handlers use it. `plane/config/apply.ts` implements it.
 * Proven by `test/plane/config/apply.test.ts`.
 */
import type { PlaneConfigResult, HeldPlaneConfig } from '../../contract/plane-config.ts';
import type { StoredPolicy } from '../../store/port/store.ts';
import type { Caller } from '../call/caller.ts';
import type { StoredSettings } from '../call/settings.ts';
import type { DraftedChange } from '../in-force/drafted-change.ts';

export interface ApplyOptions {
  /** Whether a version that is not newer than the applied one is accepted. */
  readonly older?: boolean;
}

/** The applied configuration of a plane. Absent on a service. */
export interface PlaneConfigService {
  /** The applied configuration. NOT_FOUND where there is none. */
  held(): Promise<HeldPlaneConfig>;
  /** Applies a configuration that a person uploads. BundleRefused; then nothing changed. */
  apply(text: Uint8Array, caller: Caller, options?: ApplyOptions): Promise<PlaneConfigResult>;
  /** FORBIDDEN where only the service may change the policy. */
  refusePolicyChange(policy: StoredPolicy, change: DraftedChange): void;
  /** FORBIDDEN where the service configures the risk router. */
  refuseRiskConfig(): void;
  /** CONFIG_EXPIRED where the plane has an age limit and its configuration is older. */
  refuseExpired(): void;
  /** Settings that the service decides. */
  settings(): Partial<StoredSettings>;
}
