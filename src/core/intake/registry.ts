/**
 * The importers by name, and the detection of a document's format. At most one importer accepts a document. The order
 * below matters only for lists of chat messages, which mini-swe-agent marks.
 * Tested by `test/core/intake/registry.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { detectChat, importChat } from './formats/openai-chat.ts';
import { detectLangfuse, importLangfuse } from './formats/langfuse.ts';
import { isMessage } from './formats/chat-messages.ts';
import { detectOpenHands, importOpenHands, isOpenHandsEvent } from './formats/openhands.ts';
import { importFormats, isSource, type ImportContext, type ImportedRun, type ImportFormat } from './run.ts';
import type { SourceDocument } from './source.ts';
import { acceptsSweAgent, detectSweAgent, importSweAgent } from './formats/swe-agent.ts';

interface Importer {
  /** Recognises the format without a flag. */
  readonly detect: (document: unknown) => boolean;
  /** Accepts a document if a flag names the format. */
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

/** Returns whether a document is events as `POST /events` accepts them. Those are not a recording to import. */
export const isOwnEvents = (document: unknown): boolean =>
  Array.isArray(document) ? document.length > 0 && document.every(isOwnEvent) : isOwnEvent(document);

const isOwnEvent = (value: unknown): boolean =>
  isSource(value) && typeof value['runId'] === 'string' && typeof value['eventType'] === 'string';

/** Returns the format of a document, or undefined if no importer accepts it. */
export const detectFormat = (document: unknown): ImportFormat | undefined =>
  order.find((format) => importers[format].detect(document));

/**
 * Yields the runs of a file's documents, in order. Errors before the first run, with file and line: VALIDATION_ERROR for a
 * document of an unknown or another format, and for `runId` with a source of several runs.
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

/** Joins documents that are single messages or events: they are the lines of one run. */
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
      : 'none of them; name the format with --from';
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
