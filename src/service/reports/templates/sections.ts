/**
 * A template as data: sections, and the figures, checks and tables that go with each. `build` only finds their values.
 * Values other than those declared fail the build: see `test/service/reports/templates/sections.test.ts`.
 */
import type {
  BuiltReport,
  ReportBlock,
  ReportCell,
  ReportFigure,
  ReportSection,
  ReportTable,
} from '../../../core/reports/model.ts';
import { checks as checkNames, readsEvents, type CheckId } from '../checks/names.ts';
import { judged, settled, type Examination, type JudgedCheck } from '../checks/verdict.ts';
import { completed, draftOf, type Draft, type OwnParts } from './draft.ts';
import { prunedText } from './period.ts';
import type { ReportSource, TableSpec } from './source.ts';

export interface SectionSpec {
  readonly title: string;
  /** Its first block. */
  readonly text?: string;
  /** In the order of the report. Those that no block places follow the blocks of the section. */
  readonly tables?: readonly TableSpec[];
  /** Labels by name, with the kind of a value that is no number. */
  readonly figures?: Readonly<Record<string, FigureSpec>>;
  readonly checks?: readonly CheckId[];
}
type FigureSpec = string | readonly [label: string, kind: ReportFigure['kind']];
type Sections = Readonly<Record<string, SectionSpec>>;

/** A value, the least that it can be, or what a check says: a word for each of its states. */
type FigureValue =
  | ReportCell
  | { readonly atLeast: number }
  | { readonly check: CheckId; readonly words: Readonly<Record<JudgedCheck['status'], string>> };

/** A text, or another block. */
type Block = string | ReportBlock;

interface Found {
  /** In the order of the summary. */
  readonly figures: Readonly<Record<string, FigureValue>>;
  readonly checks: Readonly<Record<string, Examination>>;
  readonly blocks: Readonly<Record<string, readonly Block[] | undefined>>;
  readonly tables: readonly ReportTable[];
}

type FigureOf<Spec> = Spec extends { readonly figures: infer Figures } ? keyof Figures : never;
type CheckOf<Spec> = Spec extends { readonly checks: readonly (infer Id extends CheckId)[] } ? Id : never;

/** `Found`, with a value for each declared name. */
interface FoundOf<All extends Sections> {
  readonly figures: Readonly<Record<FigureOf<All[keyof All]>, FigureValue>>;
  readonly checks: Readonly<Record<CheckOf<All[keyof All]>, Examination>>;
  readonly blocks: { readonly [Key in keyof All]?: readonly Block[] };
  readonly tables: Found['tables'];
}

interface TemplateSpec<All extends Sections> {
  readonly title: string;
  /** The question that the report answers. */
  readonly summary: string;
  /** What the report selects and leaves out. */
  readonly choices: string;
  /** Whether it is about one run, or can be. Without it, a report of the template covers every run of the period. */
  readonly run?: 'required' | 'optional';
  readonly sections: All;
}

/** A section, and what goes with it. */
export interface DraftedSection extends ReportSection {
  readonly figures: readonly ReportFigure[];
  readonly checks: readonly JudgedCheck[];
  readonly tables: readonly ReportTable[];
}

/** A report, and its sections without the parts that each report has once. */
export interface DraftedReport extends BuiltReport {
  readonly own: ReadonlyMap<string, DraftedSection>;
}

export interface Template extends TemplateSpec<Sections> {
  /** The first is the main table, which is the CSV artifact. */
  readonly tables: readonly [TableSpec, ...TableSpec[]];
  readonly build: (source: ReportSource) => Promise<DraftedReport>;
}

export function template<const All extends Sections>(
  spec: TemplateSpec<All> & { readonly build: (draft: Draft) => Promise<FoundOf<NoInfer<All>>> },
): Template {
  const [main, ...others] = tablesOf(spec.sections);
  if (main === undefined) throw new Error(`expected a table of “${spec.title}”, got none`);
  return {
    ...spec,
    tables: [main, ...others],
    async build(source) {
      const draft = await draftOf(source);
      const found: Found = await spec.build(draft);
      const parts = partsOf(spec.sections, found, draft);
      const contents = await completed(draft, parts, [spec.choices]);
      return { contents, attachments: draft.evidence.attachments, own: ownOf(spec.sections, parts) };
    },
  };
}

/** What was examined of a period of which events were pruned: not all. */
const withoutPruned = (of: Examination, pruned: string | null): Examination =>
  pruned === null
    ? of
    : { ...of, none: `${of.none} ${pruned}`, missing: [of.missing ?? [], pruned].flat().join(' ') };

const tablesOf = (sections: Sections): TableSpec[] =>
  Object.values(sections).flatMap(({ tables = [] }) => tables);

function partsOf(sections: Sections, found: Found, { source, period }: Draft): OwnParts {
  const specs = Object.values(sections);
  // of one run, its template knows whether its events were pruned
  const pruned = source.runId === null ? prunedText(period) : null;
  const figures = matched(
    specs.flatMap((spec) => Object.entries(spec.figures ?? {})),
    Object.entries(found.figures),
  );
  const checks = matched(
    specs.flatMap((spec) => (spec.checks ?? []).map((id) => [id, id] as const)),
    Object.entries(found.checks),
  );
  const tables = matched(
    found.tables.map((table) => [table.id, table] as const),
    tablesOf(sections).map((spec) => [spec.id, spec] as const),
  );
  return {
    checks: checks.map(([, id, of]) =>
      judged(checkNames[id], readsEvents.has(id) ? withoutPruned(of, pruned) : of),
    ),
    figures: (printed) => figures.map((figure) => figureOf(figure, printed)),
    sections: Object.entries(sections).map(([key, spec]) => sectionOf(spec, found.blocks[key])),
    tables: tables.map(([, table]) => table),
  };
}

/** What was declared and given under one name, in the order given. Errors: other names, a bug of the template. */
function matched<A, B>(
  declared: readonly (readonly [name: string, A])[],
  given: readonly (readonly [name: string, B])[],
): (readonly [name: string, A, B])[] {
  const byName = new Map(declared);
  const found = given.flatMap(([name, value]) => {
    const spec = byName.get(name);
    return spec === undefined ? [] : [[name, spec, value] as const];
  });
  const named = (all: readonly (readonly [name: string, unknown])[]) => all.map(([name]) => name).join(', ');
  if (found.length !== declared.length || found.length !== given.length)
    throw new Error(`expected ${named(declared)}; got ${named(given)}`);
  return found;
}

function figureOf(
  [name, spec, given]: readonly [name: string, FigureSpec, FigureValue],
  checks: readonly JudgedCheck[],
): ReportFigure {
  const [label, kind] = typeof spec === 'string' ? [spec, 'number' as const] : spec;
  if (typeof given !== 'object' || given === null) return { name, label, value: given, kind };
  if ('atLeast' in given) return { name, label: `${label}, at least`, value: given.atLeast, kind };
  const check = checks.find((each) => each.name === checkNames[given.check]);
  return { name, label, value: given.words[check?.status ?? 'not_shown'], kind };
}

function sectionOf({ title, text, tables = [] }: SectionSpec, given: readonly Block[] = []): ReportSection {
  const texts = text === undefined ? given : [text, ...given];
  const blocks = texts.map((block) => (typeof block === 'string' ? { text: block } : block));
  const placed = new Set(blocks.flatMap((block) => ('table' in block ? [block.table] : [])));
  const others = tables.filter(({ id }) => !placed.has(id)).map(({ id }) => ({ table: id }));
  const all = [...blocks, ...others];
  if (all.length === 0) throw new Error(`expected contents of the section “${title}”, got none`);
  return { title, blocks: all };
}

/** The parts of a report by section. */
function ownOf(specs: Sections, { sections, tables, ...parts }: OwnParts): DraftedReport['own'] {
  const checks = settled(parts.checks);
  const figures = parts.figures(checks);
  const own = Object.entries(specs).map(([key, spec], at): [string, DraftedSection] => {
    const { title, blocks } = sections[at] ?? { title: spec.title, blocks: [] };
    const names = new Set((spec.checks ?? []).map((id): string => checkNames[id]));
    return [
      key,
      {
        title,
        blocks,
        figures: figures.filter(({ name }) => Object.hasOwn(spec.figures ?? {}, name)),
        checks: checks.filter(({ name }) => names.has(name)),
        tables: blocks.flatMap((block) => tables.filter(({ id }) => 'table' in block && id === block.table)),
      },
    ];
  });
  return new Map(own);
}
