/**
 * Builds the report of a custom template: sections of built-in templates, each built once by its own template, with its
 * figures, checks, tables and evidence. It writes no evidence itself, and says what was left out. A pure function of the
 * definition and of leaves below a tree size. Proven by `test/service/reports/custom/compose.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import {
  reportSectionIds,
  templateOfSection,
  type ReportSectionId,
  type ReportTemplateId,
} from '../../../contract/report-words.ts';
import { answerEnd, proofEnd, unitsEnd } from '../../../core/reports/inputs.ts';
import type {
  BuiltReport,
  ReportBlock,
  ReportFigure,
  ReportSection,
  ReportTable,
  ReportTemplate,
} from '../../../core/reports/model.ts';
import { templateHash } from '../../../core/reports/template-hash.ts';
import { renamed, type JudgedCheck } from '../checks/verdict.ts';
import { completed, draftOf, factsOf } from '../templates/draft.ts';
import { keyOf, sectionOf, templates } from '../templates/list.ts';
import { nameAmongAll, type ReportHost, type ReportSource } from '../templates/source.ts';
import type { DraftedReport, DraftedSection } from '../templates/sections.ts';

/** A source before a template is chosen. */
export type ComposedSource = Omit<ReportSource, 'reportTemplateId' | 'filesOf'>;

export async function composeReport(
  reportTemplateId: string,
  template: ReportTemplate,
  given: ComposedSource,
): Promise<BuiltReport> {
  const chosen = template.sections as readonly ReportSectionId[]; // checked when the template was written
  const built = await builtBy([...new Set(chosen.map(templateOfSection))], given);
  const draft = await draftOf({ ...given, reportTemplateId: templateOfSection(chosen[0] ?? first) });
  const used = [...built.keys()];
  const parts = chosen.map((id) => partOf(id, built));
  const { introduction } = template;
  const { checks, figures } = summaryOf(parts);
  const sections = [
    ...(introduction === null ? [] : [{ title: 'Introduction', blocks: [{ text: introduction }] }]),
    ...parts.map((part) => sectionIn(parts, part, given.runId)),
    { title: 'How this report was chosen', blocks: choiceBlocks(reportTemplateId, template, used) },
  ];
  const tables = parts.flatMap((part) => part.tables);
  const choices = used.map((id) =>
    used.length === 1 ? templates[id].choices : `${templates[id].title}: ${templates[id].choices}`,
  );
  const contents = await completed(draft, { checks, figures: () => figures, sections, tables }, choices);
  return { contents, attachments: attachmentsOf(built, contents.tables) };
}

const [first] = reportSectionIds;

type BuiltBy = ReadonlyMap<ReportTemplateId, DraftedReport>;

async function builtBy(ids: readonly ReportTemplateId[], source: ComposedSource): Promise<BuiltBy> {
  const host = onceEach(source.host);
  const built = new Map<ReportTemplateId, DraftedReport>();
  for (const id of ids) {
    const runId = templates[id].run === undefined ? null : source.runId;
    built.set(id, await templates[id].build({ ...source, reportTemplateId: id, filesOf: id, runId, host }));
    await source.breathe();
  }
  return built;
}

/** Makes the bundle of a proof once, and bounds the bytes of all of them as in a report of one template. */
function onceEach(host: ReportHost): ReportHost {
  const bundles = new Map<string, Uint8Array>();
  let bytes = 0;
  return {
    answer: (ask) => host.answer(ask),
    async bundle({ proofId, most }) {
      const kept = bundles.get(proofId);
      if (kept !== undefined) return kept;
      const made = await host.bundle({ proofId, most: Math.min(most, limits.reportProofBytes - bytes) });
      if (made === null) return null;
      bytes += made.length;
      bundles.set(proofId, made);
      return made;
    },
  };
}

interface Part extends DraftedSection {
  readonly template: ReportTemplateId;
}

/** A chosen section, whose tables have names that are unique among those of all templates. */
function partOf(id: ReportSectionId, built: BuiltBy): Part {
  const template = templateOfSection(id);
  const section = built.get(template)?.own.get(keyOf(id));
  if (section === undefined) throw new Error(`expected the section ${id}, got none`);
  const blocks = section.blocks.map((block) =>
    'table' in block ? { table: nameAmongAll(template, block.table) } : block,
  );
  const tables = section.tables.map((table) => ({ ...table, id: nameAmongAll(template, table.id) }));
  return { ...section, template, blocks, tables };
}

function sectionIn(
  parts: readonly Part[],
  { title, template, blocks }: Part,
  runId: string | null,
): ReportSection {
  const isOnly = parts.filter((other) => other.title === title).length === 1;
  const everyRun =
    runId !== null && templates[template].run === undefined
      ? [{ text: 'This section covers every run of the period.' }]
      : [];
  return {
    title: isOnly ? title : `${title} (${templates[template].title})`,
    blocks: [...everyRun, ...blocks],
  };
}

/** Figures and checks of the sections, in their order. What two templates say in the same words is said once. */
function summaryOf(parts: readonly Part[]): { figures: ReportFigure[]; checks: JudgedCheck[] } {
  const said = new Map<string, string>();
  /** Null for a repetition; another statement under the same name gets that of its template, too. */
  const nameOf = (name: string, template: ReportTemplateId, statement: unknown): string | null => {
    const text = JSON.stringify(statement);
    const before = said.get(name);
    said.set(name, before ?? text);
    if (before === undefined) return name;
    return before === text ? null : `${name} (${templates[template].title})`;
  };
  const [figures, checks]: [ReportFigure[], JudgedCheck[]] = [[], []];
  for (const { template, ...part } of parts) {
    for (const { name, label, value, kind } of part.figures) {
      const shown = nameOf(label, template, [value, kind]);
      if (shown !== null) figures.push({ name: `${template}.${name}`, label: shown, value, kind });
    }
    for (const check of part.checks) {
      const shown = nameOf(check.name, template, [check.status, check.detail]);
      if (shown !== null) checks.push(renamed(check, shown));
    }
  }
  return { figures, checks };
}

/** Which definition made the report, and which sections of its built-in templates it leaves out. */
function choiceBlocks(
  reportTemplateId: string,
  template: ReportTemplate,
  used: readonly ReportTemplateId[],
): ReportBlock[] {
  const named = (id: ReportSectionId): string => `${sectionOf(id).title} (${id})`;
  const out = reportSectionIds.filter(
    (id) => used.includes(templateOfSection(id)) && !template.sections.includes(id),
  );
  const chosen = (template.sections as readonly ReportSectionId[]).map(named);
  return [
    {
      text: 'People of this project chose the sections of this report. Each section is that of the built-in template which its id names, with all its rows.',
    },
    factsOf({
      Template: [template.name, 'text'],
      'Template id': [reportTemplateId, 'text'],
      'Version of the template': [template.version, 'number'],
      'Hash of its definition': [templateHash(template), 'hash'],
    }),
    { text: `Sections: ${chosen.join('; ')}.` },
    { text: `Left out of these built-in templates: ${out.map(named).join('; ') || 'nothing'}.` },
  ];
}

/** Proofs of runs and checkpoints, and those answers of the log and proofs of units that a table of the report names. */
function attachmentsOf(built: BuiltBy, tables: readonly ReportTable[]): ReadonlyMap<string, Uint8Array> {
  const details = tables.map(({ completeness }) => completeness.detail).join('\n');
  const isNamed = (file: string): boolean =>
    details.includes(file) || details.includes(file.replace(/-\d+(?=\.govanswer\.json$)/, '-…'));
  const attachments = new Map<string, Uint8Array>();
  for (const { attachments: files } of built.values()) {
    for (const [file, bytes] of files) {
      if ((file.endsWith(answerEnd) || file.endsWith(unitsEnd)) && !isNamed(file)) continue;
      // the same bundle, where two templates attach the proof of one run
      if (attachments.has(file) && !file.endsWith(proofEnd))
        throw new Error(`expected ${file} once, got two`);
      attachments.set(file, bytes);
    }
  }
  return attachments;
}
