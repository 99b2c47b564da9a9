/** What each template says of a log whose entries are known, of one run, and of a log without any entry of an agent. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { reportTemplateIds } from '../../../../src/contract/report-words.ts';
import { templateOf, templates } from '../../../../src/service/reports/templates/list.ts';
import { startService, type Tenant, type TestService } from '../../../support/hosted.ts';
import { fill, hostile, holdClock, type Filled } from './filled.ts';
import { built, checksOf, figuresOf, rowsOf, tableOf } from './world.ts';

let service: TestService;
let tenant: Tenant;
let known: Filled;
beforeAll(async () => {
  holdClock();
  service = await startService();
  tenant = await service.signUp('ada');
  known = await fill(tenant);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await service.end();
});
type Id = keyof typeof templates;
const wholeRun = 'The index of the log has no further event of the run';
const report = (id: Id, runId: string | null = null) =>
  built(service.services, [known.projectId, id], { startMs: known.startMs, endMs: known.endMs, runId });

describe('ai-act-logging', () => {
  it('lists the runs of the period by system, and not those before or after it', async () => {
    const made = await report('ai-act-logging');
    expect(rowsOf(made, 'periods-of-use', 'runId', 'systemId', 'events', 'begins')).toEqual([
      { runId: 'r2', systemId: null, events: 2, begins: true },
      { runId: 'r1', systemId: 'sys-a', events: 6, begins: true },
    ]);
    expect(rowsOf(made, 'systems', 'systemId', 'runs', 'events')).toEqual([
      { systemId: 'sys-a', runs: 1, events: 3 },
    ]);
    expect(tableOf(made, 'periods-of-use')).toMatchObject({
      exceptions: 1,
      completeness: { status: 'proven' },
    });
    expect(figuresOf(made)).toMatchObject({ systems: 1, runs: 2, events: 8, unnamed: 1, oversight: 1 });
    expect(checksOf(made)).toMatchObject({
      'Events were recorded automatically': 'not_shown',
      'Each run names its AI system': 'fail',
      'The setting keeps contents for at least six months': 'pass',
    });
  });

  it('prints from when rules apply, and never that they are mandatory since', async () => {
    const text = JSON.stringify((await report('ai-act-logging')).contents);
    expect(text).toContain('applies from 2 December 2027');
    expect(text).toContain('Regulation (EU) 2026/1744');
    expect(text).not.toMatch(/mandatory|since August/i);
  });

  it('lists changes of policies in force and of the conditions of runs', async () => {
    const rows = rowsOf(await report('ai-act-logging'), 'modifications', 'kind', 'subject', 'to');
    expect(rows.slice(0, 2)).toEqual([
      { kind: 'policy', subject: 'no-pay', to: 'active, version 2' },
      { kind: 'policy', subject: 'ask-refund', to: 'disabled, version 1' },
    ]);
    expect(rows).toContainEqual({
      kind: 'condition of runs',
      subject: 'modelRoute of run r1',
      to: 'openai/gpt-4o',
    });
  });
});

describe('run-evidence', () => {
  it('shows the whole run, its decisions and its proof', async () => {
    const made = await report('run-evidence', 'r1');
    expect(rowsOf(made, 'events', 'number', 'eventType', 'resource', 'outcome')).toEqual([
      { number: 1, eventType: 'tool.evaluated', resource: 'pay', outcome: 'deny' },
      { number: 0, eventType: 'run.started', resource: 'ledger', outcome: null },
      { number: 2, eventType: 'tool.evaluated', resource: 'refund', outcome: 'escalate' },
      { number: 3, eventType: 'tool.evaluated', resource: 'look', outcome: 'allow' },
      { number: 4, eventType: 'tool.call', resource: 'look', outcome: null },
      { number: 5, eventType: 'tool.call', resource: hostile, outcome: null },
    ]);
    expect(rowsOf(made, 'decisions', 'decision', 'policies', 'approval')).toEqual([
      { decision: 'deny', policies: 'no-pay v1', approval: null },
      { decision: 'escalate', policies: 'ask-refund v1', approval: 'approved' },
      { decision: 'allow', policies: null, approval: null },
    ]);
    expect(figuresOf(made)).toMatchObject({ record: 'whole', compliance: 'no', events: 6, ungoverned: 1 });
    expect([...made.attachments.keys()]).toContain(`${known.proofId}.govproof.json`);
    expect(checksOf(made)).toMatchObject({
      [wholeRun]: 'pass',
      'A proof of the run is attached': 'pass',
      'The run obeyed the policies in force': 'fail',
    });
  });

  it('says which command makes a proof where a run has none', async () => {
    const made = await report('run-evidence', 'r2');
    const check = made.contents.checks.find(({ name }) => name === 'A proof of the run is attached');
    expect(check).toMatchObject({
      status: 'not_shown',
      detail: expect.stringContaining('gov proofs create --run r2'),
    });
    expect(figuresOf(made)).toMatchObject({ compliance: 'not shown', proof: null });
    expect(rowsOf(made, 'events', 'number', 'erased')).toEqual([
      { number: 0, erased: 0 },
      { number: 1, erased: 5 },
    ]);
  });

  it('never says that a run without any event is whole', async () => {
    const made = await report('run-evidence', 'mistyped');
    expect(figuresOf(made)).toMatchObject({ record: 'no event', events: 0 });
    expect(made.contents.checks.find(({ name }) => name === wholeRun)).toMatchObject({
      status: 'not_shown',
      detail: 'The log has no event of a run with the id mistyped. gov runs list shows the runs.',
    });
  });

  it('is refused without a run', async () => {
    await expect(report('run-evidence')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });
});

describe('policy-changes', () => {
  it('lists the changes of the period, and what was in force at its ends', async () => {
    const made = await report('policy-changes');
    const alone = 'Put in force for the principal that wrote it.'; // one key was made with the other
    expect(rowsOf(made, 'policy-changes', 'policyId', 'version', 'change', 'reason', 'remark')).toEqual([
      { policyId: 'no-pay', version: 2, change: 'published', reason: 'ticket 7', remark: alone },
      {
        policyId: 'ask-refund',
        version: 1,
        change: 'transition',
        reason: null,
        remark: 'Taken out of force. No reason.',
      },
      { policyId: 'no-pay', version: 2, change: 'version_added', reason: null, remark: null },
    ]);
    const [published] = rowsOf(made, 'policy-changes', 'actor', 'author');
    expect(published?.['author']).toBe(known.person);
    expect(published?.['actor']).not.toBe(known.person);
    expect(rowsOf(made, 'policies-in-force', 'policyId', 'versionAtStart', 'versionAtEnd', 'change')).toEqual(
      [
        { policyId: 'ask-refund', versionAtStart: 1, versionAtEnd: null, change: 'removed' },
        { policyId: 'no-pay', versionAtStart: 1, versionAtEnd: 2, change: 'changed' },
      ],
    );
    expect(checksOf(made)).toMatchObject({
      'A second person put each version in force': 'fail',
      'Each change of what is in force has a reason': 'fail',
      'The table “Changes to policies” has every row that the signed log lists': 'pass',
    });
  });
});

describe('decisions-exceptions', () => {
  it('lists what was denied and escalated first, with the time to the answer', async () => {
    const made = await report('decisions-exceptions');
    expect(rowsOf(made, 'decisions', 'decision', 'runId', 'approval')).toEqual([
      { decision: 'deny', runId: 'r1', approval: null },
      { decision: 'escalate', runId: 'r1', approval: 'approved' },
      { decision: 'allow', runId: 'r1', approval: null },
    ]);
    const [approval] = rowsOf(
      made,
      'approvals',
      'approvalId',
      'status',
      'approver',
      'openFor',
      'comment',
      'remark',
    );
    expect(approval).toMatchObject({
      approvalId: known.approvalId,
      status: 'approved',
      approver: known.person,
      comment: 'the customer is right',
      remark: null,
    });
    expect(approval?.['openFor']).toBeGreaterThanOrEqual(20_000);
    expect(rowsOf(made, 'risk-decisions', 'action', 'runId')).toEqual([{ action: 'block', runId: 'r1' }]);
    expect(figuresOf(made)).toMatchObject({
      exceptions: 2,
      evaluations: 3,
      denied: 1,
      escalated: 1,
      quick: 0,
    });
  });

  it('of one run, lists only its decisions', async () => {
    const made = await report('decisions-exceptions', 'r2');
    expect(tableOf(made, 'decisions')).toMatchObject({
      population: 0,
      completeness: { status: 'not_shown' },
    });
  });
});

describe('tool-access', () => {
  it('compares what agents were granted with what they used', async () => {
    const made = await report('tool-access');
    expect(rowsOf(made, 'tool-access', 'agent', 'tool', 'status', 'calls', 'undecided')).toEqual([
      { agent: 'teller', tool: hostile, status: 'used without a decision', calls: 1, undecided: 1 },
      { agent: 'teller', tool: 'look', status: 'granted and used', calls: 1, undecided: 0 },
      { agent: 'teller', tool: 'pay', status: 'denied, not used', calls: 0, undecided: 0 },
      { agent: 'teller', tool: 'refund', status: 'asked, not used', calls: 0, undecided: 0 },
    ]);
    expect(rowsOf(made, 'data-access', 'agent', 'eventType', 'times')).toEqual([
      { agent: '(not kept)', eventType: 'memory.read', times: 1 },
    ]);
    expect(figuresOf(made)).toMatchObject({ undecided: 1, calls: 2, unused: 0 });
  });

  it('lists keys that were created in the period', async () => {
    const made = await built(service.services, [known.projectId, 'tool-access'], { endMs: known.startMs });
    expect(rowsOf(made, 'credentials', 'name', 'change', 'scopes')).toContainEqual({
      name: 'person',
      change: 'created',
      scopes: '*',
    });
  });
});

describe('integrity-completeness', () => {
  it('shows that no fault was recorded, and which calls ran without a decision', async () => {
    const made = await report('integrity-completeness');
    expect(figuresOf(made)).toMatchObject({ faults: 0, events: 8, alarms: 1, clock: 0 });
    expect(rowsOf(made, 'coverage-alarms', 'tool', 'verdict')).toEqual([
      { tool: hostile, verdict: 'ungoverned' },
    ]);
    expect(rowsOf(made, 'faults', 'eventType')).toEqual([{ eventType: 'erasure.executed' }]);
    expect(tableOf(made, 'faults')).toMatchObject({ exceptions: 0, completeness: { status: 'proven' } });
    expect(checksOf(made)).toMatchObject({
      'The rows come from the signed log': 'pass',
      'The log signed the checkpoint': 'pass',
      'Witnesses cosigned the checkpoint': 'not_shown',
      'Nothing ran ungoverned': 'fail',
      'No plane broke its own log': 'not_shown',
    });
  });

  it('lists a jump of the clock as a fault', async () => {
    const { services } = service;
    const other = await service.signUp('bob');
    const { projectId } = (await other.call('GET', '/auth/identity')).body;
    const { clockChanged } = await import('../../../../src/service/writes/system.ts');
    const { append } = await import('../../../../src/service/writes/append.ts');
    const leaf = clockChanged(
      { eventType: 'clock.jumped', aheadMs: 7_200_000 },
      { nowMs: Date.now(), salt: services.salt },
    );
    await append(services, { projectId, leaves: [leaf] });
    const made = await built(services, [projectId, 'integrity-completeness']);
    expect(rowsOf(made, 'faults', 'eventType', 'detail')).toEqual([
      { eventType: 'clock.jumped', detail: '{"aheadMs":7200000}' },
    ]);
    expect(checksOf(made)).toMatchObject({ 'The clock of the service did not jump': 'fail' });
  });
});

describe('replay-drift', () => {
  it('lists replays with their gravest drift, and what changed', async () => {
    const made = await report('replay-drift');
    expect(rowsOf(made, 'replays', 'replayId', 'runId', 'result', 'severity', 'mismatches', 'drift')).toEqual(
      [{ replayId: known.replayId, runId: 'r1', result: 'same', severity: 'high', mismatches: 0, drift: 1 }],
    );
    expect(rowsOf(made, 'drift', 'field', 'severity', 'expected', 'actual')).toEqual([
      { field: 'modelRoute', severity: 'high', expected: 'openai/gpt-4o', actual: 'openai/gpt-4o-mini' },
    ]);
    expect(figuresOf(made)).toMatchObject({ differing: 0, replays: 1, high: 1, runsReplayed: 1, runs: 2 });
  });
});

describe('incident-bundle', () => {
  it('lists failures once each, with the deadlines counted from the first one', async () => {
    const made = await report('incident-bundle');
    expect(rowsOf(made, 'timeline', 'runId', 'kind', 'outcome')).toEqual([
      { runId: 'r1', kind: 'policy decision', outcome: 'deny' },
      { runId: 'r1', kind: 'policy decision', outcome: 'escalate' },
      { runId: 'r1', kind: 'risk decision', outcome: 'block' },
      { runId: 'r2', kind: 'tool.result', outcome: 'error' },
      { runId: 'r1', kind: 'replay', outcome: 'different' },
    ]);
    expect(rowsOf(made, 'affected-runs', 'runId', 'failures', 'proofId', 'attached')).toEqual([
      { runId: 'r2', failures: 1, proofId: null, attached: null },
      { runId: 'r1', failures: 4, proofId: known.proofId, attached: `${known.proofId}.govproof.json` },
    ]);
    const first = Date.parse(String(figuresOf(made)['first']));
    const due = made.contents.sections.find(({ title }) => title === 'When reports are due');
    expect(JSON.stringify(due)).toContain(new Date(first + 4 * 3_600_000).toISOString());
    expect(rowsOf(made, 'changes-before', 'subject', 'change')[0]).toEqual({
      subject: 'ask-refund',
      change: 'published: draft to active, version 1',
    });
    expect(tableOf(made, 'changes-before').completeness.status).toBe('proven');
  });

  it('of one run, lists all its events', async () => {
    const made = await report('incident-bundle', 'r2');
    expect(rowsOf(made, 'timeline', 'kind')).toEqual([{ kind: 'tool.result' }, { kind: 'memory.read' }]);
    expect(tableOf(made, 'timeline').exceptions).toBe(1);
  });
});

describe('usage-statement', () => {
  it('counts the units of the period, which counters of quotas confirm', async () => {
    const made = await report('usage-statement');
    expect(rowsOf(made, 'units-by-day', 'auditEvents', 'proofs', 'risks', 'replays')).toEqual([
      { auditEvents: 5, proofs: 1, risks: 1, replays: 1 },
    ]);
    expect(figuresOf(made)).toMatchObject({ audit_event: 5, compliance_proof: 1, risk_decision: 1 });
    expect(checksOf(made)).toMatchObject({ 'The days add up to the totals of the metering log': 'pass' });
    expect([...made.attachments.keys()]).toEqual(['metering.checkpoint', 'units-by-day.govunits.json']);
    const all = await built(service.services, [known.projectId, 'usage-statement']);
    const month = new Date(known.startMs).toISOString().slice(0, 7);
    const { used } = (await tenant.call('GET', `/metering/usage?period=${month}`)).body.items.find(
      ({ type }: { type: string }) => type === 'audit_event',
    );
    expect(rowsOf(all, 'units-by-month', 'month', 'source', 'auditEvents')).toContainEqual({
      month,
      source: 'metering log',
      auditEvents: used,
    });
  });
});

describe('retention-deletion', () => {
  it('certifies that erased values are gone', async () => {
    const made = await report('retention-deletion');
    expect(rowsOf(made, 'erasures', 'erasureId', 'leaves', 'values', 'checked', 'status')).toEqual([
      { erasureId: known.erasureId, leaves: 1, values: 5, checked: 5, status: 'gone' },
    ]);
    expect(figuresOf(made)).toMatchObject({
      values: 5,
      stillStored: 0,
      erasures: 1,
      byRequest: 1,
      prunings: 0,
    });
    expect(checksOf(made)).toMatchObject({ 'Erased values are no longer stored': 'pass' });
  });
});

describe('executive-summary', () => {
  it('counts what needs attention on one page', async () => {
    const made = await report('executive-summary');
    expect(
      rowsOf(made, 'attention', 'topic', 'status', 'found', 'of').filter(
        ({ status }) => status === 'look at it',
      ),
    ).toEqual([
      { topic: 'Actions that policies denied', status: 'look at it', found: 1, of: 3 },
      { topic: 'Actions that policies escalated', status: 'look at it', found: 1, of: 3 },
      { topic: 'Risks that were blocked or escalated', status: 'look at it', found: 1, of: 1 },
      { topic: 'Tool calls without a decision', status: 'look at it', found: 1, of: 2 },
      { topic: 'Replays with drift', status: 'look at it', found: 1, of: 1 },
      { topic: 'Runs that name no AI system', status: 'look at it', found: 1, of: 2 },
    ]);
    expect(figuresOf(made)).toMatchObject({ attention: 6, systems: 1, runs: 2, events: 8, proofs: 1 });
  });
});

describe('every template', () => {
  it('is found by its id, and an unknown id finds none', () => {
    expect(templateOf('policy-changes')).toBe(templates['policy-changes']);
    for (const id of ['', 'tpl_x', '__proto__', 'constructor', 'toString']) expect(templateOf(id)).toBeNull();
  });

  it.each(reportTemplateIds.filter((id) => id !== 'run-evidence'))(
    '%s of a period in which nothing was recorded has no rows and no failed check',
    async (id) => {
      const { projectId } = known;
      const made = await built(service.services, [projectId, id], { startMs: 1000, endMs: 2000 });
      const quiet = new Set(['attention']);
      for (const { id: table, rows, population } of made.contents.tables)
        if (!quiet.has(table)) expect([table, rows, population]).toEqual([table, [], 0]);
      expect(made.contents.checks.filter(({ status }) => status === 'fail')).toEqual([]);
      expect(JSON.stringify(made.contents)).not.toMatch(/NaN|Infinity|undefined/);
    },
  );

  it.each(reportTemplateIds)('%s has the tables that it names, with all their columns', async (id) => {
    const made = await report(id, id === 'run-evidence' ? 'r1' : null);
    const { tables, title, summary } = templates[id];
    expect(
      made.contents.tables.map(({ id: table, title: named, columns }) => [table, named, columns]),
    ).toEqual(tables.map(({ id: table, title: named, columns }) => [table, named, columns]));
    expect(title.length * summary.length).toBeGreaterThan(0);
    const named = made.contents.sections.flatMap(({ blocks }) =>
      blocks.flatMap((block) => ('table' in block ? [block.table] : [])),
    );
    expect(named.toSorted()).toEqual(tables.map(({ id: table }) => table).toSorted());
    for (const { rows, columns, population, omitted, completeness } of made.contents.tables) {
      expect(completeness.detail).toMatch(/\.$/);
      expect(rows.every((row) => row.length === columns.length)).toBe(true);
      expect(omitted === null ? rows.length : population).toBe(population);
    }
  });
});
