/**
 * The JSON documents of an imported file: one JSON value, or one per line. Other programs do not always write strict JSON:
 * Python writes NaN and Infinity, and numbers beyond 2^53 lose digits as doubles. This reader keeps both as text.
 * Tested by `test/core/intake/source.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { parseJson } from '../json/parse.ts';

export interface SourceDocument {
  readonly value: unknown;
  /** Line where the document begins, from 1. */
  readonly line: number;
}

const token = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/gs;
/** Numbers that a double may not carry: 16 or more digits, or an exponent of 3 digits. */
const risky = /\d{16}|[eE][+]?\d{3}/;

/**
 * Parses JSON as programs write it. Values beyond strict JSON or a double become text: NaN is "NaN", and
 * 12345678901234567890 is "12345678901234567890". Throws SyntaxError.
 */
export function parseLoose(text: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    const quoted = quoteTokens(text);
    if (quoted === text) throw error;
    return parseExact(quoted);
  }
}

const quoteTokens = (text: string): string =>
  text.replace(token, (found) => (found.startsWith('"') ? found : `"${found}"`));

function parseExact(text: string): unknown {
  if (!risky.test(text)) return JSON.parse(text);
  return JSON.parse(text, keepDigits);
}

function keepDigits(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  const lossy = !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
  return lossy ? context.source : value;
}

/**
 * Yields the documents of a file's text, in order. If the first line is a JSON value and more lines follow, each line is a
 * document. Errors: GovError INVALID_JSON with file and line.
 */
export function* documents(text: string, sourceName: string): Generator<SourceDocument> {
  const body = text.startsWith('\ufeff') ? text.slice(1) : text;
  if (!isJsonLines(body)) {
    yield { value: parseAt(body, sourceName, 1), line: 1 };
    return;
  }
  let lineNumber = 0;
  for (let from = 0; from < body.length;) {
    const newline = body.indexOf('\n', from);
    const to = newline === -1 ? body.length : newline;
    const line = body.slice(from, to);
    lineNumber += 1;
    from = to + 1;
    if (line.trim() !== '') yield { value: parseAt(line, sourceName, lineNumber), line: lineNumber };
  }
}

function isJsonLines(text: string): boolean {
  const start = text.search(/\S/);
  const newline = text.indexOf('\n', start);
  if (start === -1 || newline === -1 || text.slice(newline).trim() === '') return false;
  try {
    parseLoose(text.slice(start, newline));
    return true;
  } catch {
    return false;
  }
}

function parseAt(text: string, sourceName: string, line: number): unknown {
  try {
    return parseLoose(text);
  } catch (cause) {
    const { offset, detail } = faultIn(text);
    const at = line + text.slice(0, offset).split('\n').length - 1;
    throw new GovError('INVALID_JSON', `${sourceName || 'input'}:${at}: ${detail}`, { cause });
  }
}

const generous = { depth: 10_000, values: Infinity, nameChars: Infinity, stringBytes: Infinity };

/** Returns where a text stops being JSON. The engine's own message does not always say. */
function faultIn(text: string): { offset: number; detail: string } {
  try {
    parseJson(Buffer.from(quoteTokens(text)), generous);
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    return { offset: Number(error.extensions['offset'] ?? 0), detail: error.message };
  }
  return { offset: 0, detail: 'expected JSON, got other text' };
}
