/**
 * What a template reads, and its tables. A template is a pure function of leaves below a tree size, so the same parameters
 * at the same tree size give the same contents. What is not in the log, such as sources of telemetry, says so in its scope.
 * Proven by `test/service/reports/templates/determinism.test.ts`.
 */
import type { ReportColumn } from '../../../core/reports/model.ts';
import type { ReportTemplateId } from '../../../contract/report-words.ts';
import type { StoreReader } from '../../../store/port/store.ts';
import type { ReportInput } from '../../call/report-work.ts';
import type { IndexQuestion } from '../../call/work.ts';

/** An answer of the log (`src/core/proofs/answer.ts`). */
interface CountedAnswer {
  readonly bytes: Uint8Array;
  readonly count: number;
}

/** What a template asks of the thread that signs. */
export interface ReportHost {
  /** How many leaves a key has; null where the log has no index yet, or grows too fast. */
  answer(ask: IndexQuestion): Promise<CountedAnswer | null>;
  /** The bundle of a stored proof; null where it has more bytes than `most`. */
  bundle(of: { readonly proofId: string; readonly most: number }): Promise<Uint8Array | null>;
}

export interface ReportSource extends ReportInput {
  readonly reader: StoreReader;
  readonly host: ReportHost;
  /** Gives other tasks of the thread a turn. */
  readonly breathe: () => Promise<void>;
  /** Begins the names of attached files, where one report has sections of several templates. */
  readonly filesOf?: ReportTemplateId;
}

/** A name of a table or file that is unique among those of all templates. */
export const nameAmongAll = (template: ReportTemplateId, name: string): string =>
  name.startsWith(template) ? name : `${template}-${name}`;

/** The begin of the name of an attached file of the template that is building. */
export const fileNameOf = ({ filesOf }: Pick<ReportSource, 'filesOf'>, name: string): string =>
  filesOf === undefined ? name : nameAmongAll(filesOf, name);

/** A table before it has rows. */
export interface TableSpec {
  /** Lower case with hyphens. */
  readonly id: string;
  readonly title: string;
  /** Which rows it lists, in words. */
  readonly lists: string;
  readonly columns: readonly ReportColumn[];
  /** Where a reader finds all rows, if some are left out. */
  readonly rest?: string;
  /** Why nothing shows that it has every row, for a table that no answer of the log can show. */
  readonly unshown?: string;
}

type Kind = ReportColumn['kind'];

/** Columns from `name: [title, kind]`; the kind is text where it is left out. */
export const columns = (
  named: Readonly<Record<string, string | readonly [title: string, kind: Kind]>>,
): ReportColumn[] =>
  Object.entries(named).map(([name, column]) =>
    typeof column === 'string'
      ? { name, title: column, kind: 'text' }
      : { name, title: column[0], kind: column[1] },
  );
