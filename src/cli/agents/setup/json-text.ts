/**
 * Edits of JSON texts that people write, also with comments, trailing commas and a byte order mark: an edit replaces the
 * smallest range, so that all other characters stay. Format: RFC 8259, with the comments of JavaScript.
 * Tested by `test/cli/agents/json-text.test.ts`.
 */

/** A value and where it is. An attacker may control it: `depth` bounds the recursion. */
interface JsonNode {
  readonly kind: '{' | '[' | 'value';
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
  readonly entries: readonly JsonEntry[];
}

/** A member of an object, or an item of a list, whose key is its index. */
interface JsonEntry {
  readonly key: string;
  readonly start: number;
  readonly node: JsonNode;
}

type Path = readonly (string | number)[];

const deepest = 64;
const blank = /[\s\ufeff]*(?:(?:\/\/[^\n]*|\/\*[^]*?\*\/)[\s\ufeff]*)*/y;
const scalar = /"(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|true|false|null/y;

/** Returns the value of a text. SyntaxError with the place for any other text. Of equal names the last one counts. */
export const jsonValue = (text: string): unknown => new Reader(text).whole().value;

/** Returns the value at a path; undefined where there is none. SyntaxError for a text that is no JSON. */
export const valueIn = (text: string, path: Path): unknown => nodeAt(new Reader(text).whole(), path)?.value;

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): JsonNode {
    const node = this.#node(0);
    this.#skip();
    if (this.#at < this.#text.length) throw this.#fault('the end of the text');
    return node;
  }

  #fault(expected: string): SyntaxError {
    const line = this.#text.slice(0, this.#at).split('\n').length;
    return new SyntaxError(`expected ${expected} in line ${line}`);
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) return null;
    this.#at = pattern.lastIndex;
    return found[0];
  }

  #skip(): void {
    this.#match(blank);
  }

  #next(): string | undefined {
    this.#skip();
    return this.#text[this.#at];
  }

  #node(depth: number): JsonNode {
    if (depth > deepest) throw this.#fault(`at most ${deepest} levels`);
    const first = this.#next();
    if (first === '{' || first === '[') return this.#container(first, depth);
    const start = this.#at;
    const found = this.#match(scalar);
    if (found === null) throw this.#fault('a value');
    return { kind: 'value', start, end: this.#at, value: JSON.parse(found), entries: [] };
  }

  #container(kind: '{' | '[', depth: number): JsonNode {
    const start = this.#at;
    const closing = kind === '{' ? '}' : ']';
    const entries: JsonEntry[] = [];
    this.#at += 1;
    while (this.#next() !== closing) {
      if (entries.length > 0) {
        if (this.#text[this.#at] !== ',') throw this.#fault(`, or ${closing}`);
        this.#at += 1;
        if (this.#next() === closing) break;
      }
      entries.push(this.#entry(kind, entries.length, depth));
    }
    this.#at += 1;
    const values = entries.map(({ key, node }) => [key, node.value] as const);
    const value = kind === '{' ? Object.fromEntries(values) : values.map(([, each]) => each);
    return { kind, start, end: this.#at, value, entries };
  }

  #entry(kind: '{' | '[', index: number, depth: number): JsonEntry {
    const start = this.#at;
    if (kind === '[') return { key: String(index), start, node: this.#node(depth + 1) };
    const key = this.#node(depth + 1);
    if (typeof key.value !== 'string') throw this.#fault('a name');
    if (this.#next() !== ':') throw this.#fault(':');
    this.#at += 1;
    return { key: key.value, start, node: this.#node(depth + 1) };
  }
}

interface Found {
  readonly parent: JsonNode;
  readonly index: number;
  readonly entry: JsonEntry;
}

/** The entry at a path; null where there is none. */
function entryAt(root: JsonNode, path: Path): Found | null {
  let parent = root;
  for (const [depth, key] of path.entries()) {
    const index = parent.entries.findLastIndex((each) => each.key === String(key));
    const entry = parent.entries[index];
    if (entry === undefined) return null;
    if (depth === path.length - 1) return { parent, index, entry };
    parent = entry.node;
  }
  return null;
}

const nodeAt = (root: JsonNode, path: Path): JsonNode | null =>
  path.length === 0 ? root : (entryAt(root, path)?.entry.node ?? null);

const splice = (text: string, from: number, to: number, insert: string): string =>
  text.slice(0, from) + insert + text.slice(to);

/** How a text is laid out: its line end, and the indent of one level. */
function layoutOf(text: string): { readonly eol: string; readonly unit: string } {
  const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  return { eol: text.includes('\r\n') ? '\r\n' : '\n', unit: unit.startsWith('\t') ? '\t' : unit };
}

const indentAt = (text: string, at: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at - 1) + 1))?.[0] ?? '';

/** A value as JSON in ASCII, because the file may be in any encoding. `indent`: of its line. */
function written(value: unknown, indent: string, { eol, unit }: ReturnType<typeof layoutOf>): string {
  return JSON.stringify(value, null, unit)
    .replaceAll('\n', `${eol}${indent}`)
    .replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Sets a member, and makes the objects above it. An index that a list does not have yet appends to it.
 * SyntaxError for a text that is no JSON, or where something else than an object or list is on the way.
 */
export function withValue(text: string, path: Path, value: unknown): string {
  const root = new Reader(text).whole();
  const [last = ''] = path.slice(-1);
  const above = path.slice(0, -1);
  const found = entryAt(root, path);
  if (found !== null) {
    const { start, end } = found.entry.node;
    return splice(text, start, end, written(value, indentAt(text, start), layoutOf(text)));
  }
  const parent = nodeAt(root, above);
  if (parent === null) return withValue(text, above, typeof last === 'number' ? [value] : { [last]: value });
  if (parent.kind !== (typeof last === 'number' ? '[' : '{'))
    throw new SyntaxError(
      `expected ${typeof last === 'number' ? 'a list' : 'an object'} in ${above.join('.')}`,
    );
  return appended(text, { parent, key: typeof last === 'number' ? null : last, value });
}

/** Adds an entry in a line of its own, at the end of an object or list. */
function appended(
  text: string,
  { parent, key, value }: { readonly parent: JsonNode; readonly key: string | null; readonly value: unknown },
): string {
  const layout = layoutOf(text);
  const { eol, unit } = layout;
  const last = parent.entries.at(-1);
  const outer = indentAt(text, parent.start);
  const isOneLine = !text.slice(parent.start, parent.end).includes('\n');
  const indent = last === undefined || isOneLine ? `${outer}${unit}` : indentAt(text, last.start);
  const name = key === null ? '' : `${written(key, indent, layout)}: `;
  const entry = `${eol}${indent}${name}${written(value, indent, layout)}`;
  const end = isOneLine ? `${eol}${outer}` : '';
  if (last === undefined) {
    const inner = text.slice(parent.start + 1, parent.end - 1);
    const to = isOneLine && inner.trim() === '' ? parent.end - 1 : parent.start + 1;
    return splice(text, parent.start + 1, to, `${entry}${end}`);
  }
  const comma = commaAfter(text, last.node.end);
  const from = comma ?? last.node.end;
  // a comment in the line of the last entry stays with it
  const rest = /^[ \t]*(?:\/\/[^\n\r]*|(?:\/\*[^\n]*?\*\/[ \t]*)*)/.exec(text.slice(from))?.[0] ?? '';
  const at = from + rest.trimEnd().length;
  const to = isOneLine ? parent.end - 1 : at;
  const added = splice(
    text,
    at,
    text.slice(at, to).trim() === '' ? to : at,
    `${entry}${comma === null ? '' : ','}${end}`,
  );
  return comma === null ? splice(added, last.node.end, last.node.end, ',') : added;
}

/** The place behind the comma that follows; null where none follows. */
function commaAfter(text: string, at: number): number | null {
  blank.lastIndex = at;
  blank.exec(text);
  return text[blank.lastIndex] === ',' ? blank.lastIndex + 1 : null;
}

/** Removes the entry at a path, with its comma and, if nothing else is in them, its lines. The same text if it is missing. */
export function withoutValue(text: string, path: Path): string {
  const found = entryAt(new Reader(text).whole(), path);
  if (found === null) return text;
  const { parent, index, entry } = found;
  const comma = commaAfter(text, entry.node.end);
  const end = comma ?? entry.node.end;
  const before = parent.entries[index - 1];
  const isLast = index === parent.entries.length - 1;
  const ahead = text.slice(0, entry.start);
  const line = /\r?\n[ \t]*$/.exec(ahead)?.[0] ?? '';
  const isWholeLine = line !== '' && /^[ \t]*\r?\n/.test(text.slice(end));
  const gap = isWholeLine ? line.length : before === undefined ? 0 : ahead.length - ahead.trimEnd().length;
  const start = entry.start - gap;
  if (parent.entries.length === 1) {
    const inner = text.slice(parent.start + 1, start) + text.slice(end, parent.end - 1);
    if (inner.trim() === '') return splice(text, parent.start + 1, parent.end - 1, '');
  }
  // where the others are in the line of the opening bracket, the closing one was there too
  const isOneLine = before !== undefined && !text.slice(parent.start, before.node.end).includes('\n');
  const tail = /^\s*/.exec(text.slice(end))?.[0] ?? '';
  const closes = isLast && isOneLine && end + tail.length === parent.end - 1;
  const pad = closes ? (/^[ \t]*/.exec(text.slice(parent.start + 1))?.[0] ?? '') : '';
  const left = splice(text, start, closes ? parent.end - 1 : end, pad);
  // the comma before the last entry goes, unless the entry had one itself
  const own = isLast && comma === null && before !== undefined ? commaAfter(text, before.node.end) : null;
  return own === null ? left : splice(left, own - 1, own, '');
}
