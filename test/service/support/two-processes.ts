/** Two processes on one PostgreSQL, and a tenant with one of everything, which `races.ts` contend for. */
import { basePaths } from '../../../src/http/call/route.ts';
import { setCustomer } from '../../../src/host/service/operator.ts';
import { startService, type TestService } from '../../support/hosted.ts';
import { customers, startStripe, stripeKey } from '../../host/identity/stripe.ts';
import type { Answer } from '../../support/answer.ts';
import { fillProject } from './filled.ts';
import type { Contender, Racing } from './racing.ts';
import { cronSecret } from './scenarios.ts';

interface TwoProcesses {
  readonly service: TestService;
  readonly racing: Racing;
  /** To the processes in turn, with the key of the tenant. */
  readonly send: (request: Contender, at: number) => Promise<Answer>;
  end(): Promise<void>;
}

export async function startTwoProcesses(): Promise<TwoProcesses> {
  const stripe = await startStripe();
  const service = await startService({
    engine: 'postgres',
    env: { GOV_CRON_SECRET: cronSecret, GOV_STRIPE_KEY: stripeKey },
    file: { billing: { baseUrl: stripe.url }, returnHosts: ['app.example'] },
  });
  const processes = [service, await service.again()] as const;
  const ada = await service.signUp('ada');
  const { call } = ada;
  const organization = await service.services.store.organization(ada.orgId);
  const projectId = organization?.home.production ?? '';
  const filled = await fillProject(call, { name: 'race', projectId });
  const made: Racing['made'] = async (method, path, body = {}) => {
    const answer = await call(method, path, { body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  await setCustomer(service.services, ada.orgId, customers[0] ?? null);
  return {
    service,
    racing: { service, filled, projectId, call, made, idToken: (name) => service.idToken(name) },
    send: ({ method, path, ...options }, at) => {
      const { call: callProcess, origin } = processes[at % 2 === 0 ? 0 : 1];
      const sent = { key: ada.keys.production, ...options };
      return callProcess(method, `${origin}${basePaths.production}${path}`, sent);
    },
    end: async () => {
      await service.end();
      await stripe.stop();
    },
  };
}
