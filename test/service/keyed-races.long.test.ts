/**
 * Two processes on one PostgreSQL get one request of an operation with one `Idempotency-Key` at once, for each POST of
 * the contract: every answer is the same, also that of a repeat, and the request has one effect (contract D6).
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { table, type OperationId } from '../../src/contract/table.ts';
import { engines } from '../support/hosted.ts';
import { races } from './support/races.ts';
import { fresh, requestOf, type Contender, type Race } from './support/racing.ts';
import { startTwoProcesses } from './support/two-processes.ts';

const count = 6;

/** Their answers are not stored: they are made anew each time, or say the same each time. */
const unstored = new Set<string>([
  'stateApproval',
  'openSession',
  'signOut',
  'challengeApprover',
  'startSignIn',
  'finishSignIn',
  'enrollDataPlane',
  'reportUsage',
  'attestUsage',
  'importTelemetry',
  'runReportSchedules',
  'runReportExecutions',
  'runReportDeliveries',
  'runReportCleanup',
]);

const posts = Object.entries(races).filter(
  (entry): entry is [OperationId, Race | string] =>
    table[entry[0] as OperationId].method === 'POST' && !unstored.has(entry[0]),
);
/** Operations that compute and store nothing have no race, but an answer. */
const keyed = posts.filter(([, race]) => typeof race !== 'string' || race === 'computes and stores nothing');

describe.skipIf(!engines.includes('postgres'))('two processes with one Idempotency-Key', () => {
  let started: Awaited<ReturnType<typeof startTwoProcesses>>;
  beforeAll(async () => {
    started = await startTwoProcesses();
  }, 120_000);
  afterAll(() => started.end());

  const contenderOf = async (id: OperationId, race: Race | string): Promise<Contender> => {
    const { racing } = started;
    if (typeof race === 'string') return requestOf(id, racing.filled);
    const [contender] = await race.contenders(racing, 1);
    if (contender === undefined) throw new Error(`expected a contender of ${id}, got none`);
    return contender;
  };

  it.each(keyed)('%s has one answer', async (id, race) => {
    const contender = await contenderOf(id, race);
    const headers = { ...contender.headers, 'idempotency-key': fresh('key') };
    const send = (at: number) => started.send({ ...contender, headers }, at);
    const answers = await Promise.all(Array.from({ length: count }, (_, at) => send(at)));
    answers.push(await send(0), await send(1));
    const told = answers.map(({ status, text }) => `${status} ${text.slice(0, 300)}`);
    const answered = answers.filter(({ body }) => body?.code !== 'IDEMPOTENCY_IN_FLIGHT');
    expect(answered[0]?.status, told.join('\n')).toBeLessThan(300);
    expect(new Set(answered.map(({ status, text }) => `${status} ${text}`)).size, told.join('\n')).toBe(1);
    expect(answers.at(-1)?.headers['idempotent-replayed'], told.join('\n')).toBe('true');
  });
});
