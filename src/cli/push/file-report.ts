/**
 * What became of each file of a folder, one line a file, and their sum. A file that is no recording is named too.
 * Tested by `test/cli/push/folder.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { counted, number } from '../terminal/numbers.ts';
import type { Out } from '../terminal/out.ts';
import { safe, type Safe } from '../terminal/safe.ts';
import type { ImportNote } from './context.ts';

/** What a push found in a file: its events by what it did with them. */
export interface FileCounts {
  readonly fresh: number;
  readonly known: number;
  readonly refused: number;
}

export interface PushedFileSummary {
  readonly file: string;
  readonly became: 'recorded' | 'unchanged' | 'refused' | 'empty' | 'no recording';
  readonly formats: readonly string[];
  readonly runs: readonly string[];
  readonly events: number;
  readonly known: number;
  readonly refused: number;
}

/** How many runs of one file a summary names. */
const namedRuns = 10;

interface Noted {
  readonly formats: Set<string>;
  readonly runs: Set<string>;
  passedOver?: 'empty' | 'no recording';
}

export class FileReport {
  readonly #out: Pick<Out, 'note'>;
  readonly #others: readonly string[];
  readonly #noted = new Map<string, Noted>();
  readonly #files: PushedFileSummary[] = [];
  readonly #became = new Map<PushedFileSummary['became'], number>();
  /** Why the first part of a file was refused, here or by the service. */
  readonly refusals = new Map<string, string>();

  /** `others`: files that are not read, because their names are not those of recordings. */
  constructor(out: Pick<Out, 'note'>, others: readonly string[]) {
    this.#out = out;
    this.#others = others;
  }

  /** Takes what is said of a file while it is read; returns whether its line says it. */
  noted(note: ImportNote): boolean {
    switch (note.kind) {
      case 'format':
        this.#of(note.source).formats.add(note.format);
        return true;
      case 'run':
        this.#of(note.source).formats.add(note.run.format);
        if (this.#of(note.source).runs.size < namedRuns) this.#of(note.source).runs.add(note.run.runId);
        return false;
      case 'unchanged':
        this.#of(note.source).formats.add(note.format);
        this.#of(note.source).runs.add(note.runId);
        return true;
      case 'nothing':
        this.#of(note.source).passedOver ??= 'empty';
        return true;
      case 'passed over':
        this.#of(note.source).passedOver = 'no recording';
        return true;
      default:
        return false;
    }
  }

  #of(source: string): Noted {
    const known = this.#noted.get(source) ?? { formats: new Set(), runs: new Set() };
    this.#noted.set(source, known);
    return known;
  }

  /** Prints the line of a file that has been read. Its events may still be under way. */
  async read(file: string, { fresh, known, refused }: FileCounts): Promise<void> {
    const { formats, runs, passedOver } = this.#of(file);
    this.#noted.delete(file);
    const became =
      refused > 0 ? 'refused' : fresh > 0 ? 'recorded' : known > 0 ? 'unchanged' : (passedOver ?? 'empty');
    this.#became.set(became, (this.#became.get(became) ?? 0) + 1);
    const summary = {
      file,
      became,
      formats: [...formats],
      runs: [...runs],
      events: fresh,
      known,
      refused,
    } as const;
    if (this.#files.length < limits.pushListedResults) this.#files.push(summary);
    await this.#out.note(fileLine(summary));
  }

  rejected({ source, line, reason }: { source: string; line: number; reason?: string }): void {
    if (!this.refusals.has(source)) this.refusals.set(source, `${line}: ${reason ?? 'no reason given'}`);
  }

  get files(): readonly PushedFileSummary[] {
    return this.#files;
  }

  /** Members of the value that `json` and `yaml` print. */
  get members(): object {
    return {
      files: this.#files,
      others: this.#others.slice(0, limits.pushListedResults),
    };
  }

  sentences(): Safe[] {
    const parts = [...this.#became].map(([became, count]) => safe`${number(count)} ${became}`);
    const all = [...this.#became.values()].reduce((sum, count) => sum + count, 0);
    const files = parts.reduce((text, part) => safe`${text}, ${part}`, safe`${counted(all, 'file')}`);
    if (this.#others.length === 0) return [files];
    const more = this.#others.length - limits.pushListedRejections;
    const shown = this.#others.slice(0, limits.pushListedRejections).join(', ');
    const rest = more > 0 ? safe` and ${number(more)} more` : safe``;
    return [files, safe`not read, because of their names: ${shown}${rest}`];
  }
}

export function fileLine({ file, became, formats, runs, events, known, refused }: PushedFileSummary): Safe {
  const what = formats.length === 0 ? safe`` : safe`${formats.join(', ')}, `;
  const run =
    runs.length === 1
      ? safe`run ${runs.join()}, `
      : runs.length > 1
        ? safe`${counted(runs.length, 'run')}, `
        : safe``;
  const before = known === 0 ? safe`` : safe`, ${number(known)} recorded before`;
  switch (became) {
    case 'empty':
      return safe`${file}: ${what}nothing to record`;
    case 'no recording':
      return safe`${file}: no recording: it has no calls, results or messages`;
    case 'unchanged':
      return safe`${file}: ${what}${run}nothing new${before}`;
    case 'recorded':
      return safe`${file}: ${what}${run}${counted(events, 'event')}${before}`;
    case 'refused':
      return safe`${file}: ${what}${run}refused in ${counted(refused, 'place')}, ${counted(events, 'event')}${before}`;
  }
}
