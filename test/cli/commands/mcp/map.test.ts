import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane();
  await plane.json('policy starter add spending-limit --to p');
  await plane.json('policy create p/spending-limit.policy --publish');
});
afterAll(() => plane.end());

const pay = async (given: object, tool = 'send') => {
  const body = { tool: { name: tool, server: 'bank' }, arguments: given, runId: 'r' };
  return (await plane.call('POST', '/mcp/tools/evaluate', { body })).body;
};
/** The context of the one decision so far that a map changed. */
const mapped = async () => {
  const { body } = await plane.call('GET', '/governance/policy/evaluations?runId=r');
  const contexts = body.data.map((each: { checkpoint: { context: object } }) => each.checkpoint.context);
  return contexts.filter((context: { facts?: object }) => context.facts !== undefined);
};

describe('gov mcp map', () => {
  it('says where a tool has money, lists it, and removes it; a replay keeps the recorded action', async () => {
    const given = { value: { sum_total: 5000, unit: 'eur' }, iban: 'DE1' };
    expect((await pay(given)).decision).toBe('allow');
    const published = await plane.json(
      'mcp map bank send amount=/value/sum_total currency=/value/unit counterparty=/iban',
    );
    expect(published).toMatchObject({ policyId: 'mcp-map.bank', version: 1, tool: 'send' });
    expect((await pay(given)).decision).toBe('deny');
    expect(await mapped()).toMatchObject([
      {
        facts: { moneyMap: { amount: '/value/sum_total', currency: '/value/unit', counterparty: '/iban' } },
        action: { money: { amount: 5000, currency: 'EUR', counterparty: 'DE1' } },
      },
    ]);
    // what a call lacks is unknown, and usual names no longer count
    expect((await pay({ amount: 5, currency: 'EUR' })).decision).toBe('deny');
    expect((await pay(given, 'other')).decision).toBe('allow');
    await plane.json('mcp map bank other amount=/a~1b/0');
    expect(await plane.json('mcp maps bank')).toEqual({
      server: 'bank',
      tools: [
        { tool: 'other', amount: '/a~1b/0' },
        {
          tool: 'send',
          amount: '/value/sum_total',
          currency: '/value/unit',
          counterparty: '/iban',
        },
      ],
    });
    expect((await plane.gov('mcp maps bank')).stdout).toContain('other');
    expect(await plane.json('mcp unmap bank send')).toMatchObject({ version: 3, tool: 'send' });
    expect((await pay(given)).decision).toBe('allow');
    expect((await plane.gov('mcp unmap bank send')).code).toBe(5);
    const replayed = await plane.gov('replay run r -o json');
    expect(replayed.stdout + replayed.stderr).not.toContain('mismatch');
    await plane.json('mcp unmap bank other');
    expect(await plane.json('mcp maps bank')).toEqual({ server: 'bank', tools: [] });
  });

  it('a policy of this name that lists no maps makes amounts unknown', async () => {
    plane.write('m.json', { policyId: 'mcp-map.odd', name: 'x', condition: { a: 1 }, action: 'allow' });
    await plane.json('policy create m.json --publish');
    const body = { tool: { name: 'pay', server: 'odd' }, arguments: { amount: 5, currency: 'EUR' } };
    expect((await plane.call('POST', '/mcp/tools/evaluate', { body })).body.decision).toBe('deny');
    expect((await plane.gov('mcp maps odd')).stderr).toContain('expected maps in policy mcp-map.odd');
  });

  it.each([
    ['mcp map bank send', 'members'],
    ['mcp map bank send currency=/c', 'expected amount=/POINTER'],
    ['mcp map bank send amount=c', 'expected a JSON pointer'],
    ['mcp map bank send amount=', 'expected a JSON pointer'],
    ['mcp map bank send amount=/a~2', 'expected a JSON pointer'],
    ['mcp map bank send amount=/a amount=/b', 'once'],
    ['mcp map bank send sum=/a', 'expected amount=, currency='],
  ])('refuses %s', async (line, why) => {
    const { code, stderr } = await plane.gov(line);
    expect(code).toBe(2);
    expect(stderr).toContain(why);
  });
});
