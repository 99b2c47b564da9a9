/**
 * Two processes on one PostgreSQL get the requests of every operation that writes at once: the statuses are those that
 * `support/races.ts` states, no acknowledged write is lost, and the store is whole afterwards.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OperationId } from '../../src/contract/table.ts';
import { fsckPostgres } from '../../src/store/postgres/write/fsck.ts';
import {
  engines,
  startService,
  type ServiceProcess,
  type Tenant,
  type TestService,
} from '../support/hosted.ts';
import { basePaths } from '../../src/http/call/route.ts';
import { fillProject } from './support/filled.ts';
import { races } from './support/races.ts';
import type { Contender, Race, Racing } from './support/racing.ts';
import { cronSecret } from './support/scenarios.ts';

const count = 8;
const raced = Object.entries(races).filter(
  (entry): entry is [OperationId, Race] => typeof entry[1] !== 'string',
);

describe.skipIf(!engines.includes('postgres'))('two processes at once', () => {
  let service: TestService;
  let processes: readonly ServiceProcess[];
  let ada: Tenant;
  let racing: Racing;

  beforeAll(async () => {
    service = await startService({ engine: 'postgres', env: { GOV_CRON_SECRET: cronSecret } });
    processes = [service, await service.again()];
    ada = await service.signUp('ada');
    const { call } = ada;
    const organization = await service.services.store.organization(ada.orgId);
    const projectId = organization?.home.production ?? '';
    const filled = await fillProject(call, { name: 'race', projectId });
    const made: Racing['made'] = async (method, path, body = {}) => {
      const answer = await call(method, path, { body });
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
      return answer.body;
    };
    racing = { filled, call, made, idToken: (name) => service.idToken(name) };
  }, 120_000);
  afterAll(() => service.end());

  const send = ({ method, path, ...options }: Contender, at: number) => {
    const { call, origin } = processes[at % 2]!;
    return call(method, `${origin}${basePaths.production}${path}`, { key: ada.keys.production, ...options });
  };

  it.each(raced)('%s has its stated outcomes', async (_, race) => {
    const contenders = await race.contenders(racing, count);
    const answers = await Promise.all(contenders.map(send));
    const told = answers.map(({ status, text }) => `${status} ${text.slice(0, 200)}`).join('\n');
    const [won, ...others] = race.statuses;
    for (const { status } of answers) expect(race.statuses, told).toContain(status);
    const winners = answers.filter(({ status }) => status === won).length;
    if (race.won === 'one') expect(winners, told).toBe(1);
    else if (race.won === 'some') expect(winners, told).toBeGreaterThan(0);
    else if (others.length === 0) expect(winners, told).toBe(count);
    await race.after?.(racing, answers);
  });

  it('leaves a store that is whole', async () => {
    const { problems } = await fsckPostgres({ url: service.database!.serving, deep: true });
    expect(problems).toEqual([]);
  });
});
