/** Builds a template over a running service, in place: what the task of a report does in the thread of exports. */
import type { ReportTemplateId } from '../../../../src/contract/report-words.ts';
import type { BuiltReport, ReportCell, ReportTable } from '../../../../src/core/reports/model.ts';
import { defaultSettings } from '../../../../src/service/call/settings.ts';
import { answerFile } from '../../../../src/service/completeness/handlers.ts';
import type { Services } from '../../../../src/service/port/services.ts';
import { openOwn } from '../../../../src/service/log/checkpoints.ts';
import { streamedBundle } from '../../../../src/service/proofs/bundle-stream.ts';
import { makeBundle } from '../../../../src/service/proofs/handlers.ts';
import { templates } from '../../../../src/service/reports/templates/list.ts';
import type { ReportHost, ReportSource } from '../../../../src/service/reports/templates/source.ts';
import type { DraftedReport } from '../../../../src/service/reports/templates/sections.ts';
import type { ReportInput } from '../../../../src/service/call/report-work.ts';

type Members = Partial<Omit<ReportInput, 'reportTemplateId' | 'projectId'>>;

/** The start and end of all times. */
const always = { startMs: 0, endMs: Date.parse('2100-01-01T00:00:00Z') };

export async function sourceOf(
  services: Services,
  [projectId, reportTemplateId]: readonly [projectId: string, reportTemplateId: ReportTemplateId],
  members: Members = {},
): Promise<ReportSource> {
  const checkpoint = members.checkpoint ?? (await services.checkpoints.sign(projectId)).note;
  await services.checkpoints.sign(projectId, 'metering');
  const { size, origin } = openOwn(checkpoint);
  return {
    reportTemplateId,
    projectId,
    ...always,
    runId: null,
    treeSize: size,
    checkpoint,
    timezone: 'UTC',
    installation: 'service',
    settings: defaultSettings,
    keys: services.verifierKeys(origin),
    witnesses: { keys: [], quorum: 0 },
    ...members,
    reader: services.store,
    host: hostOf(services, projectId),
    breathe: async () => {},
  };
}

function hostOf(services: Services, projectId: string): ReportHost {
  return {
    answer: async (ask) => {
      const { text, count } = await answerFile(services, projectId, ask);
      return { bytes: Buffer.from(text), count };
    },
    bundle: async ({ proofId, most }) => {
      const stored = await services.store.proof(projectId, proofId);
      if (stored === null) return null;
      const made = await makeBundle(services, projectId, { stored });
      if (made instanceof Uint8Array) return made.length <= most ? made : null;
      const parts: Uint8Array[] = [];
      for await (const part of streamedBundle(services, made).chunks()) parts.push(part);
      return Buffer.concat(parts);
    },
  };
}

export async function built(
  services: Services,
  of: readonly [projectId: string, reportTemplateId: ReportTemplateId],
  members: Members = {},
): Promise<DraftedReport> {
  return templates[of[1]].build(await sourceOf(services, of, members));
}

export const tableOf = ({ contents }: BuiltReport, id: string): ReportTable => {
  const found = contents.tables.find((table) => table.id === id);
  if (found === undefined) throw new Error(`expected a table ${id}`);
  return found;
};

/** Rows as objects by column, with only these columns. */
export const rowsOf = (
  report: BuiltReport,
  id: string,
  ...names: readonly string[]
): readonly Record<string, ReportCell>[] => {
  const { columns, rows } = tableOf(report, id);
  return rows.map((row) =>
    Object.fromEntries(
      columns.flatMap(({ name }, at) => (names.includes(name) ? [[name, row[at] ?? null]] : [])),
    ),
  );
};

export const figuresOf = ({ contents }: BuiltReport): Record<string, ReportCell> =>
  Object.fromEntries(contents.figures.map(({ name, value }) => [name, value]));

export const checksOf = ({ contents }: BuiltReport): Record<string, string> =>
  Object.fromEntries(contents.checks.map(({ name, status }) => [name, status]));
