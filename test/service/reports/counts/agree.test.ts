/** What several reports count of one log, they count alike. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ReportTemplateId } from '../../../../src/contract/report-words.ts';
import type { BuiltReport, ReportCell } from '../../../../src/core/reports/model.ts';
import { startService, type TestService } from '../../../support/hosted.ts';
import { event } from '../../../support/serving.ts';
import { governing } from '../../support/governed.ts';
import { fill, holdClock } from '../templates/filled.ts';
import { hostileLog } from '../checks/hostile.ts';
import { built, figuresOf, rowsOf } from '../templates/world.ts';

let service: TestService;
const projects: Record<string, string> = {};
beforeAll(async () => {
  holdClock();
  service = await startService();
  projects['known'] = (await fill(await service.signUp('ada'))).projectId;
  projects['hostile'] = (await hostileLog(service, await service.signUp('eve'))).projectId;
  const wild = await service.signUp('wil');
  projects['wild'] = (await wild.call('GET', '/auth/identity')).body.projectId;
  // decisions about calls that never ran, and calls of a tool that nobody decided
  const gov = governing({ call: wild.call, keys: {} } as never);
  for (let n = 1; n <= 5; n++) {
    await gov.tool(`asked-${n}`, 'read');
    const resource = { name: 'wire.transfer', type: 'tool' };
    const of = { runId: `wild-${n}`, eventType: 'tool.call', resource, metadata: { toolCallId: `c${n}` } };
    await gov.must('POST', '/events', event(of));
  }
});
afterAll(async () => {
  vi.restoreAllMocks();
  await service.end();
});

type Reports = Readonly<Partial<Record<ReportTemplateId, BuiltReport>>>;
type Read = (report: BuiltReport) => ReportCell | undefined;
type Reading = readonly [template: ReportTemplateId, read: Read];

const figures =
  (...names: string[]): Read =>
  (report) =>
    names.reduce((sum, name) => sum + Number(figuresOf(report)[name]), 0);
const fact =
  (label: string): Read =>
  ({ contents }) =>
    contents.sections
      .flatMap(({ blocks }) => blocks.flatMap((block) => ('facts' in block ? block.facts : [])))
      .find((each) => each.label === label)?.value;
const topic =
  (name: string, column: 'found' | 'of'): Read =>
  (report) =>
    rowsOf(report, 'attention', 'topic', column).find((row) => row['topic'] === name)?.[column];

const undecided = 'Tool calls without a decision';
const waiting = 'Requests for approval that are still open or expired';

/** Each fact, and every place of a report that states it. */
const facts: Readonly<Record<string, readonly Reading[]>> = {
  'tool calls': [
    ['tool-access', figures('calls')],
    ['executive-summary', topic(undecided, 'of')],
    ['ai-act-logging', fact('Tool calls')],
  ],
  'tool calls without a decision': [
    ['tool-access', figures('undecided')],
    ['executive-summary', topic(undecided, 'found')],
    ['ai-act-logging', fact(undecided)],
  ],
  'calls that were blocked or denied': [
    ['tool-access', figures('refused')],
    ['executive-summary', topic('Tool calls that were blocked or denied', 'found')],
    ['ai-act-logging', fact('Calls that were blocked or denied')],
  ],
  'policy decisions': [
    ['decisions-exceptions', figures('evaluations')],
    ['executive-summary', topic('Actions that policies denied', 'of')],
    ['ai-act-logging', fact('Policy decisions')],
  ],
  'denied or escalated decisions': [
    ['decisions-exceptions', figures('exceptions')],
    ['ai-act-logging', fact('Denied or escalated by policies')],
  ],
  'requests without an answer': [
    ['decisions-exceptions', figures('open', 'expired')],
    ['executive-summary', topic(waiting, 'found')],
  ],
  'requests for approval': [
    ['decisions-exceptions', fact('Requests for approval')],
    ['executive-summary', topic(waiting, 'of')],
  ],
  'decided requests': [
    ['decisions-exceptions', figures('approved', 'refused')],
    ['executive-summary', figures('approvals')],
    ['ai-act-logging', figures('oversight')],
  ],
  events: [
    ['ai-act-logging', figures('events')],
    ['executive-summary', figures('events')],
    ['integrity-completeness', figures('events')],
  ],
  runs: [
    ['ai-act-logging', figures('runs')],
    ['executive-summary', figures('runs')],
    ['replay-drift', figures('runs')],
  ],
  replays: [
    ['replay-drift', figures('replays')],
    ['executive-summary', topic('Replays that differ from the record', 'of')],
    ['ai-act-logging', fact('Replays')],
  ],
  'faults of recording': [
    ['integrity-completeness', figures('faults')],
    ['executive-summary', topic('Faults and gaps of recording', 'found')],
  ],
  'changes to policies': [
    ['policy-changes', figures('changes')],
    ['executive-summary', topic('Changes to policies', 'found')],
  ],
};
const used = [...new Set(Object.values(facts).flatMap((readings) => readings.map(([id]) => id)))];

describe.each(['known', 'hostile', 'wild'])('the reports of the log “%s”', (log) => {
  const reports: { [id in ReportTemplateId]?: BuiltReport } = {};
  beforeAll(async () => {
    for (const id of used) reports[id] = await built(service.services, [String(projects[log]), id]);
  });
  const read = (of: Reports, [id, reading]: Reading): ReportCell | undefined => {
    const report = of[id];
    return report === undefined ? undefined : reading(report);
  };

  it.each(Object.entries(facts))('agree about %s', (_name, readings) => {
    const said = readings.map((reading) => [reading[0], read(reports, reading)]);
    const [[, first] = []] = said;
    expect(typeof first).toBe('number');
    expect(said).toEqual(readings.map(([id]) => [id, first]));
  });
});

it('five calls of a tool that nobody decided are five, however many other calls were decided', async () => {
  const made = await built(service.services, [String(projects['wild']), 'executive-summary']);
  expect([topic(undecided, 'found')(made), topic(undecided, 'of')(made)]).toEqual([5, 5]);
  const whole = await built(service.services, [String(projects['wild']), 'integrity-completeness']);
  expect(whole.contents.checks.find(({ name }) => name === 'Nothing ran ungoverned')).toEqual({
    name: 'Nothing ran ungoverned',
    status: 'fail',
    detail:
      '5 of 5 calls of 10 runs raised an alarm: 5 ran without a decision (5 while no policy was in force), 0 ran after a denial, 0 ran in place of the decided one, 0 lack a source.',
  });
});
