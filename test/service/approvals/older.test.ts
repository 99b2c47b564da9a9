/** Approvals that an older release opened are bound as it bound them: to the whole call and its actor. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { planeServe } from '../../../plane/serve/start.ts';
import { argumentsHash, draftEvaluation, openEvaluation } from '../../../src/core/decided/evaluation.ts';
import { openLeaf } from '../../../src/core/decided/leaf.ts';
import { saltPool } from '../../../src/core/events/disclosure.ts';
import { typeId } from '../../../src/core/id.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { parseTimestamp } from '../../../src/core/time.ts';
import { projectOf, readPlaneFile } from '../../../src/host/data/config.ts';
import { readKeys } from '../../../src/host/keys/disk.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { deriveSecrets } from '../../../src/service/call/secrets.ts';
import { openStore } from '../../../src/store/sqlite/store.ts';
import { startPlane } from '../../support/serving.ts';
import { governing } from '../support/governed.ts';

const call = (change: Record<string, unknown> = {}) => ({
  tool: { name: 'Bash' },
  arguments: { command: 'ls', description: 'List' },
  actor: 'claude-code',
  client: { name: 'claude-code' },
  facts: { cwd: '/w' },
  ...change,
});
const runs = ['older', 'older-description', 'older-actor'];

/** Opens approvals like the one of an evaluation, with the rows and leaves that an older release wrote. */
async function openOlder(dataDir: string, evaluationId: string): Promise<string[]> {
  const { projectId } = projectOf(readPlaneFile(join(dataDir, 'plane.json')));
  const store = openStore({ dataDir, clock: { now: Date.now }, randomBytes, reserveBytes: 0 });
  const { fingerprint } = deriveSecrets(readKeys(dataDir).storeKey);
  const leaf = await store.leafOf(projectId, 'gov.evaluation/1', evaluationId);
  const { list: _list, asked: _asked, picked: _picked, ...first } = openEvaluation(openLeaf(leaf!));
  const { binding, ...approval } = first.approval!;
  expect(binding).toBe('gov.subject/1');
  const opened: string[] = [];
  for (const runId of runs) {
    const [id, approvalId] = (['pev', 'apr'] as const).map((kind) =>
      typeId(kind, Date.now(), randomBytes(10)),
    );
    const checkpoint = { context: { ...(first.checkpoint!['context'] as object), runId } };
    const older = { ...first, id: id!, runId, checkpoint, approval: { ...approval, id: approvalId! } };
    const callKey = fingerprint(
      canonicalize({
        principal: approval.requestedBy,
        run: runId,
        tool: call().tool,
        arguments: argumentsHash(call().arguments).hash,
        actor: call().actor,
        policies: { policySetHash: first.policySetHash, policyIds: null },
        context: { context: { tool: { name: 'Bash' } } },
      }),
    );
    const row = {
      approvalId: approvalId!,
      evaluationId: id!,
      runId,
      reason: first.decisions[0]!.reasoning,
      requestedMs: parseTimestamp(first.evaluatedAt)!,
      requestedBy: approval.requestedBy,
      expiresMs: parseTimestamp(approval.expiresAt)!,
      decision: null,
      callKey,
      used: null,
    };
    await store.append({
      projectId,
      leaves: [draftEvaluation(older, saltPool(randomBytes))],
      meter: { op: 'none', units: 0 },
      effects: [{ kind: 'openApproval', approval: row, newest: null }],
    });
    opened.push(approvalId!);
  }
  await store.close();
  return opened;
}

it('an approval of an older release allows its call once, as that release bound it', async () => {
  const plane = await startPlane({ extraKeys: { person: { scopes: ['approvals:decide'] } } });
  const gov = governing(plane);
  await gov.policy('ask', { '==': [{ var: 'tool.name' }, 'Bash'] }, 'escalate');
  const { evaluationId } = await gov.must('POST', '/mcp/tools/evaluate', { runId: 'now', ...call() });
  await plane.close();
  const older = await openOlder(plane.dataDir, evaluationId);
  const again = await planeServe({ log: silentLog, env: {}, presence: 'none', dataDir: plane.dataDir });
  const must = (path: string, body: unknown, key?: string) =>
    gov.must('POST', `${again.baseUrl}${path}`, body, key);
  for (const approvalId of older)
    await must(`/approvals/${approvalId}/decision`, { outcome: 'approved' }, plane.keys['person']);
  const evaluate = (runId: string, change = {}) => must('/mcp/tools/evaluate', { runId, ...call(change) });
  expect(await evaluate('older')).toMatchObject({ allowed: true, approvalId: older[0] });
  expect(await evaluate('older')).toMatchObject({ allowed: false });
  const described = { arguments: { command: 'ls', description: 'List again' } };
  expect(await evaluate('older-description', described)).toMatchObject({ allowed: false });
  expect(await evaluate('older-actor', { actor: 'other' })).toMatchObject({ allowed: false });
  await again.close();
  await plane.end();
});
