/**
 * Task: builds the report of a template and writes its artifacts. All of them show one report: one data hash, one
 * signed checkpoint. Runs in the thread of exports. Proven by `test/service/reports/worker.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { ReportData, ReportFormat, ReportSummary } from '../../contract/report-parts.ts';
import { sha256, sha256Text } from '../../core/hash.ts';
import { unverifiedHead } from '../../core/note/checkpoint.ts';
import { toCsv, toJson } from '../../core/reports/artifacts.ts';
import type { ReportFonts } from '../../core/reports/inputs.ts';
import type { BuiltReport, Report } from '../../core/reports/model.ts';
import { presentationBytes } from '../../core/reports/presentation.ts';
import type { ReportTemplateId } from '../../contract/report-words.ts';
import type { ReportTaskInput } from '../call/report-work.ts';
import type { Task, TaskContext, TaskHost } from '../call/work.ts';
import { chunkBytes } from '../hosting/artifacts.ts';
import { composeReport } from './custom/compose.ts';
import { templates } from './templates/list.ts';

export const report: Task<'report'> = async (context, input) => {
  const built = await buildOf(context, input);
  const made = reportOf(input, built);
  const { branding, paper } = input;
  const fonts = input.formats.includes('pdf') ? await fontsOf(context) : null;
  // once: the JSON of 10,000 events has many megabytes
  const data = toJson(made);
  const hash = sha256Text(data);
  const signature = await context.host.signReport({
    dataHash: hash,
    presentationHash: fonts === null ? null : sha256Text(presentationBytes({ paper, branding, fonts })),
  });
  for (const format of input.formats) {
    await write(
      context.host,
      format,
      await render(format, { input, built, report: made, data, hash, fonts, signature }),
    );
    await context.breathe();
  }
  await write(context.host, 'preview', Buffer.from(JSON.stringify(previewOf(made))));
  return { summary: summaryOf(made, hash), signature: Buffer.from(signature).toString() };
};

function buildOf(context: TaskContext, input: ReportTaskInput): Promise<BuiltReport> {
  const { template, reportTemplateId: id } = input;
  const source = { ...input, ...context };
  if (template !== null) return composeReport(id, template, source);
  const reportTemplateId = id as ReportTemplateId; // checked when it was requested
  return templates[reportTemplateId].build({ ...source, reportTemplateId });
}

function fontsOf({ local }: TaskContext): Promise<ReportFonts> {
  if (local === undefined) throw new Error('expected a thread with fonts');
  return local.fonts();
}

function reportOf(input: ReportTaskInput, { contents, attachments }: BuiltReport): Report {
  const { origin, size, root } = unverifiedHead(input.checkpoint);
  const { startTime, endTime, runId, projectIds } = input.parameters;
  return {
    schemaVersion: '1.0',
    reportTemplateId: input.reportTemplateId,
    ...(input.template === null ? {} : { template: input.template }),
    title: input.title,
    organization: input.organization,
    project: { projectId: input.projectId, name: input.projectName },
    parameters: {
      startTime,
      endTime,
      ...(runId === undefined ? {} : { runId }),
      ...(projectIds === undefined ? {} : { projectIds }),
    },
    timezone: input.timezone,
    locale: input.locale,
    generatedAt: input.generatedAt,
    log: {
      origin,
      treeSize: size,
      rootHash: Buffer.from(root).toString('base64'),
      checkpoint: input.checkpoint,
    },
    attachments: Object.fromEntries(
      [...attachments].map(([name, bytes]) => [name, Buffer.from(sha256(bytes)).toString('hex')]),
    ),
    ...contents,
  };
}

interface RenderInput {
  readonly input: ReportTaskInput;
  readonly built: BuiltReport;
  readonly report: Report;
  /** The report as JSON, and its hash. */
  readonly data: Uint8Array;
  readonly hash: string;
  /** Null for a report without pages. */
  readonly fonts: ReportFonts | null;
  readonly signature: Uint8Array;
}

async function render(
  format: ReportFormat,
  { input, built, report: made, data, hash, fonts, signature }: RenderInput,
): Promise<Uint8Array> {
  switch (format) {
    case 'json':
      return data;
    case 'csv':
      return toCsv(made, hash);
    case 'pdf': {
      if (fonts === null) throw new Error('expected fonts for the pages, got none');
      const { toPdf } = await import('../../core/reports/pdf/render.ts');
      const attachments = [...built.attachments].map(([name, bytes]) => ({ name, bytes }));
      return toPdf(made, input.branding, attachments, { paper: input.paper, fonts, signature });
    }
  }
}

/** Sends copies: the caller gets each buffer. */
async function write(host: TaskHost, name: string, bytes: Uint8Array): Promise<void> {
  await host.file(name);
  for (let at = 0; at < bytes.length; at += chunkBytes)
    await host.write(Uint8Array.from(bytes.subarray(at, at + chunkBytes)));
}

function previewOf({ tables }: Report): ReportData {
  const [first] = tables;
  if (first === undefined) return { columns: [], rows: [], truncated: false };
  const rows = first.rows.slice(0, limits.reportDataRows);
  return {
    columns: first.columns.map(({ name, title, kind }) => ({ name, title, kind })),
    rows: rows.map((row) => [...row]),
    truncated: first.population > rows.length,
  };
}

function summaryOf(made: Report, hash: string): ReportSummary {
  const { checks, figures, tables, log } = made;
  return {
    checks: checks.map(({ name, status, detail }) => ({ name, status, detail })),
    figures: figures.map(({ name, label, value, kind }) => ({ name, label, value, kind })),
    rowCount: tables[0]?.population ?? 0,
    dataHash: hash,
    log: { origin: log.origin, treeSize: log.treeSize, rootHash: log.rootHash },
  };
}
