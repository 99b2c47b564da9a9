/** What the service writes of policies, approvals, replays and the risk router is what fsck derives from the log. */
import { expect, it } from 'vitest';
import { fsckStore } from '../../../src/store/fsck/run.ts';
import { startPlane } from '../../support/serving.ts';
import { seededBytes } from '../../store/support/fixture.ts';
import { cancelledJob } from '../support/filled.ts';
import { governing } from '../support/governed.ts';

it('fsck finds no fault on a plane with every kind of governance record', { timeout: 60_000 }, async () => {
  const own = await startPlane({ extraKeys: { person: { scopes: ['approvals:decide'] } } });
  const here = governing(own);
  const bytes = seededBytes('moves');
  const pick = <Item>(items: readonly Item[]): Item => items[bytes(1)[0]! % items.length]!;
  const ids = ['a', 'b', 'c'];
  for (const policyId of ids) {
    const body = { policyId, name: `policy ${policyId}`, condition: {}, action: 'escalate' };
    await here.must(
      'POST',
      '/governance/policies',
      policyId === 'a' ? body : { ...body, description: 'why' },
    );
  }
  const moves = ['draft', 'review', 'active', 'disabled', 'archived'].map(
    (targetStatus) => ['transition', { targetStatus }] as const,
  );
  const others = [
    ['versions', { condition: { n: { '>': 1 } }, action: 'escalate' }],
    ['publish', {}],
    ['publish', { version: 1, reason: 'again' }],
    ['rollback', { targetVersion: 1 }],
    ['rollback', { targetVersion: 2 }],
  ] as const;
  const statuses = new Set<number>();
  for (let step = 0; step < 150; step++) {
    const [path, body] = pick([...moves, ...others]);
    const { status } = await own.call('POST', `/governance/policies/${pick(ids)}/${path}`, { body });
    statuses.add(status);
  }
  expect([...statuses].every((status) => status < 500)).toBe(true);
  await here.policy('ask', { 'tool.name': 'pay' }, 'escalate');
  for (const [amount, outcome] of (['approved', 'denied', null] as const).entries()) {
    const call = { arguments: { amount } };
    const { approvalId } = await here.tool('run', 'pay', call);
    if (outcome === null) continue;
    await here.decide(approvalId, outcome);
    expect((await here.tool('run', 'pay', call)).approvalId).toBe(approvalId);
  }
  const gate = { arguments: { amount: 7 }, tool: { name: 'pay', server: 'till' }, toolCallId: 'c' };
  const { approvalId } = await here.tool('run', 'pay', { ...gate, source: 'hook' });
  await here.decide(approvalId, 'approved');
  await here.tool('run', 'pay', { ...gate, source: 'hook' });
  expect(await here.tool('run', 'pay', { ...gate, source: 'mcp' })).toMatchObject({
    joined: true,
    approvalId,
  });
  await here.ran('run', {}, 'output.delivered');
  await here.risk('run');
  const { bands: _, ...config } = await here.must('GET', '/risk/config');
  await here.must('PUT', '/risk/config', { ...config, mode: 'strict' });
  await here.replay({ runId: 'run' });
  await here.replay({ runId: 'run', compareRunId: 'run' });
  await cancelledJob(own.call, 'run');
  await own.close();
  const { problems } = await fsckStore({ dataDir: own.dataDir, deep: true });
  expect(problems).toEqual([]);
  await own.end();
});
