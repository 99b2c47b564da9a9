/**
 * All output of a command. Standard output carries only data, in the chosen format; everything else goes to standard
 * error. It accepts only `Safe` text and JSON, so that remote text cannot control a terminal.
 * Tested by `test/cli/terminal/out.test.ts` and `test/cli/pipes.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { shellWord } from '../../core/shell-word.ts';
import { counted } from './numbers.ts';
import { failureOf, withoutKeys } from '../program/exit.ts';
import type { Failure } from '../program/exit.ts';
import type { Writer } from './io.ts';
import { Safe, safe, stylesFor } from './safe.ts';
import type { Styles } from './safe.ts';
import { csvLine, fullText, Table, tabbed } from './table.ts';
import type { Layout } from './table.ts';
import { Shape } from './shape.ts';
import type { Column, View } from './view.ts';
import { yamlLines } from './yaml.ts';

export type Row = Readonly<Record<string, unknown>>;
/** One page of a list, and the cursor of the next. */
export interface ListPage {
  readonly items: readonly Row[];
  readonly nextCursor: string | null;
  /** Ids of rows that the service does not show, because they differ from its log. */
  readonly altered?: readonly string[];
}

/** How many rows were printed, and the cursor of those that are left. */
interface ListEnd {
  readonly count: number;
  readonly nextCursor: string | null;
}

export interface Streams {
  readonly stdout: Writer;
  readonly stderr: Writer;
}

/** The global settings that output depends on. */
export interface OutputSettings {
  /** A common format, or one of the command's own formats. */
  readonly format: string;
  /** `default`: nobody chose a format; a pipe then gets tab-separated values. */
  readonly formatFrom: SettingFrom | 'project file' | 'default';
  /** Of --json: the members to keep of each result. */
  readonly fields: readonly string[] | undefined;
  /** Filter of the JSON output. */
  readonly jq: string | undefined;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly debug: 'off' | 'on' | 'http';
  readonly color: boolean;
  readonly colorErrors: boolean;
  /** Never ask a person. */
  readonly noInput: boolean;
  /** A person can answer: standard input and error are terminals, and no setting forbids questions. */
  readonly interactive: boolean;
  readonly yes: boolean;
  /** Standard output is a terminal, or counts as one. */
  readonly tty: boolean;
  readonly columns: number;
}

/** Where a global flag's value comes from, from the strongest to the weakest. */
export type SettingFrom = 'lock' | 'flag' | 'environment' | 'configuration' | 'configuration of the machine';

export class Out {
  readonly settings: OutputSettings;
  /** Exit code if the reader closes the pipe. A check sets it before it prints. */
  verdict = 0;
  /** The command changes data: if --json or --jq fails on its result, the whole result is printed, and nothing is lost. */
  keepsWhole = false;
  /** Styles of standard output. */
  readonly styles: Styles;
  readonly #errorStyles: Styles;
  readonly #stdout: Writer;
  readonly #stderr: Writer;
  readonly #now: () => number;
  readonly #shape: Shape;

  constructor(streams: Streams, settings: OutputSettings, now: () => number) {
    this.settings = settings;
    this.styles = stylesFor(settings.color);
    this.#errorStyles = stylesFor(settings.colorErrors);
    this.#stdout = streams.stdout;
    this.#stderr = streams.stderr;
    this.#now = now;
    this.#shape = new Shape(settings);
  }

  /** Errors: exit 2 for a --jq expression that does not compile. */
  checkShape(): Promise<void> {
    return this.#shape.check();
  }

  /** Calls `erase` before each output on the terminal from now on. */
  beforeWrite(erase: () => void): void {
    this.#stderr.beforeWrite = erase;
    if (this.settings.tty) this.#stdout.beforeWrite = erase;
  }

  /** The format in use: `tsv` if nobody chose one and the output is not a terminal. */
  get format(): string {
    const { format, formatFrom, tty } = this.settings;
    return formatFrom === 'default' && !tty ? 'tsv' : format;
  }

  get isJson(): boolean {
    return this.format === 'json' || this.format === 'ndjson';
  }

  /** A person reads: labels, colours and advice may appear on standard output. */
  get isHuman(): boolean {
    return this.format === 'table' || this.format === 'wide';
  }

  /** Prints one line of data. */
  line(text: Safe): Promise<void> {
    return this.#stdout.write(`${text}\n`);
  }

  lines(texts: readonly Safe[]): Promise<void> {
    return texts.length === 0 ? Promise.resolve() : this.line(Safe.join(texts, '\n'));
  }

  /** Prints one JSON value on a line of its own, as --json and --jq want it; `indent` as for JSON.stringify. */
  json(value: unknown, indent = this.#indent): Promise<void> {
    return this.#shaped(value, indent, () => this.#shape.value(value));
  }

  get #indent(): number {
    return this.format === 'json' ? 2 : 0;
  }

  /** Prints what `choose` returns, filtered; the whole value if that fails and must not be lost. */
  async #shaped(whole: unknown, indent: number, choose: () => unknown): Promise<void> {
    let lines: Safe[];
    try {
      lines = await this.#shape.lines(choose(), indent);
    } catch (cause) {
      if (this.keepsWhole) await this.line(Safe.json(whole, indent));
      throw cause;
    }
    await this.lines(lines);
  }

  /** Prints bytes unchanged. Only if standard output is not a terminal. */
  raw(bytes: Uint8Array): Promise<void> {
    return this.#stdout.write(bytes);
  }

  /** Prints a question or an instruction on standard error, also with --quiet. */
  prompt(text: Safe): Promise<void> {
    return this.#stderr.write(String(text));
  }

  /** Prints a remark on standard error, unless --quiet is set. */
  async note(text: Safe): Promise<void> {
    if (!this.settings.quiet) await this.#stderr.write(`${text}\n`);
  }

  warn(text: Safe): Promise<void> {
    return this.note(safe`${this.#errorStyles.yellow('warning:')} ${text}`);
  }

  /** Prints a remark of --verbose. */
  async detail(text: Safe): Promise<void> {
    if (this.settings.verbose || this.settings.debug !== 'off') await this.#stderr.write(`${text}\n`);
  }

  /** Prints a line of --debug, if that is on. */
  async debug(text: Safe): Promise<void> {
    if (this.settings.debug !== 'off') await this.#stderr.write(`${this.#errorStyles.dim(text)}\n`);
  }

  /** Prints one resource. */
  async one(value: unknown, view: View): Promise<void> {
    const row = (typeof value === 'object' && value !== null ? value : {}) as Row;
    switch (this.format) {
      case 'json':
      case 'ndjson':
        return this.json(value);
      case 'yaml':
        return this.lines(yamlLines(value));
      case 'csv':
        await this.line(csvLine(view.wide.map(({ name }) => name)));
        return this.line(csvLine(view.wide.map(({ name }) => row[name])));
      case 'id':
        return this.line(Safe.cell(String(row[view.id ?? ''] ?? '')));
      case 'tsv':
        return this.lines(
          Object.entries(row).map(([name, each]) => tabbed(pairColumns, { name, value: each })),
        );
      default:
        return this.lines(this.#card(row));
    }
  }

  /** Names on the left, values on the right, nested values below. */
  #card(row: Row): Safe[] {
    const entries = Object.entries(row);
    const width = entries.reduce((most, [name]) => Math.max(most, name.length), 0);
    const lines: Safe[] = [];
    for (const [name, value] of entries) {
      const label = this.styles.bold(name.padEnd(width));
      if (typeof value === 'object' && value !== null && Object.keys(value).length > 0) {
        lines.push(label);
        for (const line of yamlLines(value, '  ')) lines.push(line);
      } else {
        lines.push(safe`${label}  ${fullText(value) || '-'}`);
      }
    }
    return lines;
  }

  /**
   * Prints pages of resources as they arrive; `wrapper` names the list member in JSON, as in the API; `data` is the same list. If rows are left, a
   * remark says so and names the flags that show them.
   */
  async list(pages: AsyncIterable<ListPage>, view: View, wrapper: string): Promise<void> {
    const isWhole = this.format === 'json' || this.format === 'yaml';
    const { count, nextCursor } = isWhole ? await this.#whole(pages, wrapper) : await this.#rows(pages, view);
    if (count === 0 && nextCursor === null && this.isHuman) await this.note(safe`nothing found`);
    if (nextCursor === null) return;
    const rest = isWhole && count >= limits.wholeListItems ? '-o ndjson' : '--all';
    await this.note(
      safe`cut: ${counted(count, 'row')} shown, there are more: ${rest}, or --cursor ${shellWord(nextCursor)}`,
    );
  }

  async #rows(pages: AsyncIterable<ListPage>, view: View): Promise<ListEnd> {
    const table = new Table(this.format === 'wide' ? view.wide : view.columns, this.#layout());
    let count = 0;
    let nextCursor: string | null = null;
    if (this.format === 'csv') await this.line(csvLine(view.wide.map(({ name }) => name)));
    for await (const page of pages) {
      await this.#warnAltered(page);
      count += page.items.length;
      ({ nextCursor } = page);
      if (this.isHuman && page.items.length > 0) await this.lines(table.lines(page.items));
      else if (this.format === 'ndjson') await this.#jsonLines(page.items);
      else if (!this.isHuman) await this.lines(page.items.map((item) => this.#listed(item, view)));
    }
    return { count, nextCursor };
  }

  /** Prints rows of a table that is part of a larger response. */
  async table(rows: readonly Row[], columns: readonly Column[]): Promise<void> {
    if (this.isHuman) {
      return rows.length === 0 ? undefined : this.lines(new Table(columns, this.#layout()).lines(rows));
    }
    if (this.format !== 'csv') return this.lines(rows.map((row) => tabbed(columns, row)));
    await this.line(csvLine(columns.map(({ name }) => name)));
    return this.lines(rows.map((row) => csvLine(columns.map(({ name }) => row[name]))));
  }

  async #jsonLines(items: readonly Row[]): Promise<void> {
    for (const item of this.#shape.rows(items)) await this.lines(await this.#shape.lines(item, 0));
  }

  #listed(item: Row, view: View): Safe {
    if (this.format === 'id') return Safe.cell(String(item[view.id ?? ''] ?? ''));
    if (this.format === 'csv') return csvLine(view.wide.map(({ name }) => item[name]));
    return tabbed(view.columns, item);
  }

  /** Collects all pages first, up to a limit: JSON output must be whole or absent. */
  async #whole(pages: AsyncIterable<ListPage>, wrapper: string): Promise<ListEnd> {
    const items: Row[] = [];
    let nextCursor: string | null = null;
    for await (const page of pages) {
      await this.#warnAltered(page);
      for (const item of page.items) items.push(item);
      ({ nextCursor } = page);
      if (items.length >= limits.wholeListItems) break;
    }
    // every list has data, so that a script needs no name for each
    const listed = (rows: readonly unknown[]) => ({ [wrapper]: rows, data: rows, nextCursor });
    if (this.format === 'yaml') await this.lines(yamlLines(listed(items)));
    else await this.#shaped(listed(items), this.#indent, () => listed(this.#shape.rows(items)));
    return { count: items.length, nextCursor };
  }

  async #warnAltered({ altered = [] }: ListPage): Promise<void> {
    if (altered.length === 0) return;
    await this.warn(
      safe`not shown, because the stored row differs from the log: ${altered.join(', ')}; run gov log fsck --deep`,
    );
  }

  #layout(): Layout {
    const { tty, columns, format } = this.settings;
    const short = tty && format === 'table';
    return { width: short ? columns : Infinity, short, now: this.#now(), styles: this.styles };
  }

  /**
   * Reports a failure on standard error: an object for JSON formats, else what, why and what to do. `listing` is the command
   * that lists what the failed command looked for.
   */
  async fail(thrown: unknown, asJson: boolean, listing?: string): Promise<Failure> {
    const failure = failureOf(thrown, listing);
    if (asJson) {
      const { exit: _exit, ...error } = failure;
      await this.#stderr.write(`${Safe.json({ error })}\n`);
    } else {
      await this.#stderr.write(`${Safe.join(this.#told(failure), '\n')}\n`);
    }
    if (this.settings.debug !== 'off' && thrown instanceof Error) {
      await this.debug(Safe.clean(withoutKeys(thrown.stack ?? thrown.message)));
    }
    return failure;
  }

  #told(failure: Failure): Safe[] {
    const { red, dim } = this.#errorStyles;
    const lines = [safe`${red('error:')} ${failure.message}`];
    for (const { pointer, in: place, detail } of failure.errors ?? []) {
      const fault = `${place} ${pointer === '' ? '/' : pointer}: ${detail}`;
      // the message often ends with the first fault
      if (!failure.message.endsWith(fault)) lines.push(safe`  ${fault}`);
    }
    if (failure.hint !== undefined) lines.push(safe`  ${failure.hint}`);
    for (const next of failure.next) lines.push(safe`  try: ${next}`);
    if (failure.requestId !== undefined) lines.push(dim(safe`  (request id ${failure.requestId})`));
    return lines;
  }

  /** Resolves after both streams have passed everything on. */
  async flush(): Promise<void> {
    await this.#stdout.flush();
    await this.#stderr.flush();
  }
}

const pairColumns = [
  { name: 'name', kind: 'text' },
  { name: 'value', kind: 'text' },
] as const;
