/**
 * The output of a push: verdicts on standard output in the chosen format, remarks and the summary on standard error.
 * `json` prints one value at the end, `ndjson` and `csv` one verdict per line as it arrives, `id` the accepted eventIds.
 * If the reader closes the output, the push continues. Tested by `test/cli/push/run.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { changeLabels, type Change } from '../../core/intake/fit.ts';
import type { ImportedRun } from '../../core/intake/run.ts';
import { OutputClosedError } from '../terminal/io.ts';
import type { Out } from '../terminal/out.ts';
import { Safe, safe } from '../terminal/safe.ts';
import { csvLine } from '../terminal/table.ts';
import { yamlLines } from '../terminal/yaml.ts';
import type { Batch } from '../../client/sending/batch.ts';
import { counted, number } from '../terminal/numbers.ts';
import type { DeliveryResult } from '../../client/sending/deliver.ts';
import type { PushProgress } from './progress.ts';
import type { FileCounts, FileReport } from './file-report.ts';
import type { ImportNote } from './context.ts';

export interface EventVerdict {
  readonly line: number;
  readonly source: string;
  readonly status: 'accepted' | 'rejected';
  readonly eventId: string | null;
  readonly clientEventId?: string;
  readonly reason?: string;
}

interface ImportCount {
  readonly runId: string;
  readonly format: string;
  readonly items: number;
  readonly events: number;
  readonly changes: Readonly<Partial<Record<Change, number>>>;
  /** Ids that the source uses for several parts. */
  readonly numbered?: readonly string[];
  /** Facts of other runs that the recording repeats. */
  readonly inherited?: ImportedRun['inherited'];
}

const columns = ['line', 'source', 'status', 'eventId', 'clientEventId', 'reason'] as const;
/** What a push says, and where. */
export type PushOut = Pick<Out, 'format' | 'json' | 'line' | 'lines' | 'note' | 'detail' | 'warn'>;

export class Report {
  accepted = 0;
  rejected = 0;
  duplicates = 0;
  /** Events that were not sent, because the service has them. */
  known = 0;
  /** An event that the service has. */
  lastEventId: string | null = null;
  /** Last judged line of each source; exact with one lane. */
  readonly lastLine = new Map<string, number>();
  readonly #out: PushOut;
  readonly #progress: PushProgress;
  /** Writes to standard error, also with --quiet. */
  readonly #tell: (text: Safe) => Promise<void>;
  /** Present for folders: a line for each file. */
  readonly #files: FileReport | undefined;
  readonly #runs = new Set<string>();
  readonly #results: EventVerdict[] = [];
  readonly #imports: ImportCount[] = [];
  readonly #changes = new Map<Change, number>();
  #conflicts = 0;
  /** Lines that are no events: they name no run. */
  #runless = 0;
  #completed = 0;
  #corrected = 0;
  #importedRuns = 0;
  readonly #importedIds = new Set<string>();
  #importedItems = 0;
  #importedEvents = 0;
  #header = false;
  #muted = false;

  constructor(
    out: PushOut,
    {
      progress,
      tell,
      files,
    }: {
      progress: PushProgress;
      tell: (text: Safe) => Promise<void>;
      files?: FileReport | undefined;
    },
  ) {
    this.#out = out;
    this.#progress = progress;
    this.#tell = tell;
    this.#files = files;
  }

  /** Counts and prints the verdicts of a batch. */
  async judged({ sourceName, lines, events }: Batch, { results, duplicates }: DeliveryResult): Promise<void> {
    this.duplicates += duplicates;
    this.#progress.sent(results.length);
    for (const [index, { status, eventId, reason }] of results.entries()) {
      const event = events[index];
      const { runId, clientEventId } =
        typeof event === 'object' && event !== null && !Array.isArray(event)
          ? event
          : { runId: null, clientEventId: null };
      if (status === 'accepted' && typeof runId === 'string') this.#countRun(runId);
      if (status === 'accepted') this.lastEventId = eventId;
      await this.#verdict({
        line: lines[index] ?? 0,
        source: sourceName,
        status,
        eventId,
        ...(typeof clientEventId === 'string' ? { clientEventId } : {}),
        ...(reason === undefined ? {} : { reason }),
      });
    }
    const last = lines.at(-1);
    if (last !== undefined) this.lastLine.set(sourceName, last);
  }

  /** Counts and prints a record that was rejected before sending. */
  async refused(source: string, { line, reason }: { line: number; reason: string }): Promise<void> {
    this.#progress.sent(1);
    await this.#verdict({ line, source, status: 'rejected', eventId: null, reason });
  }

  recordedBefore(events: number): void {
    this.known += events;
  }

  /** Says what a file held that has been read. */
  async read(source: string, counts: FileCounts): Promise<void> {
    await this.#files?.read(source, counts);
  }

  async imported(note: ImportNote): Promise<void> {
    if (this.#files?.noted(note) === true) return;
    switch (note.kind) {
      case 'not UTF-8':
        await this.#remark(
          safe`${note.source}: not UTF-8 throughout; unreadable bytes became U+FFFD, and their events are marked repaired`,
        );
        return;
      case 'format':
        await this.#remark(safe`${note.source}: read as ${note.format} (${note.why})`);
        return;
      case 'nothing':
        await this.#remark(safe`${note.source}: holds nothing to record`);
        return;
      case 'left out': {
        const { remainder, leftOut } = note.balance;
        const [first] = remainder;
        const where = first === undefined ? safe`` : safe`, the first: ${first.where}: ${first.why}`;
        await this.#remark(safe`${note.source}: left out ${counted(leftOut.parts, 'part')}${where}`);
        return;
      }
      case 'passed over':
      case 'unchanged':
        return;
      case 'skipped':
        this.#count('bookkeeping', note.records);
        return;
      case 'reconciled':
        this.#completed += note.completed - note.corrected;
        this.#corrected += note.corrected;
        if (note.merged > 0) this.#count('call_merged', note.merged);
        return;
      case 'run':
        await this.#importedRun(note);
    }
  }

  #count(change: Change, count: number): void {
    this.#changes.set(change, (this.#changes.get(change) ?? 0) + count);
  }

  async #importedRun(note: Extract<ImportNote, { kind: 'run' }>): Promise<void> {
    const { runId, format, items, events, changes, numbered, inherited } = note.run;
    const isNew = !this.#importedIds.has(runId);
    if (this.#importedIds.size < limits.pushCountedRuns) this.#importedIds.add(runId);
    // several files may be parts of one run
    if (isNew) this.#importedRuns += 1;
    this.#importedItems += items;
    this.#importedEvents += events.length;
    for (const [change, count] of changes) this.#count(change, count);
    if (this.#imports.length < limits.pushListedResults) {
      this.#imports.push({
        runId,
        format,
        items,
        events: events.length,
        changes: Object.fromEntries(changes),
        ...(numbered.length === 0 ? {} : { numbered: numbered.slice(0, limits.pushListedRejections) }),
        ...(inherited.length === 0 ? {} : { inherited }),
      });
    }
    if (numbered.length > 0) await this.#numberedIds(note.source, numbered);
    for (const { run, calls, results, prompts, outputs } of inherited)
      await this.#remark(
        safe`${note.source}: inherited from run ${run}: ${counted(calls, 'call')}, ${counted(results, 'result')}, ${counted(prompts, 'prompt')}, ${counted(outputs, 'output')}`,
      );
    await this.#out.detail(
      safe`${note.source}: run ${runId}, ${counted(items, 'item')}, ${counted(events.length, 'event')}`,
    );
  }

  async #numberedIds(source: string, ids: readonly string[]): Promise<void> {
    const distinct = [...new Set(ids)];
    const more = distinct.length - limits.pushListedRejections;
    const shown = distinct.slice(0, limits.pushListedRejections).join(', ');
    const others = more > 0 ? safe` and ${number(more)} more` : safe``;
    await this.#remark(
      safe`${source}: ids of several parts with different content: ${shown}${others}; all parts are recorded`,
    );
  }

  #countRun(runId: string): void {
    if (this.#runs.size < limits.pushCountedRuns) this.#runs.add(runId);
  }

  async #verdict(verdict: EventVerdict): Promise<void> {
    if (verdict.status === 'accepted') this.accepted += 1;
    else {
      this.rejected += 1;
      this.#files?.rejected(verdict);
      if (verdict.reason?.startsWith('client_event_id_conflict') === true) this.#conflicts += 1;
      if (verdict.reason?.startsWith('missing_field: /runId') === true) this.#runless += 1;
      if (this.rejected <= limits.pushListedRejections) await this.#listRejection(verdict);
    }
    if (this.#results.length <= limits.pushListedResults) this.#results.push(verdict);
    await this.#print(verdict);
  }

  async #listRejection({ source, line, reason, clientEventId }: EventVerdict): Promise<void> {
    const which = clientEventId === undefined ? safe`` : safe` (${clientEventId})`;
    await this.#tell(safe`${source}:${line}${which}: rejected: ${reason ?? 'no reason given'}`);
  }

  #print(verdict: EventVerdict): Promise<void> {
    switch (this.#out.format) {
      case 'ndjson':
        return this.#write(() => this.#out.json(verdict, 0));
      case 'id':
        return verdict.eventId === null
          ? nothing
          : this.#write(() => this.#out.line(Safe.cell(verdict.eventId ?? '')));
      case 'csv':
        return this.#write(async () => {
          if (!this.#header) await this.#out.line(csvLine(columns));
          this.#header = true;
          await this.#out.line(csvLine(columns.map((column) => verdict[column])));
        });
      default:
        return nothing;
    }
  }

  /** Sending continues if nobody reads the verdicts any more. */
  async #write(write: () => Promise<void>): Promise<void> {
    if (this.#muted) return;
    try {
      await write();
    } catch (failure) {
      if (!(failure instanceof OutputClosedError)) throw failure;
      this.#muted = true;
    }
  }

  async #remark(text: Safe): Promise<void> {
    await this.#out.note(text);
  }

  /** Prints the one value of `json` and `yaml`, and the summary for people. `more`: extra members and sentences. */
  async finish(more: {
    readonly members?: object;
    readonly sentences?: readonly Safe[];
    dryRun: boolean;
  }): Promise<void> {
    const { accepted, rejected, duplicates, known } = this;
    this.#progress.stop();
    const unlisted = rejected - limits.pushListedRejections;
    if (unlisted > 0)
      await this.#tell(safe`${number(unlisted)} more rejected; -o ndjson prints every verdict`);
    const value = {
      accepted,
      rejected,
      duplicates,
      known: this.known,
      runs: this.#runs.size,
      ...(this.#importedRuns > 0 ? { imports: this.#imports } : {}),
      ...(this.#results.length <= limits.pushListedResults ? { results: this.#results } : {}),
      ...this.#files?.members,
      ...more.members,
    };
    if (this.#out.format === 'json') await this.#write(() => this.#out.json(value));
    if (this.#out.format === 'yaml') await this.#write(() => this.#out.lines(yamlLines(value)));
    const sentences = [
      ...this.#importSentences(),
      ...(this.#files?.sentences() ?? []),
      ...(more.sentences ?? []),
    ];
    if (this.#runless > 0 && this.#runless === rejected && accepted + known === 0)
      sentences.push(
        safe`nothing here is an event. If it is a recording of an agent: gov events push --from auto FILE`,
      );
    for (const sentence of sentences) await this.#remark(sentence);
    const verb = more.dryRun ? 'would be accepted' : 'accepted';
    const again =
      duplicates > 0 ? safe`, ${number(duplicates)} of them recorded by an earlier request` : safe``;
    const runs = this.#runs.size > 0 ? safe` in ${counted(this.#runs.size, 'run')}` : safe``;
    const refused = rejected > 0 ? safe`, ${number(rejected)} rejected` : safe``;
    const before = known > 0 ? safe`, ${number(known)} recorded before` : safe``;
    await this.#remark(safe`${counted(accepted, 'event')} ${verb}${runs}${again}${before}${refused}`);
  }

  #importSentences(): Safe[] {
    if (this.#importedRuns === 0 && this.#changes.size === 0) return [];
    const [runs, events] = [counted(this.#importedRuns, 'run'), counted(this.#importedEvents, 'event')];
    const read = safe`read ${runs}: ${events} from ${number(this.#importedItems)} messages, steps or observations`;
    const changes = [...this.#changes].map(
      ([change, count]) => safe`  ${number(count)} ${changeLabels[change]}`,
    );
    if (this.#completed > 0)
      changes.push(safe`  ${number(this.#completed)} events completed by what their source added later`);
    if (this.#corrected > 0)
      changes.push(
        safe`  ${number(this.#corrected)} events that an older version of gov read otherwise, corrected by an event.completed`,
      );
    if (this.#conflicts === 0) return [read, ...changes];
    const found = safe`${counted(this.#conflicts, 'event')} exist with other content`;
    const advice = safe`if another machine imported this recording, repeat the time of that import: --import-time`;
    return [read, ...changes, found, advice];
  }
}

const nothing = Promise.resolve();
