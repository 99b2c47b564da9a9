/**
 * Handlers of the configuration of data planes. A service signs it; a plane applies it
 * (`plane/config/apply.ts`) and shows it. Proven by `test/service/planes/project-config.test.ts` and
 * `test/plane/config/apply.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { oldestPlane, planeSupport } from '../../core/planes/version.ts';
import { formatTimestamp } from '../../core/time.ts';
import { keepAnswer } from '../writes/keep-answer.ts';
import type { Handlers } from '../port/handler.ts';
import { signedConfigOf } from './project-config.ts';

export const planeConfigs: Pick<Handlers, 'getTelemetryConfig' | 'getConfigBundle' | 'applyConfigBundle'> = {
  async getTelemetryConfig({ query, caller }, services) {
    const { bundleVersion, bundleHash, signed } = await signedConfigOf(services, caller.project);
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
      body: { ...(await signedConfigOf(services, caller.project)), verifierKey, plane: null },
    };
  },

  async applyConfigBundle(call, services) {
    const { planeConfig } = services;
    if (planeConfig === undefined) {
      const detail = 'expected a data plane, got a service: it signs configurations and applies none';
      throw new GovError('FORBIDDEN', detail);
    }
    const text = Buffer.from(call.body.parts.join(''));
    const { older = false } = call.body;
    const body = await planeConfig.apply(text, call.caller, { older });
    return keepAnswer(call, services, { status: 200, body });
  },
};
