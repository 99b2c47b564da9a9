/** What whoever owns the database writes into a log as if it had been decided. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { planeServe } from '../../../plane/serve/start.ts';
import { draftEvaluation, openEvaluation } from '../../../src/core/decided/evaluation.ts';
import { openLeaf } from '../../../src/core/decided/leaf.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { openStore } from '../../../src/store/sqlite/store.ts';
import { send, startPlane, type CallOptions } from '../../support/serving.ts';
import { governing } from '../support/governed.ts';

describe('an evaluation that the operator forges below the service', () => {
  it('a forged evaluation against a replaced policy set cannot be recorded, and fails the layer when it is', async () => {
    const own = await startPlane();
    const before = governing(own);
    await before.policy('no-shell', { 'tool.name': 'shell' }, 'deny');
    await before.tool('honest', 'search');
    await before.policy('no-shell', { 'tool.name': 'bash' }, 'deny');
    await own.close();

    const store = openStore({ dataDir: own.dataDir, clock: { now: Date.now }, randomBytes, reserveBytes: 0 });
    const [{ project_id: projectId }] = await own.sql('SELECT project_id FROM project');
    const [leaf] = await store.leavesOf(
      projectId,
      { type: 'gov.evaluation/1', runId: 'honest' },
      { limit: 1, order: 'asc' },
    );
    const { list: _list, ...old } = openEvaluation(openLeaf(leaf!));
    const salt = () => randomBytes(16).toString('base64url');
    const meter = { op: 'none', units: 0 } as const;
    const forged = { ...old, id: old.id.replace(/.$/, '0'), runId: 'forged' };
    const leaves = [draftEvaluation(forged, salt)];
    const { policyIndex } = await store.policiesInForce(projectId);
    expect(policyIndex).toBeGreaterThan(old.policyIndex!);
    const decidedBy = { policyIndex: old.policyIndex };
    expect((await store.append({ projectId, leaves, meter, expect: decidedBy })).outcome).toBe('outdated');
    expect((await store.append({ projectId, leaves, meter })).outcome).toBe('stored');
    const lie = { ...forged, id: old.id.replace(/.$/, '1'), runId: 'lied', combined: 'deny' } as const;
    await store.append({ projectId, leaves: [draftEvaluation(lie, salt)], meter });
    await store.close();

    const again = await planeServe({
      dataDir: own.dataDir,
      log: silentLog,
      env: {},
      overloadDelayMs: 60_000,
    });
    const after = governing({
      keys: {},
      call: (method: string, path: string, options: CallOptions = {}) =>
        send(method, `${again.baseUrl}${path}`, { key: own.key, ...options }),
    });
    for (const runId of ['forged', 'lied']) await after.ran(runId, {}, 'output.delivered');
    expect((await after.layer('forged', 'policy_compliance')).failed).toContain('sets_were_in_force');
    expect((await after.layer('lied', 'policy_compliance')).failed).toContain('decisions_recompute');
    await again.close();
    await own.end();
  });
});
