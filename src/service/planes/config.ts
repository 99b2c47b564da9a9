/**
 * The configuration of data planes: a service gives it, signed; a plane takes it and shows what it holds. What a plane
 * does with it is in `plane/config/apply.ts`. Proven by `test/service/planes/project-config.test.ts` and
 * `test/plane/config/apply.test.ts`.
 */
import type { PlaneConfigApplied, HeldPlaneConfig } from '../../contract/plane-config.ts';
import { GovError } from '../../contract/problems.ts';
import { oldestPlane, planeSupport } from '../../core/plane/version.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { StoredPolicy } from '../../store/port/store.ts';
import { keepAnswer, type Caller, type Handlers } from '../call/handler.ts';
import { bundleOf } from './project-config.ts';
import type { Change } from '../policies/change.ts';
import type { StoredSettings } from '../call/settings.ts';

export interface ApplyOptions {
  /** Whether a version that is not after the one in force is taken too. */
  readonly older?: boolean;
}

/** The configuration that a plane took from its service. Absent at a service. */
export interface PlaneConfig {
  /** NOT_FOUND where it holds none. */
  held(): Promise<HeldPlaneConfig>;
  /** By a person, from a file. PlaneConfigRefused; then nothing changed. */
  apply(text: Uint8Array, caller: Caller, options?: ApplyOptions): Promise<PlaneConfigApplied>;
  /** FORBIDDEN where a change of a policy is for the service alone to make. */
  refusePolicyChange(policy: StoredPolicy, change: Change): void;
  /** FORBIDDEN where the risk router is configured by the service. */
  refuseRiskConfig(): void;
  /** Settings that the service decides. */
  settings(): Partial<StoredSettings>;
}

export const bundles: Pick<Handlers, 'getTelemetryConfig' | 'getConfigBundle' | 'applyConfigBundle'> = {
  async getTelemetryConfig({ query, caller }, services) {
    const { bundleVersion, bundleHash, signed } = await bundleOf(services, caller.project);
    const support = planeSupport(query.planeVersion, services.version);
    return {
      status: 200,
      body: {
        bundleVersion,
        bundleHash,
        signed: query.current === bundleHash ? null : signed,
        serviceVersion: services.version,
        planeSupport: support,
        oldestPlane: oldestPlane(services.version),
        serverTime: formatTimestamp(services.now()),
      },
    };
  },

  async getConfigBundle({ caller }, services) {
    if (services.planeConfig !== undefined) return { status: 200, body: await services.planeConfig.held() };
    const verifierKey = services.hosting?.configSigner.verifierKey ?? null;
    return {
      status: 200,
      body: { ...(await bundleOf(services, caller.project)), verifierKey, plane: null },
    };
  },

  async applyConfigBundle(call, services) {
    const { planeConfig } = services;
    if (planeConfig === undefined) {
      const detail = 'expected a data plane, got a service: it makes configurations and takes none';
      throw new GovError('FORBIDDEN', detail);
    }
    const text = Buffer.from(call.body.parts.join(''));
    const { older = false } = call.body;
    const body = await planeConfig.apply(text, call.caller, { older });
    return keepAnswer(call, services, { status: 200, body });
  },
};
