/**
 * What a run shows of its sources as a whole: whether one has to have all calls, how far it got, and which numbers of its
 * log records are missing. Tested by `test/core/coverage/judge.test.ts`.
 */
import type { ReportSource } from '../../contract/coverage.ts';
import { governs, sequenceOf } from './report.ts';
import type { ReadEvent } from './read-event.ts';

/** Log records that a source numbered, and that are not in the run: first and last number, both missing. */
export interface NumberGap {
  readonly source: 'otlp';
  readonly first: number;
  readonly last: number;
  /** The time of the record before it or, at the start, of the record after it; Unix milliseconds. */
  readonly atMs: number;
}

/** Programs whose log records report every call that they run. */
const programs = /^(?:claude_code|codex|gemini_cli|qwen-code)\.|^com\.anthropic\.claude_code\b/;
/** A call that starts another agent: its calls are in a transcript of its own. */
const delegating = /^(?:Task|Agent|spawn_agent)$/;
/** Recordings with the calls of one server alone. */
const partial = 'mcp';

export class SourceFacts {
  readonly seen = new Set<ReportSource>();
  readonly #complete = new Set<ReportSource>();
  readonly #numbers: (readonly [number: number, atMs: number])[] = [];
  /** The newest time of a log record and of a span, in Unix milliseconds. */
  readonly #newest = { log: -1, span: -1, transcript: -1 };
  #hasProgramLogs = false;
  /** The signal by which calls came, where the program is not a known one. */
  #callSignal: 'log' | 'span' | null = null;
  #isPartial = false;

  add(event: ReadEvent, { reportsCall }: { readonly reportsCall: boolean }): void {
    const { source, metadata, atMs } = event;
    if (governs(source)) {
      if (reportsCall) this.seen.add(source);
      return;
    }
    this.seen.add(source);
    if (reportsCall) this.#complete.add(source);
    if (source === 'otlp') {
      if (reportsCall) this.#callSignal ??= metadata['signal'] === 'log' ? 'log' : 'span';
      this.#addTelemetry(event);
    } else {
      if (metadata['importer'] === partial || delegating.test(event.tool ?? '')) this.#isPartial = true;
      this.#newest.transcript = Math.max(this.#newest.transcript, atMs);
    }
  }

  #addTelemetry({ metadata, atMs }: ReadEvent): void {
    const { signal, record, scope } = metadata;
    if (signal !== 'log') {
      this.#newest.span = Math.max(this.#newest.span, atMs);
      return;
    }
    const isOfProgram = [record, scope].some((name) => typeof name === 'string' && programs.test(name));
    if (isOfProgram) {
      this.#hasProgramLogs = true;
      this.#complete.add('otlp');
    }
    this.#newest.log = Math.max(this.#newest.log, atMs);
    const number = sequenceOf(metadata);
    if (number !== null) this.#numbers.push([number, atMs]);
  }

  /** Whether a call that a source does not have is missing from it. */
  hasAllCalls(source: 'otlp' | 'transcript'): boolean {
    return this.#complete.has(source) && !(source === 'transcript' && this.#isPartial);
  }

  /** Whether a source recorded something after this time, so that a call of that time should have come. */
  isLater(source: 'otlp' | 'transcript', atMs: number): boolean {
    const { log, span, transcript } = this.#newest;
    if (source === 'transcript') return transcript > atMs;
    return (this.#hasProgramLogs || this.#callSignal === 'log' ? log : span) > atMs;
  }

  /** Numbers from 0 that are missing between those that came. A session that counts again fills no gap of its own. */
  gaps(): NumberGap[] {
    const gaps: NumberGap[] = [];
    let [next, beforeMs] = [0, -1];
    for (const [number, atMs] of this.#numbers.toSorted(([a], [b]) => a - b)) {
      if (number > next)
        gaps.push({ source: 'otlp', first: next, last: number - 1, atMs: next === 0 ? atMs : beforeMs });
      [next, beforeMs] = [number + 1, atMs];
    }
    return gaps;
  }
}
