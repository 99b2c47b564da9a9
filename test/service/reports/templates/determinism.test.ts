/** The same parameters at the same tree size give the same report, on both engines and after the log has grown. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { reportTemplateIds } from '../../../../src/contract/report-words.ts';
import { canonicalText } from '../../../../src/core/json/parse.ts';
import { engines, startService, type Tenant, type TestService } from '../../../support/hosted.ts';
import { event } from '../../../support/serving.ts';
import { fill, holdClock, later, type Filled } from './filled.ts';
import { built, figuresOf, rowsOf } from './world.ts';

describe.each(engines)('templates on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let known: Filled;
  beforeAll(async () => {
    holdClock();
    service = await startService({ engine });
    tenant = await service.signUp('ada');
    known = await fill(tenant);
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await service.end();
  });

  it('each template says the same of the same tree after the log has grown', async () => {
    const { projectId, startMs, endMs } = known;
    const checkpoint = (await service.services.checkpoints.sign(projectId)).note;
    const texts = async () => {
      const made = new Map<string, string>();
      for (const id of reportTemplateIds) {
        const runId = id === 'run-evidence' ? 'r1' : null;
        const report = await built(service.services, [projectId, id], { startMs, endMs, runId, checkpoint });
        made.set(id, canonicalText(report.contents as never));
      }
      return made;
    };
    const before = await texts();
    later(86_400_000);
    const events = [1, 2, 3].map((n) =>
      event({ runId: `later-${n}`, timestamp: new Date(Date.now()).toISOString() }),
    );
    expect((await tenant.call('POST', '/events/batch', { body: { events } })).status).toBe(201);
    await tenant.call('POST', '/mcp/tools/evaluate', {
      body: { tool: { name: 'pay' }, arguments: {}, runId: 'later-1' },
    });
    const after = await texts();
    for (const [id, text] of before) expect([id, after.get(id)]).toEqual([id, text]);
  });

  it('a report that ends in the future reads nothing above its tree', async () => {
    const { projectId } = known;
    const checkpoint = (await service.services.checkpoints.sign(projectId)).note;
    const source = { checkpoint, startMs: known.startMs };
    const before = figuresOf(await built(service.services, [projectId, 'decisions-exceptions'], source));
    await tenant.call('POST', '/mcp/tools/evaluate', {
      body: { tool: { name: 'pay' }, arguments: {}, runId: 'r9' },
    });
    const made = await built(service.services, [projectId, 'decisions-exceptions'], source);
    expect(figuresOf(made)).toEqual(before);
    const [decisions] = made.contents.tables;
    expect(decisions?.completeness).toEqual({
      status: 'not_shown',
      detail: expect.stringContaining('recorded 1 more such entry while the report was made'),
    });
  });

  it('the decisions of the period are the same rows on both engines', async () => {
    const { projectId, startMs, endMs } = known;
    const made = await built(service.services, [projectId, 'decisions-exceptions'], { startMs, endMs });
    expect(rowsOf(made, 'decisions', 'leaf', 'decision', 'policies', 'runId', 'approval')).toEqual([
      { leaf: 15, decision: 'deny', policies: 'no-pay v1', runId: 'r1', approval: null },
      { leaf: 17, decision: 'escalate', policies: 'ask-refund v1', runId: 'r1', approval: 'approved' },
      { leaf: 21, decision: 'allow', policies: null, runId: 'r1', approval: null },
    ]);
  });
});
