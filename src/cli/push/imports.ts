/**
 * Recordings of other programs, as records: read whole, converted to runs, and compared with what the service has of these
 * runs. A run that exists with other content is refused as a whole. Tested by `test/cli/push/imports.test.ts`.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { reconcile, type Difference, type StoredEvent } from '../../core/intake/reconcile.ts';
import { linkSubagents } from '../../core/intake/subagents.ts';
import type { CopiedLines, ImportedRun } from '../../core/intake/run.ts';
import type { BadDocument } from '../../core/intake/source.ts';
import { isObservation } from '../../core/coverage/join.ts';
import { factEvents } from '../../core/intake/facts.ts';
import { balanceEvents, balanceOf, refusalOfBalance, type RunOutcome } from './balance.ts';
import type { Chunks } from './pieces.ts';
import { CliError, exit } from '../program/exit.ts';
import type { KnownRuns, PushContext } from './context.ts';
import { inputError, recordOf, type InputRecord } from './record.ts';
import { asStored } from './recorded.ts';
import type { InputSource } from './source.ts';

/** Yields the records of another program's recording. Reads the source whole, at most `limits.importBytes`. */
export async function* readImport(
  source: InputSource,
  chunks: Chunks,
  reading: PushContext,
): AsyncGenerator<InputRecord> {
  const refused: BadDocument[] = [];
  let count = 0;
  let bytes: Buffer | undefined;
  try {
    const again = (whole: Buffer) => eventsOfFile(source, whole, reading);
    const { readInParts } = await import('./in-parts.ts');
    if (yield* readInParts(source, reading, again)) {
      forget(reading.known);
      return;
    }
    bytes = await readWhole(source, chunks);
    if (source.isFound === true && bytes.every((byte) => blank.includes(byte))) {
      reading.told({ kind: 'nothing', source: source.name, format: reading.options.format });
      return;
    }
    const same = await unchanged(source, bytes, reading);
    if (same !== undefined) {
      reading.told({ kind: 'unchanged', source: source.name, format: same.format, runId: same.runId });
      yield { line: 1, known: same.events };
      return;
    }
    // all runs: the file is compared with them before the first event is sent
    const runs = [...(await runsOf(source, { bytes, bad: refused, reading }))];
    count = runs.length;
    yield* refused;
    if (count > 0) yield* balanced(source, { bytes, runs, refused, reading });
  } catch (failure) {
    const isAlone = reading.paths.length > 1 || source.isFound === true;
    if (!isAlone || !isOfFile(failure)) throw failure;
    count += 1;
    if (source.isFound === true && bytes !== undefined && (await isNoRecording(failure, bytes)))
      reading.told({ kind: 'passed over', source: source.name });
    else yield refusalOf(failure, source.name);
  }
  forget(reading.known);
  if (count === 0 && refused.length === 0)
    reading.told({ kind: 'nothing', source: source.name, format: reading.options.format });
}

const unchanged = async ({ path }: InputSource, bytes: Buffer, { recorded, signal }: PushContext) =>
  path === null || signal === undefined ? undefined : recorded?.unchanged({ path, bytes }, signal);

/** White space of JSON. */
const blank = Buffer.from(' \t\r\n');

type FileFailure = GovError | CliError;

/** Whether a failure is one of the file, and not of the service or of this program. */
const isOfFile = (failure: unknown): failure is FileFailure =>
  failure instanceof GovError || (failure instanceof CliError && failure.exit === exit.usage);

/** Whether a file of a folder, which no importer reads, has no calls, results or messages by their shape either. */
async function isNoRecording({ message }: FileFailure, bytes: Buffer): Promise<boolean> {
  const { noFormat } = await import('../../core/intake/registry.ts');
  if (!message.endsWith(noFormat)) return false;
  const { holdsFacts } = await import('../../core/intake/balance-file.ts');
  return !holdsFacts(bytes);
}

/** A folder may have more sessions than fit into memory: a run that comes again is asked for again. */
function forget({ asked, sent, long, kept }: KnownRuns): void {
  if (kept.events <= limits.pushKeptEvents) return;
  asked.clear();
  sent.clear();
  long.clear();
  kept.events = 0;
}

interface ReadFile {
  readonly bytes: Buffer;
  readonly runs: readonly ImportedRun[];
  readonly refused: readonly BadDocument[];
  readonly reading: PushContext;
}

/** Yields the events of a file, and then its balance; only a refusal if it does not balance. */
async function* balanced(source: InputSource, { reading, ...file }: ReadFile): AsyncGenerator<InputRecord> {
  const weighed = await balanceOf(source, file);
  const refusal = reading.allowRemainder ? undefined : await refusalOfBalance(weighed);
  if (refusal !== undefined) {
    yield refusal;
    return;
  }
  const outcomes: RunOutcome[] = [];
  await recall(source, { reading, ...file });
  for await (const { run, stored } of withStored(file.runs, reading)) {
    reading.told({ kind: 'run', source: source.name, run });
    if (file.runs.length === 1 && source.path !== null && stored !== undefined)
      reading.recorded?.took({ path: source.path, bytes: file.bytes }, run, stored);
    const outcome = yield* recordsOf(run, { stored, reading });
    if (outcome !== undefined) outcomes.push(outcome);
  }
  const { parts } = weighed.balance.leftOut;
  if (parts > 0) reading.told({ kind: 'left out', source: source.name, balance: weighed.balance });
  yield* balanceEvents(weighed.balance, outcomes).map(recordOf);
}

/** Answers from a note what the service would be asked for, where the note is sure. */
async function recall({ path }: InputSource, { bytes, runs, reading }: ReadFile): Promise<void> {
  const [run] = runs;
  const { recorded, signal, known } = reading;
  if (recorded === undefined || run === undefined || runs.length > 1 || path === null) return;
  if (signal === undefined || known.asked.has(run.runId)) return;
  const stored = await recorded.storedOf({ path, bytes }, run, signal);
  if (stored === undefined) return;
  known.kept.events += stored.length;
  known.asked.set(run.runId, Promise.resolve(stored));
}

/** Returns the events of a file, as the service lists them. The file is read again, as a whole. */
async function eventsOfFile(
  source: InputSource,
  bytes: Buffer,
  reading: PushContext,
): Promise<readonly StoredEvent[]> {
  const runs = await runsOf(source, { bytes, bad: [], reading: { ...reading, told: () => {} } });
  return [...runs].flatMap(({ events }) => events.map(asStored));
}

/** The message of an error names file and line, which the report does too. */
function refusalOf(failure: FileFailure, sourceName: string): InputRecord {
  const name = [sourceName, basename(sourceName)].find((each) => failure.message.startsWith(`${each}:`));
  const place = name === undefined ? '' : failure.message.slice(name.length + 1);
  const line = /^(\d+): /.exec(place);
  const detail = line === null ? failure.message : place.slice(line[0].length);
  return { line: Number(line?.[1] ?? 1), reason: `${failure.code.toLowerCase()}: ${detail}` };
}

async function readWhole(source: InputSource, chunks: Chunks): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > limits.importBytes) {
      throw inputError(
        source.name,
        `expected at most ${limits.importBytes} bytes to import, got more; split the file`,
      );
    }
    parts.push(chunk);
  }
  return Buffer.concat(parts, size);
}

async function runsOf(
  source: InputSource,
  { bytes, bad, reading }: { bytes: Buffer; bad: BadDocument[]; reading: PushContext },
): Promise<Iterable<ImportedRun>> {
  const { importRuns } = await import('../../core/intake/registry.ts');
  const { containerOf, decodeText, documents } = await import('../../core/intake/source.ts');
  const { decodeRequest } = await import('../../core/intake/otlp/protobuf.ts');
  const { told, options } = reading;
  const container = containerOf(bytes);
  if (container !== undefined)
    throw new GovError('VALIDATION_ERROR', `${source.name}:1: expected a recording, got ${container}`);
  const sourceName = source.knownAs ?? (source.path === null ? '' : basename(source.path));
  const request = decodeRequest(bytes);
  const mayBeOtlp = request !== undefined || bytes.includes('"resourceSpans"');
  const traces = mayBeOtlp && reading.paths.length > 1 ? await tracesOf(reading) : undefined;
  const { text, repaired } = request === undefined ? decodeText(bytes) : { text: '', repaired: false };
  if (repaired) told({ kind: 'not UTF-8', source: source.name });
  return importRuns(request === undefined ? documents(text, source.name) : [{ value: request, line: 1 }], {
    ...options,
    sourceName,
    folder: source.path === null ? undefined : basename(dirname(source.path)),
    repaired,
    traces,
    importedAt: reading.importedAt(hash('sha256', bytes, 'hex')),
    copied: await copiedLines(source, bytes),
    skipped: (records) => told({ kind: 'skipped', records }),
    refused: (refused) => bad.push(refused),
    saw: (format, why) => {
      if (options.format === 'auto') told({ kind: 'format', source: source.name, format, why });
    },
  });
}

/** A session of Claude Code may repeat the lines of another one in its folder. */
async function copiedLines({ path }: InputSource, bytes: Buffer): Promise<CopiedLines | undefined> {
  if (path?.endsWith('.jsonl') !== true) return undefined;
  const { copiedFrom } = await import('./forks.ts');
  return copiedFrom(path, bytes);
}

/** An exporter spreads a trace over several requests, and often only the last one names the run. */
async function tracesOf({ paths, known }: PushContext): Promise<ReadonlyMap<string, string>> {
  if (known.traces !== undefined) return known.traces;
  const { tracesIn } = await import('../../core/intake/formats/otlp.ts');
  const { decodeText, documents } = await import('../../core/intake/source.ts');
  const { decodeRequest } = await import('../../core/intake/otlp/protobuf.ts');
  const traces = new Map<string, string>();
  for (const path of paths) {
    const bytes = readFileSync(path);
    const request = decodeRequest(bytes);
    if (request === undefined && !bytes.includes('"resourceSpans"')) continue;
    const read = request === undefined ? [...documents(decodeText(bytes).text, path)] : [{ value: request }];
    const values = read.map((each) => ('value' in each ? each.value : undefined));
    for (const [trace, run] of tracesIn(values)) traces.set(trace, run);
  }
  known.traces = traces;
  return traces;
}

interface RunWithStored {
  readonly run: ImportedRun;
  readonly stored: readonly StoredEvent[] | undefined;
}

/** Runs that the service is asked about at the same time: hides the time of an answer. */
const ahead = 8;

/** Yields runs with the events that the service and this push have of them. */
async function* withStored(
  runs: Iterable<ImportedRun>,
  { stored, known: { asked, sent, long, kept } }: PushContext,
): AsyncGenerator<RunWithStored> {
  const iterator = runs[Symbol.iterator]();
  const ask = async (runId: string): Promise<readonly StoredEvent[] | undefined> => {
    const events = await stored?.(runId);
    kept.events += events?.length ?? 0;
    return events;
  };
  const waiting: { run: ImportedRun; known: Promise<readonly StoredEvent[] | undefined> }[] = [];
  for (;;) {
    while (waiting.length < ahead) {
      const next = iterator.next();
      if (next.done === true) break;
      const run = next.value;
      const known = asked.get(run.runId) ?? ask(run.runId);
      known.catch(() => {}); // awaited below, in order
      asked.set(run.runId, known);
      waiting.push({ run, known });
    }
    const first = waiting.shift();
    if (first === undefined) return;
    const { runId } = first.run;
    const known = await first.known;
    const own = [...((await long.get(runId)?.()) ?? []), ...(sent.get(runId) ?? [])];
    yield { run: first.run, stored: known === undefined ? undefined : [...known, ...own] };
  }
}

/** Formats whose subagents have files of their own. */
const hasSubagents = new Set(['claude-code', 'claude-stream', 'codex', 'gemini-cli']);

function* recordsOf(
  read: ImportedRun,
  { stored, reading }: { stored: RunWithStored['stored']; reading: PushContext },
): Generator<InputRecord, RunOutcome | undefined> {
  const run = hasSubagents.has(read.format) ? linkSubagents(read, stored ?? []) : read;
  const found =
    stored === undefined || stored.length === 0
      ? { events: run.events, completed: 0, merged: 0, corrected: 0 }
      : reconcile(run, stored);
  if ('pointer' in found) {
    yield { line: 1, reason: conflictOf(run, found) };
    return undefined;
  }
  const { completed, merged, corrected } = found;
  if (stored !== undefined) {
    const fresh = found.events.filter((event) => event !== null);
    const { sent, kept } = reading.known;
    kept.events += fresh.length;
    sent.set(run.runId, [...(sent.get(run.runId) ?? []), ...fresh.map(asStored)]);
  }
  if (completed > 0 || merged > 0) reading.told({ kind: 'reconciled', completed, merged, corrected });
  yield* found.events.map(recordOf);
  const known = new Map(stored?.map(({ clientEventId, eventType }) => [clientEventId, eventType]));
  const isObserved = (at: number): boolean => {
    const event = found.events[at] ?? null;
    if (event !== null) return isObservation(event.eventType);
    // another signal of the source has it, or it was an observation from the beginning
    const before = known.get(run.events[at]?.clientEventId ?? null);
    return before === undefined || isObservation(before);
  };
  return {
    runId: run.runId,
    facts: factEvents(run.events),
    lastTimestamp: run.events.at(-1)?.timestamp,
    observed: factEvents(run.events, isObserved),
    isKnown: (id) => known.has(id),
  };
}

const excerptChars = 80;
const excerpt = (value: unknown): string => {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length <= excerptChars ? text : `${text.slice(0, excerptChars)}…`;
};

const byOtherVersion = {
  older: ' (an older version of gov recorded it, and read this recording otherwise)',
  same: '',
  newer: ' (a newer version of gov recorded it: use that version to add to it)',
};

const conflictOf = (
  { runId }: ImportedRun,
  { clientEventId, recordedBy, pointer, stored, given }: Difference,
): string =>
  `run_exists: the run ${runId} exists with other content, so nothing of this recording was stored` +
  `${byOtherVersion[recordedBy]}: ` +
  `${pointer} of ${clientEventId} is ${excerpt(stored)} there and ${excerpt(given)} here; ` +
  `--run NAME records it as a run of its own`;
