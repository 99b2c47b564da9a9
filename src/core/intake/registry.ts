/**
 * All formats of recordings, and the way from a file's documents to its runs: a document that cannot be read is refused
 * alone, lines of one recording are joined, and each document goes to the format that recognises it.
 * Tested by `test/core/intake/registry.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { Format, PartReader } from './format.ts';
import { anthropic } from './formats/anthropic.ts';
import { auditd } from './formats/auditd.ts';
import { claudeCode } from './formats/claude-code.ts';
import { claudeStream } from './formats/claude-stream.ts';
import { codex } from './formats/codex.ts';
import { copilotCli } from './formats/copilot-cli.ts';
import { falco } from './formats/falco.ts';
import { geminiCli } from './formats/gemini-cli.ts';
import { langfuse } from './formats/langfuse.ts';
import { mcp } from './formats/mcp.ts';
import { openaiChat } from './formats/openai-chat.ts';
import { openaiResponses } from './formats/openai-responses.ts';
import { opencode } from './formats/opencode.ts';
import { openhandsV1 } from './formats/openhands-v1.ts';
import { openhands } from './formats/openhands.ts';
import { otlp } from './formats/otlp.ts';
import { sweAgent } from './formats/swe-agent.ts';
import { tetragon } from './formats/tetragon.ts';
import type { FormatName } from './names.ts';
import { otherProgram } from './other-programs.ts';
import { Places } from './places.ts';
import { isSource, type ImportContext, type ImportedRun } from './run.ts';
import type { BadDocument, SourceDocument } from './source.ts';

/**
 * In the order of detection: formats with marks of their own come before lists of messages. At most one of the others
 * recognises a document.
 */
export const formats: readonly Format[] = [
  langfuse,
  otlp,
  mcp,
  auditd,
  falco,
  tetragon,
  claudeCode,
  claudeStream,
  codex,
  copilotCli,
  geminiCli,
  opencode,
  openhandsV1,
  sweAgent,
  openhands,
  anthropic,
  openaiResponses,
  openaiChat,
];

export interface ImportOptions extends Omit<ImportContext, 'named' | 'placeOf'> {
  readonly format: FormatName | 'auto';
  /** Called for a document that is refused alone. Absent: the first one is an error. */
  readonly refused?: ((bad: BadDocument) => void) | undefined;
  /** Called with each format that the file has, and why. */
  readonly saw?: ((format: string, why: string) => void) | undefined;
}

/** Returns whether a document is events as `POST /events` accepts them. Those are not a recording to import. */
export const isOwnEvents = (document: unknown): boolean =>
  Array.isArray(document) ? document.length > 0 && document.every(isOwnEvent) : isOwnEvent(document);

const isOwnEvent = (value: unknown): boolean =>
  isSource(value) && typeof value['runId'] === 'string' && typeof value['eventType'] === 'string';

export interface DetectedFormat {
  readonly format: Format;
  readonly why: string;
}

/** Returns the format of a document and why; undefined if none recognises it. */
export function detectFormat(document: unknown): DetectedFormat | undefined {
  for (const format of formats) {
    const why = format.detect(document);
    if (why !== undefined) return { format, why };
  }
  return undefined;
}

/**
 * Yields the runs of a file's documents, in order. Errors, with file and line: VALIDATION_ERROR if no document has the
 * expected format, and for `runId` with a source of several runs, before the first run; INVALID_JSON and VALIDATION_ERROR
 * for a single document, unless `refused` takes it.
 */
export function* importRuns(
  documents: Iterable<SourceDocument | BadDocument>,
  options: ImportOptions,
): Generator<ImportedRun> {
  const runs = allRuns(documents, { ...options, named: new Map() });
  if (options.runId === undefined) {
    yield* runs;
    return;
  }
  const [first, second] = [runs.next(), runs.next()];
  if (second.done !== true) {
    throw new GovError('VALIDATION_ERROR', `${options.sourceName}: expected one run for --run, got several`);
  }
  if (first.done !== true) yield first.value;
}

function* allRuns(
  documents: Iterable<SourceDocument | BadDocument>,
  options: ImportOptions & ImportContext,
): Generator<ImportedRun> {
  const unknown: BadDocument[] = [];
  const seen = new Set<string>();
  for (const document of wholeDocuments(documents, options)) {
    const { value, line } = document;
    const found = formatOf(value, options);
    if ('reason' in found) {
      unknown.push({ line, reason: found.reason });
      continue;
    }
    const note = `${found.format.name} ${found.why}`;
    if (!seen.has(note)) options.saw?.(found.format.name, found.why);
    seen.add(note);
    const places = new Places(document);
    yield* found.format.runs(value, { ...options, placeOf: (part) => places.of(part) });
  }
  const [first] = unknown;
  if (first === undefined) return;
  // a file without any document of the format was named by mistake
  if (seen.size === 0) throw faultAt(first, options);
  for (const bad of unknown) refuse(bad, options);
}

/** The end of the message for a document that no format recognises. */
export const noFormat = 'none of them; name the format with --from';

const faultAt = ({ line, reason }: BadDocument, { sourceName }: ImportContext): GovError =>
  new GovError('VALIDATION_ERROR', `${sourceName || 'input'}:${line}: ${reason}`);

function refuse(bad: BadDocument, options: ImportOptions): void {
  if (options.refused === undefined) {
    const code = bad.reason.startsWith('invalid_json') ? 'INVALID_JSON' : 'VALIDATION_ERROR';
    const reason = bad.reason.replace(/^[a-z_]+: /, '');
    throw new GovError(code, `${options.sourceName || 'input'}:${bad.line}: ${reason}`);
  }
  options.refused(bad);
}

/** Joins documents that are lines of one recording, and refuses documents that cannot be read. */
function* wholeDocuments(
  documents: Iterable<SourceDocument | BadDocument>,
  options: ImportOptions,
): Generator<SourceDocument> {
  let lines: SourceDocument[] = [];
  let of: string | undefined;
  for (const document of documents) {
    if ('reason' in document) {
      refuse(document, options);
      continue;
    }
    const kind = lineKind(document.value);
    if (kind === undefined && lines.length > 0 && 'reason' in formatOf(document.value, options)) {
      yield document; // it is refused alone, and does not cut the recording around it in two
      continue;
    }
    if (lines.length > 0 && kind !== of) {
      yield joined(lines);
      lines = [];
    }
    of = kind;
    if (kind === undefined) yield document;
    else lines.push(document);
  }
  if (lines.length > 0) yield joined(lines);
}

/** Returns the format of lines that may be read part by part, and why; undefined: only the whole file shows it. */
export function formatInParts(
  lines: readonly unknown[],
  options: Pick<ImportOptions, 'format'>,
): (DetectedFormat & { readonly parts: PartReader }) | undefined {
  const found = formatOf(lines, options);
  if ('reason' in found || found.format.parts === undefined) return undefined;
  if (!lines.every((line) => lineKind(line) === found.format.name)) return undefined;
  return { ...found, parts: found.format.parts };
}

/** Messages and items of several providers are told apart only by the whole list. */
const messageFormats = new Set([openaiChat, openaiResponses, anthropic]);

function lineKind(document: unknown): string | undefined {
  const format = formats.find((each) => each.isLine?.(document) === true);
  return format !== undefined && messageFormats.has(format) ? 'messages' : format?.name;
}

const joined = (lines: readonly SourceDocument[]): SourceDocument => ({
  value: lines.map(({ value }) => value),
  line: lines[0]?.line ?? 1,
  lines: lines.map(({ line }) => line),
});

function formatOf(
  document: unknown,
  { format: wanted }: Pick<ImportOptions, 'format'>,
): DetectedFormat | { reason: string } {
  const other = otherProgram(document);
  if (other !== undefined) return { reason: `looks like ${other}; gov does not read it` };
  const detected = detectFormat(document);
  if (wanted === 'auto') {
    if (detected !== undefined) return detected;
    const got = isOwnEvents(document) ? 'events: push them without --from' : noFormat;
    return { reason: `expected one of ${formats.map(({ name }) => name).join(', ')}, got ${got}` };
  }
  const format = formats.find(({ name }) => name === wanted);
  if (format === undefined) throw new Error(`expected a format of the registry, got ${wanted}`);
  const accepts = format.accepts ?? ((value) => format.detect(value) !== undefined);
  if (accepts(document)) return { format, why: 'the flag says so' };
  const got = detected === undefined ? 'something else' : `${detected.format.name} (${detected.why})`;
  return { reason: `expected ${format.name} (${format.expects}), got ${got}` };
}
