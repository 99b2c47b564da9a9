/** Reports of custom templates: sections of built-in ones, with their own figures, checks, tables and evidence. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  reportSectionIds,
  reportTemplateIds,
  templateOfSection,
  type ReportSectionId,
} from '../../../../src/contract/report-words.ts';
import { parseTrust, type Trust } from '../../../../src/core/note/trust.ts';
import { verifyAnswer } from '../../../../src/core/proofs/answer.ts';
import type { BuiltReport, ReportTemplate } from '../../../../src/core/reports/model.ts';
import { templateHash } from '../../../../src/core/reports/template-hash.ts';
import { checkUnits } from '../../../../src/core/reports/units.ts';
import { formatTimestamp } from '../../../../src/core/time.ts';
import { composeReport } from '../../../../src/service/reports/custom/compose.ts';
import { checks } from '../../../../src/service/reports/checks/names.ts';
import { sectionOf, templates } from '../../../../src/service/reports/templates/list.ts';
import { nameAmongAll } from '../../../../src/service/reports/templates/source.ts';
import { startService, type TestService } from '../../../support/hosted.ts';
import { fill, holdClock, type Filled } from '../templates/filled.ts';
import { built, checksOf, figuresOf, rowsOf, sourceOf, tableOf } from '../templates/world.ts';

let service: TestService;
let known: Filled;
let trust: Trust;
beforeAll(async () => {
  holdClock();
  service = await startService();
  const tenant = await service.signUp('ada');
  known = await fill(tenant);
  const keys = (await tenant.call('GET', '/log/key')).text.trim().split('\n');
  trust = parseTrust(`${keys.map((key) => `log ${key}\n`).join('')}quorum none\n`);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await service.end();
});

const period = () => ({ startMs: known.startMs, endMs: known.endMs });
const templateWith = (chosen: readonly ReportSectionId[], members: Partial<ReportTemplate> = {}) => ({
  version: 1,
  name: 'Board pack',
  title: 'Board pack',
  introduction: null,
  sections: chosen,
  ...members,
});
async function composed(
  chosen: readonly ReportSectionId[],
  { runId = null, template = {} }: { runId?: string | null; template?: Partial<ReportTemplate> } = {},
): Promise<BuiltReport> {
  const source = await sourceOf(service.services, [known.projectId, 'executive-summary'], {
    ...period(),
    runId,
  });
  return composeReport('tpl_01jq3v5k8hf7wb3c9x2m4n6p8r', templateWith(chosen, template), source);
}
const titlesOf = ({ contents }: BuiltReport): string[] => contents.sections.map(({ title }) => title);

describe('the list of sections', () => {
  it('has each section of each template, in the order of its report', () => {
    const declared = reportTemplateIds.flatMap((id) =>
      Object.keys(templates[id].sections).map((key) => `${id}/${key}`),
    );
    expect(reportSectionIds).toEqual(declared);
  });

  it('gives each table of all templates a name of its own', () => {
    const names = reportTemplateIds.flatMap((id) =>
      templates[id].tables.map((table) => nameAmongAll(id, table.id)),
    );
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('a report of a custom template', () => {
  it('has the chosen sections in their order, after its introduction, and says what it leaves out', async () => {
    const chosen = ['tool-access/credentials', 'policy-changes/changes'] as const;
    const template = { introduction: 'For the board.\n\nOnce a quarter.', version: 3 };
    const made = await composed(chosen, { template });
    expect(titlesOf(made)).toEqual([
      'Introduction',
      'Credentials',
      'Changes',
      'How this report was chosen',
      'What this report covers',
    ]);
    expect(made.contents.sections[0]?.blocks).toEqual([{ text: template.introduction }]);
    expect(made.contents.tables.map(({ id }) => id)).toEqual(['tool-access-credentials', 'policy-changes']);
    const text = JSON.stringify(made.contents.sections[3]);
    expect(text).toContain(templateHash(templateWith(chosen, template)));
    expect(text).toContain(
      'Left out of these built-in templates: What was in force (policy-changes/in-force); Risk router (policy-changes/risk-router); Granted and used (tool-access/tools); Data (tool-access/data).',
    );
    // of its sections alone
    const changes = sectionOf('policy-changes/changes');
    expect(Object.keys(figuresOf(made))).toEqual([
      'tool-access.credentials',
      ...Object.keys(changes.figures ?? {}).map((name) => `policy-changes.${name}`),
    ]);
    expect(Object.keys(checksOf(made))).toEqual([
      ...(changes.checks ?? []).map((id) => checks[id]),
      'The rows come from the signed log',
      'The log signed the checkpoint',
      'Witnesses cosigned the checkpoint',
      'The table “Changes to API keys” has every row that the signed log lists',
    ]);
  });

  it('has the rows and the completeness of the built-in report, and only its answers', async () => {
    const made = await composed(['policy-changes/changes', 'decisions-exceptions/decisions']);
    const whole = await built(service.services, [known.projectId, 'policy-changes'], period());
    const [mine, theirs] = [tableOf(made, 'policy-changes'), tableOf(whole, 'policy-changes')];
    expect(mine).toEqual(theirs);
    expect([...made.attachments.keys()]).toEqual([
      'policy-changes.govanswer.json',
      'decisions-exceptions-decisions.govanswer.json',
    ]);
    for (const [name, bytes] of made.attachments)
      expect([name, verifyAnswer(bytes, trust)]).toMatchObject([name, { verified: true }]);
    expect(tableOf(made, 'decisions-exceptions-decisions').completeness).toMatchObject({
      status: 'proven',
      detail: expect.stringContaining('decisions-exceptions-decisions.govanswer.json shows it'),
    });
  });

  it('has the proof of units if it has their table, under the name of the table', async () => {
    const made = await composed(['usage-statement/units', 'policy-changes/changes']);
    const table = 'usage-statement-units-by-day';
    expect(tableOf(made, table).completeness.detail).toContain(`${table}.govunits.json has its leaves`);
    const of = {
      parameters: { startTime: formatTimestamp(known.startMs), endTime: formatTimestamp(known.endMs) },
      tables: made.contents.tables,
    };
    expect(checkUnits(made.attachments.get(`${table}.govunits.json`)!, of, { trust, table })).toBeNull();
    const without = await composed(['usage-statement/billing']);
    expect([...without.attachments.keys()]).toEqual(['metering.checkpoint']);
  });

  it('of one run has its proof once, and says which sections cover every run', async () => {
    const chosen = ['run-evidence/events', 'incident-bundle/timeline', 'policy-changes/changes'] as const;
    const made = await composed(chosen, { runId: 'r1' });
    const proof = `${known.proofId}.govproof.json`;
    expect([...made.attachments.keys()].filter((name) => name.endsWith('.govproof.json'))).toEqual([proof]);
    expect(titlesOf(made).slice(0, 3)).toEqual([
      'What happened (Run evidence)',
      'What happened (Incident bundle)',
      'Changes',
    ]);
    const everyRun = { text: 'This section covers every run of the period.' };
    expect(made.contents.sections.map(({ blocks }) => blocks[0])).toEqual([
      { table: 'run-evidence-events' },
      expect.objectContaining({ text: expect.stringContaining('failure') }),
      everyRun,
      expect.anything(),
      expect.anything(),
    ]);
    expect(rowsOf(made, 'policy-changes', 'policyId').length).toBeGreaterThan(0);
    await expect(composed(chosen)).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });

  it('says once what two sections say in the same words, and names the template where they differ', async () => {
    const made = await composed(
      ['ai-act-logging/oversight', 'decisions-exceptions/approvals', 'executive-summary/summary'],
      { runId: 'r2' },
    );
    expect(
      Object.keys(checksOf(made)).filter((name) => name.startsWith('The requests for approval')),
    ).toEqual([
      'The requests for approval were answered',
      'The requests for approval were answered (Decisions and exceptions)',
    ]);
    const same = await composed(['ai-act-logging/oversight', 'decisions-exceptions/approvals']);
    expect(
      Object.keys(checksOf(same)).filter((name) => name.startsWith('The requests for approval')),
    ).toHaveLength(1);
    const labels = same.contents.figures.map(({ label }) => label);
    expect(new Set(labels).size).toBe(labels.length);
  });

  it('without a table, and with every section that needs no run, is built too', async () => {
    const few = await composed(['integrity-completeness/clocks', 'ai-act-logging/law']);
    expect(few.contents.tables).toEqual([]);
    const all = reportSectionIds.filter((id) => templateOfSection(id) !== 'run-evidence');
    const made = await composed(all);
    expect(made.contents.sections).toHaveLength(all.length + 2);
    const ids = made.contents.tables.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(made.attachments.has('metering.checkpoint')).toBe(true);
  });
});
