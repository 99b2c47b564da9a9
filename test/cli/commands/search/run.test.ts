import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event, startPlane, type TestPlane } from '../../../support/serving.ts';
import { govHere } from '../../support/tool.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { reader: { scopes: ['events:read'] } } });
  const { status } = await plane.call('POST', '/governance/policies', {
    body: {
      policyId: 'no-shell',
      name: 'No shells',
      condition: { 'tool.name': 'shell' },
      action: 'escalate',
    },
  });
  expect(status).toBe(201);
  await plane.call('POST', '/governance/policies/no-shell/publish', { body: {} });
  const called = (n: number) =>
    event({
      runId: `checkout-${n}`,
      actor: { name: 'planner', delegationChain: ['user-u', 'agent-a', 'planner'] },
      resource: { name: 'ledger.pay', type: 'tool' },
      metadata: { secret: 'hidden-word' },
    });
  await plane.call('POST', '/events/batch', { body: { events: [1, 2, 3, 4, 5, 6].map(called) } });
  await plane.call('POST', '/mcp/tools/evaluate', {
    body: { tool: { name: 'shell' }, arguments: {}, runId: 'checkout-1' },
  });
});
afterAll(() => plane.end());

async function search(...words: string[]) {
  const env = { GOV_BASE_URL: plane.origin, GOV_API_KEY: plane.key };
  const { stdout, stderr, code } = await govHere(['search', ...words, '-o', 'json'], { env });
  const { results, cut } = JSON.parse(stdout) as {
    results: { kind: string; id: string; next: string }[];
    cut: string[];
  };
  return { found: results.map(({ kind, id, next }) => ({ kind, id, next })), cut, stderr, code };
}

describe('gov search', () => {
  it('gov search finds a run by its id and by a part of it, with the command that shows it', async () => {
    const { found, code } = await search('checkout-3');
    expect([code, found]).toEqual([0, [{ kind: 'run', id: 'checkout-3', next: 'gov runs show checkout-3' }]]);
    expect((await search('CHECKOUT')).found.filter(({ kind }) => kind === 'run')).toHaveLength(6);
  });

  it('gov search finds events by tool, actor and type, and says how to get the rest', async () => {
    for (const [word, flag] of [
      ['ledger.pay', 'tool'],
      ['planner', 'actor'],
      ['user-u', 'on-behalf-of'],
      ['tool.call', 'type'],
    ] as const) {
      const { found, cut } = await search(word);
      expect(found.filter(({ kind }) => kind === 'event')).toHaveLength(5);
      expect(cut).toContain(`more events with this ${flag}: gov events list --${flag} ${word}`);
    }
  });

  it('gov search finds an event by its id', async () => {
    const [first] = (await search('ledger.pay')).found;
    expect((await search(first?.id ?? '')).found).toEqual([first]);
  });

  it('gov search finds policies and approvals by a part of their names, in any case', async () => {
    const { found } = await search('no', 'SHELL');
    expect(found.map(({ kind, id }) => [kind, id])).toEqual([['policy', 'no-shell']]);
    const kinds = (await search('shell')).found.map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['policy', 'approval', 'event']));
  });

  it('gov search exits with 5 where nothing is found, also for a word in the metadata of an event', async () => {
    for (const word of ['hidden-word', 'évt / "none"']) {
      const { found, code, stderr } = await search(word);
      expect([found, code]).toEqual([[], 5]);
      expect(stderr).toContain(`nothing found for ${word}`);
    }
  });

  it('gov search searches what the key may read, and names the rest', async () => {
    const env = { GOV_BASE_URL: plane.origin, GOV_API_KEY: plane.keys['reader'] ?? '' };
    const { stdout, stderr, code } = await govHere(['search', 'checkout-3'], { env });
    expect([code, stdout.split('\t')[0]]).toEqual([0, 'checkout-3']);
    expect(stderr).toBe(
      'cut: policies not searched: the key lacks the scope\ncut: approvals not searched: the key lacks the scope\n',
    );
  });
});

it.each(['', ' '])('gov search %j names the argument, before it asks anybody', async (text) => {
  const { code, stderr } = await govHere(['search', text], { env: { GOV_BASE_URL: 'http://127.0.0.1:1' } });
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: text: expected a/)]);
});
