/**
 * The JSON documents of an imported file: one JSON value, or one per line. Other programs do not always write strict JSON:
 * Python writes NaN and Infinity, and numbers beyond 2^53 lose digits as doubles. This reader keeps both as text. Lines of the audit
 * log of Linux are no JSON; each is read as an object.
 * Tested by `test/core/intake/source.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { parseJson } from '../json/parse.ts';
import { otherText } from './other-programs.ts';
import { auditLine } from './pieces/audit-line.ts';

export interface SourceDocument {
  readonly value: unknown;
  /** Line where the document begins, from 1. */
  readonly line: number;
  /** Lines of the members, where the document is a list of lines. */
  readonly lines?: readonly number[];
}

/** A document that is refused alone. */
export interface BadDocument {
  readonly line: number;
  /** A reason in the form of contract E10. */
  readonly reason: string;
}

/**
 * Numbers that a double may not carry: 16 or more digits before the point, or an exponent of 3 digits. A text begins with a
 * quote, so that times in nanoseconds, which OTLP writes as texts, do not count.
 */
const risky = /(?:^|[:,[\s])-?(?:\d{16}|\d[\d.]*[eE][+]?\d{3})/;

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

/** Deeper values end the stack of what reads them: `fit.ts`, and canonical JSON. No agent nests its own so deep. */
const deepest = 1000;

class TooDeep extends Error {
  constructor() {
    super(`expected values that are not nested too deep: at most ${deepest} levels`);
  }
}

/** As `parseLoose`. Throws also for a value that nests too deep. */
export function parseShallow(text: string): unknown {
  const value = parseLoose(text);
  let level: object[] = isContainer(value) ? [value] : [];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth >= deepest) throw new TooDeep();
    level = level.flatMap((each) => Object.values(each).filter(isContainer));
  }
  return value;
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

const quoteTokens = (text: string): string =>
  outsideTexts(text, (part) => part.replace(/-?Infinity|NaN/g, '"$&"'));

const parseExact = (text: string): unknown => JSON.parse(risky.test(text) ? keepDigits(text) : text);

/** Not a reviver of `JSON.parse`: that needs a frame of the stack for each level. */
const keepDigits = (text: string): string =>
  outsideTexts(text, (part) =>
    part.replace(/-?\d[\d.eE+-]*/g, (found) => (isLossy(found) ? `"${found}"` : found)),
  );

function isLossy(found: string): boolean {
  // what is no number stays a fault
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(found)) return false;
  const value = Number(found);
  return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
}

/** Changes the parts of JSON between its texts. A search, not a pattern: a pattern over a long text ends at the stack. */
function outsideTexts(json: string, change: (part: string) => string): string {
  const parts: string[] = [];
  for (let from = 0; ;) {
    const open = json.indexOf('"', from);
    if (open === -1) return parts.join('') + change(json.slice(from));
    parts.push(change(json.slice(from, open)));
    let close = json.indexOf('"', open + 1);
    while (close !== -1 && isEscaped(json, close)) close = json.indexOf('"', close + 1);
    if (close === -1) return parts.join('') + json.slice(open);
    parts.push(json.slice(open, close + 1));
    from = close + 1;
  }
}

function isEscaped(json: string, at: number): boolean {
  let before = at;
  while (json[before - 1] === '\\') before -= 1;
  return (at - before) % 2 === 1;
}

/**
 * Yields the documents of a file's text, in order: one JSON value, one a line, or one after each record separator (RFC
 * 7464). A line that cannot be read is refused alone. Errors: GovError INVALID_JSON with file and line, if the text as a
 * whole is no JSON and no line of it is.
 */
export function* documents(text: string, sourceName: string): Generator<SourceDocument | BadDocument> {
  const body = text.startsWith('\ufeff') ? text.slice(1) : text;
  if (body.trimStart().startsWith('\x1e')) yield* separated(body);
  else if (auditLine(body.trimStart().split('\n', 1)[0] ?? '') !== null) yield* lineByLine(body);
  else if (isJsonLines(body)) yield* lineByLine(body);
  else yield* whole(body, sourceName);
}

/** A text that is no JSON value may still have lines that are, between other text. */
function* whole(text: string, sourceName: string): Generator<SourceDocument | BadDocument> {
  let value: unknown;
  try {
    value = parseShallow(text);
  } catch (cause) {
    if (cause instanceof TooDeep)
      throw new GovError('VALIDATION_ERROR', `${sourceName || 'input'}:1: ${cause.message}`, { cause });
    if (/^\s*[[{].*[\]}]\s*$/m.test(text) && text.split('\n').some(isObjectLine)) {
      yield* lineByLine(text);
      return;
    }
    const other = otherText(text);
    if (other !== undefined)
      throw new GovError(
        'VALIDATION_ERROR',
        `${sourceName || 'input'}:1: looks like ${other}; gov does not read it`,
        { cause },
      );
    const { offset, detail } = faultIn(text);
    const line = text.slice(0, offset).split('\n').length;
    throw new GovError('INVALID_JSON', `${sourceName || 'input'}:${line}: ${detail}`, { cause });
  }
  yield { value, line: 1 };
}

function isObjectLine(line: string): boolean {
  if (!/^\s*\{.*\}\s*$/.test(line)) return false;
  try {
    parseLoose(line);
    return true;
  } catch {
    return false;
  }
}

function* lineByLine(text: string): Generator<SourceDocument | BadDocument> {
  let number = 0;
  for (let from = 0; from < text.length;) {
    const newline = text.indexOf('\n', from);
    const to = newline === -1 ? text.length : newline;
    number += 1;
    const line = text.slice(from, to);
    from = to + 1;
    if (line.trim() !== '') yield parsedLine(line, number);
  }
}

function* separated(text: string): Generator<SourceDocument | BadDocument> {
  let line = 1;
  for (const part of text.split('\x1e')) {
    const before = part.length - part.trimStart().length;
    const at = line + part.slice(0, before).split('\n').length - 1;
    line += part.split('\n').length - 1;
    if (part.trim() !== '') yield parsedLine(part, at);
  }
}

/** Captures of MCP mark each line with its sender: `C {…}` and `S {…}`. */
const sent = /^([CS]) (\{.*\})\s*$/;

export function parsedLine(text: string, line: number): SourceDocument | BadDocument {
  const [, dir, msg] = sent.exec(text) ?? [];
  const audited = auditLine(text);
  if (audited !== null) return { value: audited, line };
  try {
    return { value: msg === undefined ? parseShallow(text) : { dir, msg: parseShallow(msg) }, line };
  } catch (error) {
    if (error instanceof TooDeep) return { line, reason: `validation_error: ${error.message}` };
    return { line, reason: `invalid_json: ${faultIn(text).detail}` };
  }
}

function isJsonLines(text: string): boolean {
  const start = text.search(/\S/);
  const newline = text.indexOf('\n', start);
  if (start === -1 || newline === -1 || text.slice(newline).trim() === '') return sent.test(text.trim());
  const first = text.slice(start, newline);
  return sent.test(first) || !('reason' in parsedLine(first, 1));
}

/** Returns the encoding that the first bytes show: a mark, or the zeros of UTF-16 before or after an ASCII character. */
export function encodingOf([a, b, c, d]: Uint8Array): 'utf-16le' | 'utf-16be' | 'utf-8' {
  if ((a === 0xff && b === 0xfe) || (b === 0 && d === 0 && a !== 0)) return 'utf-16le';
  if ((a === 0xfe && b === 0xff) || (a === 0 && c === 0 && b !== 0)) return 'utf-16be';
  return 'utf-8';
}

const containers: readonly (readonly [bytes: string, what: string])[] = [
  ['\x1f\x8b', 'a file compressed with gzip: decompress it first'],
  ['\x28\xb5\x2f\xfd', 'a file compressed with Zstandard: decompress it first'],
  ['BZh', 'a file compressed with bzip2: decompress it first'],
  ['\xfd7zXZ\x00', 'a file compressed with xz: decompress it first'],
  ['PK\x03\x04', 'a ZIP archive: unpack it first'],
  ['SQLite format 3\x00', 'a database of SQLite: let its program export the session'],
];

/** Returns what holds a recording in place of its text; undefined for any other file. */
export function containerOf(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  return containers.find(([mark]) => head.startsWith(mark))?.[1];
}

/** Returns the text of a file: UTF-8 or UTF-16. `repaired`: some bytes were unreadable. */
export function decodeText(bytes: Uint8Array): { readonly text: string; readonly repaired: boolean } {
  const encoding = encodingOf(bytes);
  try {
    return { text: new TextDecoder(encoding, { fatal: true }).decode(bytes), repaired: false };
  } catch {
    return { text: new TextDecoder(encoding).decode(bytes), repaired: true };
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
