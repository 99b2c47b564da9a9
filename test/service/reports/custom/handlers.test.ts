/** Custom templates at a hosted service on both engines: create, change, delete, schedule, report, verify. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { reportSectionIds, reportTemplateIds } from '../../../../src/contract/report-words.ts';
import { parseTrust } from '../../../../src/core/note/trust.ts';
import { templateHash } from '../../../../src/core/reports/template-hash.ts';
import { verifyReport, type ReportVerdict } from '../../../../src/core/reports/verify.ts';
import { comparePagesWith } from '../../../../src/core/reports/verify-pages.ts';
import { readReportFonts } from '../../../../src/host/reports/fonts.ts';
import type { Services } from '../../../../src/service/port/services.ts';
import type { Answer } from '../../../support/answer.ts';
import { engines, startService, type Tenant, type TestService } from '../../../support/hosted.ts';
import { reportPeriod } from '../../../support/rows.ts';
import { event } from '../../../support/serving.ts';
import { at, build, cronSecret, work } from '../../support/reporting.ts';

const input = { name: 'Board pack', sections: ['executive-summary/summary', 'policy-changes/changes'] };
const schedule = { name: 'Quarterly', window: 'previous_quarter', cron: '0 6 1 1,4,7,10 *' };
const fonts = await readReportFonts();

describe.each(engines)('custom templates on %s', (engine) => {
  let service: TestService;
  let services: Services;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await startService({
      engine,
      env: { GOV_SCHEDULER: 'cron', GOV_CRON_SECRET: cronSecret },
    });
    ({ services } = service);
    tenant = await service.signUp('ada');
    for (const runId of ['one', 'two']) await tenant.call('POST', '/events', { body: event({ runId }) });
  });
  afterAll(() => service.end());

  const post = (members: object = {}, headers = {}): Promise<Answer> =>
    tenant.call('POST', '/reporting/templates', { body: { ...input, ...members }, headers });
  const created = async (members: object = {}): Promise<Answer['body']> => {
    const { status, body, text } = await post(members);
    expect(status, text).toBe(201);
    return body;
  };
  const pathOf = ({ reportTemplateId }: Answer['body']): string => `/reporting/templates/${reportTemplateId}`;
  const put = (template: Answer['body'], body: object, headers = {}): Promise<Answer> =>
    tenant.call('PUT', pathOf(template), { body, headers });
  const scheduled = (members: object): Promise<Answer> =>
    tenant.call('POST', '/reporting/schedules', { body: { ...schedule, ...members } });
  const systemEvents = async (id: string): Promise<Answer['body'][]> =>
    (await tenant.call('GET', '/events?runId=gov.system&limit=1000')).body.events.filter(
      ({ resource }: Answer['body']) => resource?.id === id,
    );

  it('has defaults, a version and the hash of its definition, and is listed after the built-in ones', async () => {
    const { status, body, headers } = await post();
    expect([status, headers.location, headers.etag]).toEqual([201, `/api/v1${pathOf(body)}`, '"1"']);
    expect(body).toMatchObject({
      ...input,
      builtIn: false,
      title: 'Board pack',
      description: '',
      introduction: null,
      formats: ['pdf'],
      requiresRun: false,
      takesRun: false,
      version: 1,
      definitionHash: templateHash({ ...input, title: 'Board pack', introduction: null }),
    });
    expect(body.reportTemplateId).toMatch(/^tpl_/);
    const shown = await tenant.call('GET', pathOf(body));
    expect([shown.body, shown.headers.etag]).toEqual([body, '"1"']);
    const { data } = (await tenant.call('GET', '/reporting/templates')).body;
    const ids = data.map(({ reportTemplateId }: Answer['body']) => reportTemplateId);
    expect(ids.slice(0, reportTemplateIds.length)).toEqual(reportTemplateIds);
    expect(data).toContainEqual(body);
    expect(data[1]).toMatchObject({ builtIn: true, version: null, requiresRun: true, takesRun: true });
    expect((await tenant.call('GET', '/reporting/templates/run-evidence')).body).toEqual(data[1]);
    const listed = (await tenant.call('GET', '/reporting/sections')).body.data;
    expect(listed.map(({ sectionId }: Answer['body']) => sectionId)).toEqual(reportSectionIds);
    expect(listed).toContainEqual({
      sectionId: 'policy-changes/changes',
      title: 'Changes',
      reportTemplateId: 'policy-changes',
      tables: ['Changes to policies'],
      requiresRun: false,
    });
  });

  it('takes and needs a run as its sections do', async () => {
    const runOf = async (...sections: string[]): Promise<unknown[]> => {
      const { requiresRun, takesRun } = await created({ sections });
      return [requiresRun, takesRun];
    };
    expect(await runOf('policy-changes/changes', 'run-evidence/run')).toEqual([true, true]);
    expect(await runOf('policy-changes/changes', 'replay-drift/drift')).toEqual([false, true]);
    const template = await created({ sections: ['policy-changes/changes', 'run-evidence/run'] });
    const ask = (members: object) =>
      tenant.call('POST', '/reporting/executions', {
        body: {
          reportTemplateId: template.reportTemplateId,
          parameters: { ...reportPeriod, ...members },
          formats: ['csv'],
        },
      });
    expect((await ask({})).body.errors[0]).toMatchObject({ pointer: '/parameters/runId' });
    expect((await ask({ runId: 'one' })).status).toBe(202);
    await build(services);
  });

  it.each([
    ['name', 'n'.repeat(limits.reportTemplateNameChars), 'n'.repeat(limits.reportTemplateNameChars + 1)],
    [
      'description',
      'd'.repeat(limits.reportTemplateDescriptionChars),
      'd'.repeat(limits.reportTemplateDescriptionChars + 1),
    ],
    [
      'introduction',
      'i'.repeat(limits.reportTemplateIntroductionChars),
      'i'.repeat(limits.reportTemplateIntroductionChars + 1),
    ],
    [
      'sections',
      reportSectionIds.slice(0, limits.reportTemplateSections),
      reportSectionIds.slice(0, limits.reportTemplateSections + 1),
    ],
    ['sections', ['tool-access/data'], []],
    ['introduction', 'two\nlines', 'a bell\u0007'],
    ['introduction', null, ' \n '],
    ['title', 'T', 'T\n'],
    ['formats', ['csv', 'pdf'], ['docx']],
  ])('accepts a %s within its bounds and refuses the next', async (member, within, beyond) => {
    await created({ [member]: within });
    const { status, body } = await post({ [member]: beyond });
    expect(status).toBe(400);
    expect(body.errors[0].pointer).toMatch(new RegExp(`^/${member}`));
  });

  it('refuses an unknown section, a repeated one and an unknown member, and lists the sections', async () => {
    const unknown = await post({ sections: ['policy-changes/changes', 'policy-changes/nobodys'] });
    expect(unknown.body.errors[0]).toMatchObject({
      pointer: '/sections/1',
      detail: `expected one of ${reportSectionIds.join(', ')}; got "policy-changes/nobodys"`,
    });
    const repeated = await post({ sections: ['tool-access/data', 'tool-access/data'] });
    expect(repeated.status).toBe(400);
    expect((await post({ paper: 'A4' })).body.code).toBe('UNKNOWN_FIELD');
  });

  it('keeps what a change does not name, adds a version, and records each change in the log', async () => {
    const template = await created();
    const changed = await put(template, { introduction: 'Once a quarter.', formats: ['json', 'csv'] });
    expect(changed.body).toEqual({
      ...template,
      introduction: 'Once a quarter.',
      formats: ['csv', 'json'],
      version: 2,
      definitionHash: changed.body.definitionHash,
      updatedAt: changed.body.updatedAt,
    });
    expect(changed.headers.etag).toBe('"2"');
    expect(changed.body.definitionHash).not.toBe(template.definitionHash);
    // the answer as input is no change, an older one is refused
    expect((await put(template, changed.body)).body).toEqual(changed.body);
    expect((await put(template, template)).body.code).toBe('READ_ONLY_FIELD');
    const stale = await put(template, { name: 'Mine' }, { 'if-match': '"1"' });
    expect([stale.status, stale.body.version]).toEqual([412, 2]);
    expect((await put(template, { name: 'Mine' }, { 'if-match': '"2"' })).body.version).toBe(3);
    const gone = await tenant.call('DELETE', pathOf(template), { headers: { 'if-match': '"2"' } });
    expect(gone.status).toBe(412);
    expect((await tenant.call('DELETE', pathOf(template))).status).toBe(204);
    for (const method of ['GET', 'DELETE'])
      expect((await tenant.call(method, pathOf(template))).status).toBe(404);
    const events = await systemEvents(template.reportTemplateId);
    expect(events.map(({ eventType, metadata }) => [eventType, metadata.version])).toEqual([
      ['report_template.created', 1],
      ['report_template.updated', 2],
      ['report_template.updated', 3],
      ['report_template.deleted', 3],
    ]);
    expect(events[1].metadata).toMatchObject({
      definitionHash: changed.body.definitionHash,
      introduction: 'Once a quarter.',
      sections: input.sections,
    });
  });

  it('of gov itself cannot be changed or deleted, and the answer says how to make an own one', async () => {
    for (const method of ['PUT', 'DELETE']) {
      const body = method === 'PUT' ? { body: { name: 'Mine' } } : {};
      const answer = await tenant.call(method, '/reporting/templates/tool-access', body);
      expect([answer.status, answer.body.code]).toEqual([409, 'CONFLICT']);
      expect(answer.body.detail).toContain('gov report templates create NAME --from tool-access');
    }
  });

  it('with the idempotency key of an earlier request is that template', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await post({}, headers);
    expect((await post({}, headers)).body).toEqual(first.body);
  });

  it('of a schedule is not deleted, nor changed so that the schedule could make no report', async () => {
    const template = await created({ sections: ['replay-drift/replays'], formats: ['csv', 'json'] });
    const { reportTemplateId } = template;
    // a disabled one can be enabled again
    const { body } = await scheduled({ reportTemplateId, enabled: false });
    expect(body).toMatchObject({ reportTemplateId, formats: ['csv', 'json'] });
    const refused = await tenant.call('DELETE', pathOf(template));
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT']);
    expect(refused.body.detail).toContain(`${body.scheduleId} (Quarterly) uses it`);
    const needsRun = await put(template, { sections: ['run-evidence/run'] });
    expect([needsRun.status, needsRun.body.detail]).toEqual([
      409,
      expect.stringContaining(`${body.scheduleId} (Quarterly) uses it, and the sections need a run`),
    ]);
    expect((await put(template, { sections: ['replay-drift/drift'] })).status).toBe(200);
    const path = `/reporting/schedules/${body.scheduleId}`;
    await tenant.call('PUT', path, { body: { reportTemplateId: 'executive-summary' } });
    expect((await tenant.call('DELETE', pathOf(template))).status).toBe(204);
    expect((await scheduled({ reportTemplateId })).status).toBe(404);
  });

  it('that a schedule begins to use is not deleted at the same time', async () => {
    for (let n = 0; n < 5; n++) {
      const template = await created();
      const { reportTemplateId } = template;
      const [made, deleted] = await Promise.all([
        scheduled({ reportTemplateId, enabled: false }),
        tenant.call('DELETE', pathOf(template)),
      ]);
      expect([
        [201, 409],
        [404, 204],
      ]).toContainEqual([made.status, deleted.status]);
    }
  });

  it('of another project is not found', async () => {
    const { reportTemplateId } = await created();
    const other = await service.signUp(`eve-${engine}`);
    const path = `/reporting/templates/${reportTemplateId}`;
    const body = { reportTemplateId, parameters: reportPeriod };
    for (const asked of [
      other.call('GET', path),
      other.call('PUT', path, { body: { name: 'Mine' } }),
      other.call('DELETE', path),
      other.call('POST', '/reporting/executions', { body }),
      other.call('POST', '/reporting/schedules', { body: { ...schedule, reportTemplateId } }),
    ])
      expect((await asked).status).toBe(404);
    const { data } = (await other.call('GET', '/reporting/templates')).body;
    expect(data).toHaveLength(reportTemplateIds.length);
  });

  it('makes reports of its version at the request, which verify after it was changed and deleted', async () => {
    // the pages are the same on both engines
    const formats = engine === 'sqlite' ? ['pdf', 'json'] : ['json'];
    const template = await created({ introduction: 'For the board.', formats });
    const { reportTemplateId, definitionHash } = template;
    const body = { reportTemplateId, parameters: reportPeriod };
    const { executionId } = (await tenant.call('POST', '/reporting/executions', { body })).body;
    await put(template, { name: 'Other', introduction: null, sections: ['tool-access/data'] });
    expect((await tenant.call('DELETE', pathOf(template))).status).toBe(204);
    await build(services);
    const report = (await tenant.call('GET', `/reporting/executions/${executionId}`)).body;
    expect(report).toMatchObject({ status: 'completed', title: 'Board pack', reportTemplateId });
    const file = async (format: string): Promise<Buffer> =>
      (await tenant.call('GET', `/reporting/executions/${executionId}/download?format=${format}`)).bytes;
    const json = JSON.parse((await file('json')).toString());
    expect(json.template).toEqual({
      version: 1,
      name: 'Board pack',
      title: 'Board pack',
      introduction: 'For the board.',
      sections: input.sections,
    });
    const events = await systemEvents(reportTemplateId);
    expect(events[0].metadata.definitionHash).toBe(definitionHash);
    if (engine !== 'sqlite') return;
    const keys = (await tenant.call('GET', '/log/key')).text.trim().split('\n');
    const trust = parseTrust(`${keys.map((key) => `log ${key}\n`).join('')}quorum none\n`);
    const pages = comparePagesWith(fonts);
    const verify = (bytes: Buffer): Promise<ReportVerdict> => verifyReport(bytes, { trust, pages });
    const pdf = await file('pdf');
    expect(await verify(pdf)).toMatchObject({
      verified: true,
      template: { name: 'Board pack', version: 1, definitionHash },
    });
    const flipped = Buffer.from(pdf);
    flipped[Math.floor(pdf.length / 2)]! ^= 1;
    expect((await verify(flipped)).verified).toBe(false);
  });

  it('of a schedule makes the report that is due, with the newest definition', async () => {
    const template = await created();
    const { reportTemplateId } = template;
    const { body } = await scheduled({ reportTemplateId, formats: ['json'] });
    await put(template, { title: 'Of the board' });
    const due = at(services, Date.parse(body.nextRunAt));
    await work(due, 'schedules');
    await build(due);
    const path = `/reporting/schedules/${body.scheduleId}`;
    const { lastExecutionId, errorSummary } = (await tenant.call('GET', path)).body;
    expect(errorSummary).toBe(null);
    const report = (await tenant.call('GET', `/reporting/executions/${lastExecutionId}`)).body;
    expect(report).toMatchObject({ status: 'completed', title: 'Of the board', reportTemplateId });
    const listed = await tenant.call('GET', `/reporting/executions?reportTemplateId=${reportTemplateId}`);
    expect(listed.body.data).toHaveLength(1);
  });

  it('beyond the limit of the project is refused, and one more fits after a deletion', async () => {
    const all = async (): Promise<Answer['body'][]> =>
      (await tenant.call('GET', '/reporting/templates')).body.data.slice(reportTemplateIds.length);
    for (let n = (await all()).length; n < limits.reportTemplatesKept; n++) await created();
    const { status, body } = await post();
    expect([status, body.detail]).toEqual([
      409,
      expect.stringContaining(`fewer than ${limits.reportTemplatesKept}`),
    ]);
    const [newest, ...others] = await all();
    expect(others).toHaveLength(limits.reportTemplatesKept - 1);
    await tenant.call('DELETE', pathOf(newest));
    await created();
  });
});
