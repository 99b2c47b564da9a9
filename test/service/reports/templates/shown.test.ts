/** What a report attaches is verified offline, and a table that nothing shows says why. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { GovError } from '../../../../src/contract/problems.ts';
import { parseTrust, type Trust } from '../../../../src/core/note/trust.ts';
import { verifyAnswer } from '../../../../src/core/proofs/answer.ts';
import { verifyBundle } from '../../../../src/core/proofs/verify.ts';
import { checkUnits } from '../../../../src/core/reports/units.ts';
import { formatTimestamp } from '../../../../src/core/time.ts';
import { templates } from '../../../../src/service/reports/templates/list.ts';
import { Evidence } from '../../../../src/service/reports/templates/shown.ts';
import { periodOf } from '../../../../src/service/reports/templates/period.ts';
import type { ReportHost } from '../../../../src/service/reports/templates/source.ts';
import { engines, startService, type TestService } from '../../../support/hosted.ts';
import { fill, holdClock, type Filled } from './filled.ts';
import { built, checksOf, sourceOf, tableOf } from './world.ts';

describe.each(engines)('the evidence of reports on %s', (engine) => {
  let service: TestService;
  let known: Filled;
  let trust: Trust;
  beforeAll(async () => {
    holdClock();
    service = await startService({ engine });
    const tenant = await service.signUp('ada');
    known = await fill(tenant);
    const keys = (await tenant.call('GET', '/log/key')).text.trim().split('\n');
    trust = parseTrust(`${keys.map((key) => `log ${key}\n`).join('')}quorum none\n`);
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await service.end();
  });

  const inPeriod = () => ({ startMs: known.startMs, endMs: known.endMs });
  const source = (host: ReportHost) =>
    sourceOf(service.services, [known.projectId, 'policy-changes'], inPeriod()).then((made) => ({
      ...made,
      host,
    }));

  it.each([
    'policy-changes',
    'ai-act-logging',
    'tool-access',
    'integrity-completeness',
    'retention-deletion',
  ] as const)('each answer that %s attaches verifies, with the population of its table', async (id) => {
    const made = await built(service.services, [known.projectId, id], inPeriod());
    const answers = [...made.attachments].filter(([name]) => name.endsWith('.govanswer.json'));
    expect(answers.length).toBeGreaterThan(0);
    for (const [name, bytes] of answers)
      expect([name, verifyAnswer(bytes, trust)]).toMatchObject([name, { verified: true }]);
  });

  it('the answer counts the changes of the period, not those before it', async () => {
    const made = await built(service.services, [known.projectId, 'policy-changes'], inPeriod());
    const count = (name: string) => verifyAnswer(made.attachments.get(name)!, trust).count;
    expect(count('policy-changes.govanswer.json')).toBe(tableOf(made, 'policy-changes').population);
    expect(count('policies.govanswer.json')).toBe(7);
  });

  it('the answer of the list of runs counts those that began in a part of the log', async () => {
    const made = await built(service.services, [known.projectId, 'ai-act-logging'], inPeriod());
    const verdict = verifyAnswer(made.attachments.get('runs.govanswer.json')!, trust);
    expect(verdict).toMatchObject({ verified: true, count: 2, question: { key: ['runs'] } });
  });

  it('the proof of a run verifies offline, and shows that no event is missing', async () => {
    const of = { ...inPeriod(), runId: 'r1' };
    const made = await built(service.services, [known.projectId, 'run-evidence'], of);
    const bundle = made.attachments.get(`${known.proofId}.govproof.json`)!;
    const verdict = await verifyBundle(bundle, trust);
    expect(verdict).toMatchObject({ runId: 'r1' });
    expect(verdict.checks.find(({ id }) => id === 'completeness')).toMatchObject({ result: 'passed' });
  });

  it('the units of each day follow from attached leaves of the metering log', async () => {
    for (const of of [inPeriod(), { ...inPeriod(), endMs: known.endMs + 86_400_000 }]) {
      const made = await built(service.services, [known.projectId, 'usage-statement'], of);
      expect(tableOf(made, 'units-by-day').completeness.status).toBe('proven');
      const [startTime, endTime] = [formatTimestamp(of.startMs), formatTimestamp(of.endMs)];
      const bytes = made.attachments.get('units-by-day.govunits.json')!;
      const check = (tables = made.contents.tables) =>
        checkUnits(bytes, { parameters: { startTime, endTime }, tables }, { trust, table: 'units-by-day' });
      expect(check()).toBeNull();
      const fewer = made.contents.tables.map((table) => ({ ...table, rows: table.rows.slice(1) }));
      expect(check(fewer)?.code).toBe('ROW_MISMATCH');
    }
  });

  it('a run that went on after it began earlier is listed and not shown', async () => {
    const of = { startMs: known.startMs + 15_000, endMs: known.endMs };
    const made = await built(service.services, [known.projectId, 'ai-act-logging'], of);
    expect(tableOf(made, 'periods-of-use').completeness).toMatchObject({
      status: 'not_shown',
      detail: expect.stringContaining('1 row began earlier'),
    });
  });

  it('without an index a table says that it is not shown, and which command helps', async () => {
    const host: ReportHost = { answer: async () => null, bundle: async () => null };
    const made = await templates['policy-changes'].build(await source(host));
    expect(tableOf(made, 'policy-changes').completeness).toMatchObject({
      status: 'not_shown',
      detail: expect.stringContaining('gov log index build'),
    });
    expect(made.attachments.size).toBe(0);
  });

  it('an index with more or fewer entries than the table is stated, never called proven', async () => {
    for (const [n, said] of [
      [4, 'recorded 1 more such entry'],
      [2, 'has 2 such entries and the report 3. Run gov log fsck.'],
    ] as const) {
      const host = { answer: async () => ({ bytes: Buffer.from('{}'), count: n }), bundle: async () => null };
      const made = await templates['policy-changes'].build(await source(host));
      expect(tableOf(made, 'policy-changes').completeness).toMatchObject({
        status: 'not_shown',
        detail: expect.stringContaining(said),
      });
    }
  });

  it('too many questions fail no report, and a fault of the store does', async () => {
    const refusing = (code: 'RATE_LIMITED' | 'STORAGE_FAULT'): ReportHost => ({
      answer: async () => Promise.reject(new GovError(code, 'no')),
      bundle: async () => null,
    });
    const made = await templates['policy-changes'].build(await source(refusing('RATE_LIMITED')));
    expect(tableOf(made, 'policy-changes').completeness.status).toBe('not_shown');
    const faulty = templates['policy-changes'].build(await source(refusing('STORAGE_FAULT')));
    await expect(faulty).rejects.toMatchObject({ code: 'STORAGE_FAULT' });
  });

  it('of a long log no question about a part is asked, and the command is named instead', async () => {
    let asked = 0;
    const host = { answer: async () => ((asked += 1), null), bundle: async () => null };
    const long = { ...(await source(host)), treeSize: limits.reportAskLeaves + 1 };
    const period = { ...(await periodOf(await source(host))) };
    const shown = await new Evidence(long, period).shows('x', [{ key: ['leaf', 'gov.policy/1'], rows: 3 }]);
    expect(shown.detail).toMatch(/gov proofs ask --type gov\.policy\/1 --since \S+ --until \S+ answers it/);
    expect(asked).toBe(0);
    await new Evidence(long, period).shows('x', [{ key: ['leaf', 'gov.policy/1'], rows: 3, whole: true }]);
    expect(asked).toBe(1);
  });

  it('a checkpoint of another tree or with an unknown key fails the report', async () => {
    const { services } = service;
    const made = await built(services, [known.projectId, 'executive-summary'], { keys: [] });
    expect(checksOf(made)).toMatchObject({ 'The log signed the checkpoint': 'fail' });
    const { treeSize } = await sourceOf(services, [known.projectId, 'executive-summary']);
    const other = await built(services, [known.projectId, 'executive-summary'], { treeSize: treeSize - 1 });
    expect(checksOf(other)).toMatchObject({ 'The rows come from the signed log': 'fail' });
  });
});
