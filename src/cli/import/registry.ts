/**
 * The importers by name, and how the format of a document is told. Formats differ enough that at most one accepts
 * a document; the order below only decides for lists of chat messages, which mini-swe-agent marks.
 * Proven by `test/cli/import/registry.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { detectChat, importChat } from './chat.ts';
import { detectLangfuse, importLangfuse } from './langfuse.ts';
import { isMessage } from './message.ts';
import { detectOpenHands, importOpenHands, isOpenHandsEvent } from './openhands.ts';
import { importFormats, isSource, type ImportContext, type ImportedRun, type ImportFormat } from './run.ts';
import type { SourceDocument } from './source.ts';
import { acceptsSweAgent, detectSweAgent, importSweAgent } from './swe-agent.ts';

interface Importer {
  /** Safe to act on without being told the format. */
  readonly detect: (document: unknown) => boolean;
  /** What is read where the format was named. */
  readonly accepts?: (document: unknown) => boolean;
  readonly runs: (document: unknown, context: ImportContext) => Iterable<ImportedRun>;
  readonly expects: string;
}

const importers: Readonly<Record<ImportFormat, Importer>> = {
  langfuse: { detect: detectLangfuse, runs: importLangfuse, expects: '{trace, observations}' },
  'swe-agent': {
    detect: detectSweAgent,
    accepts: acceptsSweAgent,
    runs: importSweAgent,
    expects: '{trajectory, history, info}, {history} or a list of messages',
  },
  openhands: { detect: detectOpenHands, runs: importOpenHands, expects: 'a list of events or {history}' },
  'openai-chat': {
    detect: detectChat,
    runs: importChat,
    expects: 'messages, {messages}, or τ-bench results',
  },
};
const order = [
  'langfuse',
  'swe-agent',
  'openhands',
  'openai-chat',
] as const satisfies readonly ImportFormat[];

export interface ImportOptions extends Omit<ImportContext, 'document'> {
  readonly format: ImportFormat | 'auto';
}

/** Whether a document is events as `POST /events` takes them, which are no recording to import. */
export const isOwnEvents = (document: unknown): boolean =>
  Array.isArray(document) ? document.length > 0 && document.every(isOwnEvent) : isOwnEvent(document);

const isOwnEvent = (value: unknown): boolean =>
  isSource(value) && typeof value['runId'] === 'string' && typeof value['eventType'] === 'string';

/** The format of a document, or undefined where no importer takes it. */
export const detectFormat = (document: unknown): ImportFormat | undefined =>
  order.find((format) => importers[format].detect(document));

/**
 * The runs of a file's documents, in order. Errors, naming file and line: VALIDATION_ERROR for a document of no known
 * or of another format, and for `runId` with a source of several runs, before any run is given.
 */
export function* importRuns(
  documents: Iterable<SourceDocument>,
  options: ImportOptions,
): Generator<ImportedRun> {
  const runs = numberedRuns(documents, options);
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

function* numberedRuns(documents: Iterable<SourceDocument>, options: ImportOptions): Generator<ImportedRun> {
  const iterator = wholeDocuments(documents);
  let current = iterator.next();
  let next = iterator.next();
  const several = next.done !== true;
  for (let number = 1; current.done !== true; number++) {
    const { value, line } = current.value;
    const importer = importers[formatOf(value, line, options)];
    yield* importer.runs(value, { ...options, document: several ? number : undefined });
    current = next;
    next = iterator.next();
  }
}

/** Documents that are single messages or events are the lines of one run: they make one document together. */
function* wholeDocuments(documents: Iterable<SourceDocument>): Generator<SourceDocument> {
  let parts: SourceDocument[] = [];
  for (const document of documents) {
    const isPart = isMessage(document.value) || isOpenHandsEvent(document.value);
    if (isPart) {
      parts.push(document);
      continue;
    }
    if (parts.length > 0) yield joined(parts);
    parts = [];
    yield document;
  }
  if (parts.length > 0) yield joined(parts);
}

const joined = (parts: readonly SourceDocument[]): SourceDocument => ({
  value: parts.map((part) => part.value),
  line: parts[0]?.line ?? 1,
});

function formatOf(document: unknown, line: number, { format, sourceName }: ImportOptions): ImportFormat {
  const where = `${sourceName || 'input'}:${line}`;
  if (format === 'auto') {
    const detected = detectFormat(document);
    if (detected !== undefined) return detected;
    const got = isOwnEvents(document)
      ? 'events: push them without --from'
      : 'none of them; say which with --from';
    throw new GovError(
      'VALIDATION_ERROR',
      `${where}: expected one of ${importFormats.join(', ')}, got ${got}`,
    );
  }
  const importer = importers[format];
  if ((importer.accepts ?? importer.detect)(document)) return format;
  const other = detectFormat(document);
  const got = other === undefined ? 'something else' : other;
  throw new GovError('VALIDATION_ERROR', `${where}: expected ${format} (${importer.expects}), got ${got}`);
}
