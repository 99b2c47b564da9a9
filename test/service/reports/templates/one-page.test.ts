/** The executive summary is one page, whatever it says. Needs no other program: pages are counted in the objects. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Report, ReportBranding } from '../../../../src/core/reports/model.ts';
import { readPdf } from '../../../../src/core/reports/read-pdf.ts';
import { readReportFonts } from '../../../../src/host/reports/fonts.ts';
import { plainBranding, sampleReport, signedPdf } from '../../../core/reports/sample.ts';
import { startService, type TestService } from '../../../support/hosted.ts';
import { fill, holdClock, type Filled } from './filled.ts';
import { built } from './world.ts';

let service: TestService;
let known: Filled;
const fonts = await readReportFonts();
beforeAll(async () => {
  holdClock();
  service = await startService();
  known = await fill(await service.signUp('ada'));
});
afterAll(async () => {
  vi.restoreAllMocks();
  await service.end();
});

async function summary(members: { startMs: number; endMs: number }, title: string): Promise<Report> {
  const made = await built(service.services, [known.projectId, 'executive-summary'], members);
  const around = sampleReport({ title, attachments: [] });
  return { ...around, reportTemplateId: 'executive-summary', ...made.contents };
}

/** Every text, number and list as long as the bounds of the contract and of the template let it be. */
function fullest(report: Report): Report {
  const [main] = report.tables;
  if (main === undefined) throw new Error('expected a table, got none');
  const rows = main.rows.map(([topic, , , , details]) => [
    topic ?? null,
    'nothing recorded',
    99_999_999,
    99_999_999,
    details ?? null,
  ]);
  const labels = Array.from({ length: 31 }, (_, day) => `2026-10-${String(day + 1).padStart(2, '0')}`);
  const text = labels.map((label) => `${label}: 1234567`).join(', ');
  const values = labels.map((_, day) => day * 1000);
  return {
    ...report,
    organization: 'W'.repeat(100),
    project: { projectId: report.project.projectId, name: 'W'.repeat(100) },
    timezone: 'America/Argentina/ComodRivadavia',
    figures: report.figures.map((figure) => ({ ...figure, value: 99_999_999 })),
    checks: [
      ...report.checks,
      { name: 'The period is over', status: 'not_shown', detail: 'because '.repeat(60) },
    ],
    tables: [{ ...main, exceptions: rows.length, rows }],
    sections: [
      {
        title: 'In short',
        blocks: [
          { text: 'Agents made 99999999 runs with 99999999 events. '.repeat(3) },
          {
            chart: {
              kind: 'bars',
              title: 'Busiest days (UTC)',
              text,
              labels,
              series: [{ name: 'events', values }],
            },
          },
          { table: main.id },
        ],
      },
    ],
  };
}

const widest: ReportBranding = {
  ...plainBranding,
  companyName: 'W'.repeat(100),
  footerText: 'footer '.repeat(71),
};

async function pagesOf(report: Report, paper: 'A4' | 'Letter', branding = plainBranding): Promise<number> {
  const pdf = await signedPdf(report, { fonts, paper, branding, attachments: [] });
  return [...readPdf(pdf).objects.values()].filter(({ text }) => /\/Type \/Page\n/.test(text)).length;
}

describe.each(['A4', 'Letter'] as const)('the executive summary on %s', (paper) => {
  it('is one page', async () => {
    const { startMs, endMs } = known;
    expect(await pagesOf(await summary({ startMs, endMs }, 'Executive summary'), paper)).toBe(1);
  });

  it('is one page for a period in which nothing was recorded', async () => {
    expect(await pagesOf(await summary({ startMs: 1000, endMs: 2000 }, 'Quiet summary'), paper)).toBe(1);
  });

  it('is one page with the longest texts and the largest numbers', async () => {
    const { startMs, endMs } = known;
    const report = fullest(await summary({ startMs, endMs }, 'Wide words '.repeat(18)));
    expect(await pagesOf(report, paper, widest)).toBe(1);
  });
});
