/**
 * Two processes on one PostgreSQL get the requests of every operation that writes at once: the statuses are those that
 * `support/races.ts` states, no acknowledged write is lost, and the store is whole afterwards.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { otlpSignals, type OtlpSignal } from '../../src/contract/otlp.ts';
import type { OperationId } from '../../src/contract/table.ts';
import { fsckPostgres } from '../../src/store/postgres/write/fsck.ts';
import { countsOf, log, logs, tool, traces } from '../http/otlp/requests.ts';
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
  afterAll(() => started.end());

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

  const telemetry: Readonly<Record<OtlpSignal, object>> = {
    traces: traces(tool(1, { 'session.id': 'race-traces' })),
    logs: logs(log({ 'event.name': 'gen_ai.tool.message', 'session.id': 'race-logs', id: 'c1' })),
    metrics: { resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'tokens', sum: {} }] }] }] },
  };
  it.each(otlpSignals)('a request of %s records once what both processes receive', async (signal) => {
    const request = { method: 'POST', path: `/otlp/v1/${signal}`, body: telemetry[signal] };
    const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => started.send(request, at)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const kept = answers.reduce((sum, answer) => sum + (countsOf(answer)['kept'] ?? 0), 0);
    expect(kept, answers.map(({ text }) => text).join()).toBe(signal === 'metrics' ? 0 : 1);
  });

  it('of two proxies, one joins the permission of the hook', async () => {
    const { racing, send } = started;
    const key = await racing.made('POST', '/api-keys', { name: 'joins', scopes: ['approvals:decide'] });
    await racing.made('POST', '/governance/policies', {
      policyId: 'ask-join',
      name: 'ask-join',
      condition: { '==': [{ var: 'tool.name' }, 'pay-once'] },
      action: 'escalate',
    });
    await racing.made('POST', '/governance/policies/ask-join/publish', {});
    for (let round = 0; round < 10; round += 1) {
      const call = { runId: `race-${round}`, tool: { name: 'pay-once', server: 'till' }, arguments: {} };
      const evaluate = (source: string, at: number) =>
        send(
          { method: 'POST', path: '/mcp/tools/evaluate', body: { ...call, source, toolCallId: 'toolu_1' } },
          at,
        );
      const { approvalId } = (await evaluate('hook', 0)).body;
      const path = `/approvals/${approvalId}/decision`;
      const decided = await send({ method: 'POST', path, body: { outcome: 'approved' }, key: key.key }, 0);
      expect(decided.status).toBe(200);
      const hooks = await Promise.all([0, 1].map((at) => evaluate('hook', at)));
      expect(hooks.filter(({ body }) => body.allowed)).toHaveLength(1);
      const proxies = await Promise.all([0, 1, 2, 3].map((at) => evaluate('mcp', at)));
      expect(proxies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(proxies.filter(({ body }) => body.allowed)).toMatchObject([
        { body: { joined: true, approvalId } },
      ]);
    }
  });

  it('leaves a store that is whole', async () => {
    const { problems } = await fsckPostgres({ url: started.service.database!.serving, deep: true });
    expect(problems).toEqual([]);
  });
});
