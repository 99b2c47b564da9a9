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
import type { BuiltReport, ReportBlock, ReportTable, ReportTemplate } from '../../../core/reports/model.ts';
import { templateHash } from '../../../core/reports/template-hash.ts';
import { Draft, factsOf } from '../templates/draft.ts';
import { templates } from '../templates/list.ts';
import { nameAmongAll, type DraftedReport, type ReportHost, type ReportSource } from '../templates/source.ts';
import { sections as known } from './sections.ts';

/** A source before a template is chosen. */
export type ComposedSource = Omit<ReportSource, 'reportTemplateId' | 'filesOf'>;

export async function composeReport(
  reportTemplateId: string,
  template: ReportTemplate,
  given: ComposedSource,
): Promise<BuiltReport> {
  const chosen = template.sections as readonly ReportSectionId[]; // checked when the template was written
  const built = await builtBy([...new Set(chosen.map(templateOfSection))], given);
  const draft = await Draft.of({ ...given, reportTemplateId: templateOfSection(chosen[0] ?? first) });
  if (template.introduction !== null) draft.section('Introduction', { text: template.introduction });
  for (const id of chosen) addSection(draft, id, { chosen, built });
  addSummary(draft, chosen, built);
  draft.section('How this report was chosen', ...choiceBlocks(reportTemplateId, template, [...built.keys()]));
  const choices = [...built].flatMap(([id, { own }]) =>
    own.choices.map((text) => (built.size === 1 ? text : `${templates[id].title}: ${text}`)),
  );
  const { contents } = await draft.built(choices);
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

/** Errors: a template that does not build the section as `sections.ts` has it, a bug. */
function addSection(
  draft: Draft,
  id: ReportSectionId,
  { chosen, built }: { readonly chosen: readonly ReportSectionId[]; readonly built: BuiltBy },
): void {
  const template = templateOfSection(id);
  const { title } = known[id];
  const own = built.get(template)?.own;
  const section = own?.sections.find((each) => each.title === title);
  if (own === undefined || section === undefined) throw new Error(`expected the section ${id}, got none`);
  const isOnly = chosen.every((other) => other === id || known[other].title !== title);
  const blocks = section.blocks.map((block): ReportBlock => {
    if (!('table' in block)) return block;
    const table = own.tables.find((each) => each.id === block.table);
    if (table === undefined) throw new Error(`expected the table ${block.table} of ${id}, got none`);
    const renamed = { ...table, id: nameAmongAll(template, table.id) };
    draft.table(renamed);
    return { table: renamed.id };
  });
  const everyRun =
    draft.source.runId !== null && templates[template].run === undefined
      ? [{ text: 'This section covers every run of the period.' }]
      : [];
  draft.section(isOnly ? title : `${title} (${templates[template].title})`, ...everyRun, ...blocks);
}

/** Figures and checks of the sections, in their order. What two templates say in the same words is said once. */
function addSummary(draft: Draft, chosen: readonly ReportSectionId[], built: BuiltBy): void {
  const said = new Map<string, string>();
  /** Null for a repetition; another statement under the same name gets that of its template, too. */
  const nameOf = (name: string, template: ReportTemplateId, statement: unknown): string | null => {
    const text = JSON.stringify(statement);
    const before = said.get(name);
    said.set(name, before ?? text);
    if (before === undefined) return name;
    return before === text ? null : `${name} (${templates[template].title})`;
  };
  for (const id of chosen) {
    const template = templateOfSection(id);
    const own = built.get(template)?.own;
    for (const { name, label, value, kind } of own?.figures ?? []) {
      if (!known[id].figures.includes(name)) continue;
      const shown = nameOf(label, template, [value, kind]);
      if (shown !== null) draft.figure(`${template}.${name}`, shown, value, kind);
    }
    for (const check of own?.checks ?? []) {
      const { name, status, detail } = check;
      if (!known[id].checks.includes(name)) continue;
      const shown = nameOf(name, template, [status, detail]);
      if (shown !== null) draft.repeat(check, shown);
    }
  }
}

/** Which definition made the report, and which sections of its built-in templates it leaves out. */
function choiceBlocks(
  reportTemplateId: string,
  template: ReportTemplate,
  used: readonly ReportTemplateId[],
): ReportBlock[] {
  const named = (id: ReportSectionId): string => `${known[id].title} (${id})`;
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
