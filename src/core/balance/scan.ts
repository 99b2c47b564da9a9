/**
 * Counts what a recording holds by the shape of its JSON alone. It knows no program and no format, so that it cannot share
 * the mistakes of what reads them. Every JSON value of the bytes is walked, at any depth, and an object is
 *
 * - a call, if it has a name and an input, and an id beside them or on the object around them, or stands as `functionCall`
 *   or in a list `tool_calls`;
 * - a result, if it names the call that it answers and has a content, stands as `functionResponse`, or has the role `tool`,
 *   a name and a content; a call that has an output of its own is a result too;
 * - a prompt, if its role is `user` or `human` and it has text;
 * - an output, if its role is `assistant` or `model` and it has text.
 *
 * JSON (RFC 8259) is read as bytes, with `NaN` and `Infinity` as Python writes them. Text between documents is passed over.
 * A document that breaks off counts for nothing and is listed. Memory: the open objects, one chunk, the longest text. Cost:
 * once over the bytes. The whole input may be an attacker's. Tested by `test/core/balance/scan.test.ts`.
 */
import { sha256Text } from '../hash.ts';
import { pointerToken } from '../json/pointer.ts';
import type { Kind } from './kinds.ts';

/** One fact that the bytes of a recording hold, as it stands there. */
export interface RawFact {
  readonly kind: Kind;
  /** Line where the object begins, from 1, and its JSON pointer in its document. */
  readonly line: number;
  readonly pointer: string;
  /** Line where its document begins. */
  readonly document: number;
  /** Its bytes. */
  readonly start: number;
  readonly end: number;
  /** The id of a call, or the call that a result answers; of a message, its own id. */
  readonly id: string | undefined;
  /** The tool of a call. */
  readonly name: string | undefined;
  /** SHA-256 of the first text of a prompt or an output: equal texts are repeats. */
  readonly text: string | undefined;
  /** The `type`, or the `method`, of the objects around it and its own, the outermost first: `progress/assistant`. */
  readonly types: string;
}

/** A document that is no JSON to its end. */
export interface Broken {
  readonly line: number;
  readonly start: number;
  readonly end: number;
}

export interface ScanSink {
  readonly found: (found: RawFact) => void;
  readonly broken: (broken: Broken) => void;
}

const nameMembers = new Set(['name', 'tool_name', 'toolName']);
const inputMembers = new Set(['input', 'arguments', 'args', 'parameters']);
/** Names under which an object says which call it is or answers, the most telling first. `id` is the object's own. */
const callIdMembers = ['call_id', 'callId', 'tool_call_id', 'toolCallId', 'tool_use_id', 'toolUseId'];
const outputMembers = new Set(['output', 'result']);
const contentMembers = new Set(['content', 'response', 'error', ...outputMembers]);
/** Lists of a message whose members have its text. */
const partMembers = new Set(['content', 'parts']);
const roles: Readonly<Record<string, Kind>> = {
  user: 'prompts',
  human: 'prompts',
  assistant: 'outputs',
  model: 'outputs',
};
const [longestName, longestType] = [1024, 64]; // bytes
/** Levels; a document that nests deeper counts as broken, as importers refuse it. */
const deepest = 1000;

/** An open object or list. */
class Frame {
  readonly parent: Frame | undefined;
  readonly isList: boolean;
  readonly line: number;
  readonly start: number;
  /** The member of the parent that holds it; a number in a list. */
  readonly key: string | number;
  /** The member that is being read, and the members or items so far. */
  member = '';
  count = 0;
  readonly ids = new Map<string, string>();
  name: string | undefined;
  role: string | undefined;
  type = '';
  /** Its member `text`. */
  text: Uint8Array | undefined;
  /** What a message says: its content, or the first text among the parts of it. */
  said: Uint8Array | undefined;
  hasInput = false;
  hasOutput = false;
  hasContent = false;
  /** A name and an input of an object inside, which has no id itself. */
  inner: string | undefined;

  constructor(parent: Frame | undefined, { isList, line, start }: Pick<Frame, 'isList' | 'line' | 'start'>) {
    this.parent = parent;
    this.isList = isList;
    this.line = line;
    this.start = start;
    this.key = parent === undefined ? '' : parent.isList ? parent.count : parent.member;
  }
}

/** A separator stands between documents over several lines (RFC 7464). */
const [NEWLINE, SEPARATOR] = [0x0a, 0x1e];
const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Numbers, true, false and null, and NaN and Infinity. */
const wordBytes = new Set(Buffer.from('0123456789abcdefghijklmnopqrstuvwxyz-+.EIN'));

/** What may come next in the open object or list. */
type Expected = 'key or end' | 'key' | 'colon' | 'value or end' | 'value' | 'comma or end';

export class Scanner {
  readonly #sink: ScanSink;
  #rest: Uint8Array[] = [];
  #restSize = 0;
  /** Bytes that the next attempt needs: an unfinished token is not read again for each chunk. */
  #needed = 0;
  /** Offset of the bytes that are read now. */
  #base = 0;
  #line: number;
  /** Where the next line feed stands in the bytes that are read now. */
  #newline = -1;
  #top: Frame | undefined;
  #depth = 0;
  #expected: Expected = 'value';
  /** After a broken document: nothing is read before the next line. */
  #isSkipping = false;
  #isLineStart = true;
  /** Whether the first document ended on its line: then each of them does. */
  #isLines: boolean | undefined;
  /** What the open document holds; a broken one counts for nothing. */
  #pending: { readonly frame: Frame; readonly found: Omit<RawFact, 'document' | 'pointer' | 'types'> }[] = [];

  /** `line`: where the bytes begin in their file. */
  constructor(sink: ScanSink, line = 1) {
    this.#sink = sink;
    this.#line = line;
  }

  /** Reads on. */
  feed(chunk: Uint8Array): void {
    this.#rest.push(chunk);
    this.#restSize += chunk.length;
    if (this.#restSize >= this.#needed) this.#read();
  }

  /** Call once, after the last chunk. */
  end(): void {
    if (this.#restSize > 0) this.#read();
    if (this.#top !== undefined) this.#break(this.#base + this.#restSize);
  }

  #read(): void {
    const [first] = this.#rest;
    const bytes = this.#rest.length === 1 && first !== undefined ? first : Buffer.concat(this.#rest);
    this.#newline = -1;
    const taken = this.#pass(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    const left = bytes.subarray(taken);
    this.#base += taken;
    this.#rest = left.length === 0 ? [] : [left];
    this.#restSize = left.length;
    this.#needed = left.length * 2;
  }

  /** Reads tokens; returns how many bytes it took. The rest is the beginning of a token. */
  #pass(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length) {
      const byte = bytes[at] ?? 0;
      if (byte === NEWLINE) this.#endLine(at);
      if (byte === SEPARATOR) this.#isLines ??= false;
      if (byte <= 0x20 || this.#isSkipping) {
        at += 1;
        continue;
      }
      // an object at the start of a line, where none can be, is the next document
      const isNext = byte === OPEN_OBJECT && this.#isLineStart && !this.#expected.startsWith('value');
      if (isNext) this.#break(this.#base + at, false);
      this.#isLineStart = false;
      if (this.#top === undefined) {
        if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#open(byte, at);
        at += 1;
        continue;
      }
      const end = this.#token(bytes, at, byte);
      if (end === unfinished) return at;
      if (end === wrong) this.#break(this.#base + at);
      at = end < 0 ? at + 1 : end;
    }
    return at;
  }

  #endLine(at: number): void {
    if (this.#top !== undefined && this.#isLines === true) this.#break(this.#base + at, false);
    this.#line += 1;
    this.#isSkipping = false;
    this.#isLineStart = true;
  }

  /** Reads the token of an open document that begins here; returns the place after it. */
  #token(bytes: Buffer, at: number, byte: number): number {
    const expected = this.#expected;
    const isValue = expected === 'value' || expected === 'value or end';
    if (byte === QUOTE) {
      const close = this.#closing(bytes, at + 1);
      if (close < 0) return close;
      if (isValue) this.#text(bytes, at, close);
      else if (expected.startsWith('key')) this.#key(bytes, at, close);
      else return wrong;
      return close + 1;
    }
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (!isValue || this.#depth === deepest) return wrong;
      this.#open(byte, at);
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      const isOpen = this.#top?.isList === (byte === CLOSE_LIST) && expected.endsWith('end');
      if (!isOpen) return wrong;
      this.#close(at + 1);
    } else if (byte === COMMA && expected === 'comma or end') {
      this.#expected = this.#top?.isList === true ? 'value' : 'key';
    } else if (byte === COLON && expected === 'colon') this.#expected = 'value';
    else if (isValue && wordBytes.has(byte)) return this.#word(bytes, at);
    else return wrong;
    return at + 1;
  }

  /** Returns the quote that ends a text; `wrong` for a line that ends first. */
  #closing(bytes: Buffer, from: number): number {
    let close = bytes.indexOf(QUOTE, from);
    while (close !== -1 && isEscaped(bytes, from, close)) close = bytes.indexOf(QUOTE, close + 1);
    if (this.#newline < from) this.#newline = bytes.indexOf(NEWLINE, from);
    if (this.#newline === -1) this.#newline = Infinity;
    if (close === -1) return this.#newline < bytes.length ? wrong : unfinished;
    return this.#newline < close ? wrong : close;
  }

  #key(bytes: Buffer, at: number, close: number): void {
    if (this.#top !== undefined) this.#top.member = decoded(bytes, at, close);
    this.#expected = 'colon';
  }

  #word(bytes: Buffer, at: number): number {
    let end = at;
    while (end < bytes.length && wordBytes.has(bytes[end] ?? 0)) end += 1;
    // a number may go on in the next chunk
    if (end === bytes.length) return unfinished;
    const text = bytes.toString('latin1', at, end);
    if (text !== 'null') this.#value(/^\d/.test(text) ? text : undefined);
    this.#valueEnded();
    return end;
  }

  #text(bytes: Buffer, at: number, close: number): void {
    const top = this.#top;
    if (top === undefined) return;
    const { member } = top;
    const isEmpty = close === at + 1;
    if (top.isList) {
      if (!isEmpty) top.said ??= textBytes(bytes, at, close);
    } else {
      if (member === 'text' && !isEmpty) top.text = textBytes(bytes, at, close);
      if (member === 'content' && !isEmpty) top.said = textBytes(bytes, at, close);
      this.#value(close - at <= longestName ? decoded(bytes, at, close) : undefined);
    }
    this.#valueEnded();
  }

  /** Takes a value of the open object that is not null. `text`: a name, an id, a type or a role. */
  #value(text?: string): void {
    const top = this.#top;
    if (top === undefined || top.isList) return;
    const { member } = top;
    if (inputMembers.has(member)) top.hasInput = true;
    if (outputMembers.has(member)) top.hasOutput = true;
    if (contentMembers.has(member)) top.hasContent = true;
    if (text === undefined || text === '') return;
    if (nameMembers.has(member)) top.name = text;
    else if (member === 'role') top.role = text;
    else if (member === 'type' || (member === 'method' && top.type === ''))
      top.type = text.slice(0, longestType);
    else if (member === 'id' || callIdMembers.includes(member)) top.ids.set(member, text);
  }

  #valueEnded(): void {
    if (this.#top !== undefined) this.#top.count += 1;
    this.#expected = 'comma or end';
  }

  #open(byte: number, at: number): void {
    this.#value();
    const isList = byte === OPEN_LIST;
    this.#depth += 1;
    this.#top = new Frame(this.#top, { isList, line: this.#line, start: this.#base + at });
    this.#expected = isList ? 'value or end' : 'key or end';
  }

  #close(at: number): void {
    const frame = this.#top;
    if (frame === undefined) return;
    const { parent } = frame;
    if (!frame.isList) this.#judge(frame, this.#base + at);
    // a message says what its parts say
    if (parent?.isList === true) parent.said ??= frame.text;
    else if (partMembers.has(String(frame.key)) && parent !== undefined)
      parent.said ??= frame.isList ? frame.said : frame.text;
    [frame.text, frame.said] = [undefined, undefined];
    this.#top = parent;
    this.#depth -= 1;
    this.#valueEnded();
    if (parent === undefined) this.#document(frame);
  }

  #judge(frame: Frame, end: number): void {
    const { ids, name, parent, key } = frame;
    const called = callIdMembers.map((each) => ids.get(each)).find((each) => each !== undefined);
    const id = called ?? ids.get('id');
    const tool = name !== undefined && frame.hasInput ? name : frame.inner;
    const answers = called !== undefined || (frame.role === 'tool' && name !== undefined);
    const add = (kind: Kind, of: Pick<RawFact, 'id' | 'name' | 'text'>): void =>
      void this.#pending.push({ frame, found: { kind, line: frame.line, start: frame.start, end, ...of } });
    const isPlaced = key === 'functionCall' || (parent?.isList === true && parent.key === 'tool_calls');
    if (tool !== undefined && (id !== undefined || isPlaced)) {
      add('calls', { id, name: tool, text: undefined });
      if (frame.hasOutput) add('results', { id, name: tool, text: undefined });
    } else if (tool !== undefined && parent?.isList === false) parent.inner ??= tool;
    else if ((answers && frame.hasContent) || key === 'functionResponse')
      add('results', { id, name, text: undefined });
    const kind = Object.hasOwn(roles, frame.role ?? '') ? roles[frame.role ?? ''] : undefined;
    const said = frame.said ?? frame.text;
    if (kind !== undefined && said !== undefined)
      add(kind, { id: ids.get('id'), name: undefined, text: sha256Text(said) });
  }

  /** A document is whole: what it holds counts. */
  #document({ line }: Frame): void {
    this.#isLines ??= line === this.#line;
    // what is around an object may say its type after it
    this.#expected = 'value';
    for (const { frame, found } of this.#pending)
      this.#sink.found({ ...found, document: line, pointer: pointerOf(frame), types: typesOf(frame) });
    this.#pending = [];
  }

  #break(end: number, skips = true): void {
    let frame = this.#top;
    while (frame?.parent !== undefined) frame = frame.parent;
    if (frame !== undefined) this.#sink.broken({ line: frame.line, start: frame.start, end });
    this.#top = undefined;
    this.#depth = 0;
    this.#expected = 'value';
    this.#pending = [];
    this.#isSkipping = skips;
  }
}

const [unfinished, wrong] = [-1, -2];

function isEscaped(bytes: Buffer, from: number, at: number): boolean {
  let before = at;
  while (before > from && bytes[before - 1] === BACKSLASH) before -= 1;
  return (at - before) % 2 === 1;
}

/** Returns the text between two quotes. */
function decoded(bytes: Buffer, open: number, close: number): string {
  const raw = bytes.toString('utf8', open + 1, close);
  if (!raw.includes('\\')) return raw;
  try {
    return String(JSON.parse(`"${raw}"`));
  } catch {
    return raw; // a wrong escape: the document is no JSON, and what reads it says so
  }
}

/** Returns the text between two quotes as UTF-8. */
function textBytes(bytes: Buffer, open: number, close: number): Uint8Array {
  const raw = bytes.subarray(open + 1, close);
  return raw.includes(BACKSLASH) ? Buffer.from(decoded(bytes, open, close)) : raw;
}

/** Returns the frames from the outermost to this one. */
function within(frame: Frame): Frame[] {
  const frames: Frame[] = [];
  for (let each: Frame | undefined = frame; each !== undefined; each = each.parent) frames.push(each);
  return frames.reverse();
}

const pointerOf = (frame: Frame): string =>
  within(frame)
    .slice(1)
    .map(({ key }) => `/${pointerToken(String(key))}`)
    .join('');

const typesOf = (frame: Frame): string =>
  within(frame)
    .flatMap(({ type }) => (type === '' ? [] : [type]))
    .join('/');
