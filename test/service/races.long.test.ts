/**
 * Two processes on one PostgreSQL get the requests of every operation that writes at once: the statuses are those that
 * `support/races.ts` states, no acknowledged write is lost, and the store is whole afterwards.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OperationId } from '../../src/contract/table.ts';
import { fsckPostgres } from '../../src/store/postgres/write/fsck.ts';
import { engines } from '../support/hosted.ts';
import { races } from './support/races.ts';
import type { Race } from './support/racing.ts';
import { startTwoProcesses } from './support/two-processes.ts';

const raced = Object.entries(races).filter(
  (entry): entry is [OperationId, Race] => typeof entry[1] !== 'string',
);

describe.skipIf(!engines.includes('postgres'))('two processes at once', () => {
  let started: Awaited<ReturnType<typeof startTwoProcesses>>;
  beforeAll(async () => {
    started = await startTwoProcesses();
  }, 120_000);
  afterAll(() => started.service.end());

  it.each(raced)('%s has its stated outcomes', async (_, race) => {
    const { racing, send } = started;
    const { count = 8 } = race;
    const contenders = await race.contenders(racing, count);
    const answers = await Promise.all(contenders.map(send));
    const told = answers.map(({ status, text }) => `${status} ${text.slice(0, 200)}`).join('\n');
    const [won, ...others] = race.statuses;
    for (const { status } of answers) expect(race.statuses, told).toContain(status);
    const winners = answers.filter(({ status }) => status === won).length;
    if (race.won === 'one') expect(winners, told).toBe(1);
    else if (others.length === 0) expect(winners, told).toBe(count);
    else if (race.won !== 'any') expect(winners, told).toBeGreaterThan(0);
    await race.after?.(racing, answers);
  });

  it('leaves a store that is whole', async () => {
    const { problems } = await fsckPostgres({ url: started.service.database!.serving, deep: true });
    expect(problems).toEqual([]);
  });
});
