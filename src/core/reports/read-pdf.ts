/**
 * Reads a PDF as our renderer writes it (ISO 32000-1, 7.5): one header, objects one after the other, one table of offsets,
 * one trailer. Every byte belongs to one of them, so nothing hides between. Attacker controlled: any other form is a
 * `PdfFault`. Proven by `test/core/reports/verify.test.ts`.
 */
import { inflateSync } from 'node:zlib';

/** Why a file is not a PDF as the renderer writes it. */
export class PdfFault extends Error {
  override readonly name = 'PdfFault';
}

export interface PdfObject {
  readonly id: number;
  /** Everything before the stream, without the length of the stream. */
  readonly text: string;
  /** As stored; null without a stream. */
  readonly stream: Buffer | null;
  readonly isDeflated: boolean;
}

export interface PdfFile {
  readonly objects: ReadonlyMap<number, PdfObject>;
  readonly trailer: string;
  /** Bytes up to the end of the first trailer. What follows was added later, such as a signature. */
  readonly length: number;
}

const header = '%PDF-1.7\n%\xff\xff\xff\xff\n';

/** Throws PdfFault. Cost: linear in the bytes. */
export function readPdf(bytes: Buffer): PdfFile {
  if (bytes.toString('latin1', 0, header.length) !== header)
    throw new PdfFault('expected the header of a PDF 1.7 file');
  const objects = new Map<number, PdfObject>();
  const offsets = new Map<number, number>();
  let at = header.length;
  while (!startsWith(bytes, at, 'xref\n')) {
    const { object, end } = readObject(bytes, at);
    if (objects.has(object.id)) throw new PdfFault(`expected object ${object.id} once, got it twice`);
    objects.set(object.id, object);
    offsets.set(object.id, at);
    at = end;
  }
  return { objects, ...readEnd(bytes, at, offsets) };
}

const startsWith = (bytes: Buffer, at: number, text: string): boolean =>
  bytes.toString('latin1', at, at + text.length) === text;

function readObject(bytes: Buffer, at: number): { object: PdfObject; end: number } {
  const head = /^(\d{1,9}) 0 obj\n/.exec(bytes.toString('latin1', at, at + 20));
  if (head === null) throw new PdfFault(`byte ${at}: expected an object`);
  const from = at + head[0].length;
  const endAt = bytes.indexOf('\nendobj\n', from, 'latin1');
  if (endAt === -1) throw new PdfFault(`byte ${at}: expected the end of object ${head[1]}`);
  // only up to the end: a search through the rest of the file for each object would be quadratic
  const inObject = bytes.subarray(from, endAt).indexOf('\nstream\n', 0, 'latin1');
  const streamAt = from + inObject;
  const id = Number(head[1]);
  if (inObject === -1) {
    const text = bytes.toString('latin1', from, endAt);
    return { object: { id, text, stream: null, isDeflated: false }, end: endAt + '\nendobj\n'.length };
  }
  const text = bytes.toString('latin1', from, streamAt);
  const length = Number(/\/Length (\d{1,10})\b/.exec(text)?.[1] ?? Number.NaN);
  const dataAt = streamAt + '\nstream\n'.length;
  const tail = '\nendstream\nendobj\n';
  if (!Number.isSafeInteger(length) || !startsWith(bytes, dataAt + length, tail))
    throw new PdfFault(`object ${id}: expected a stream of the stated length`);
  const object = {
    id,
    text: text.replace(/\/Length \d{1,10}\b/, '/Length'),
    stream: bytes.subarray(dataAt, dataAt + length),
    isDeflated: /\/Filter \/FlateDecode\b/.test(text),
  };
  return { object, end: dataAt + length + tail.length };
}

/** The table of offsets must be that of the objects. */
function readEnd(
  bytes: Buffer,
  at: number,
  offsets: ReadonlyMap<number, number>,
): Pick<PdfFile, 'trailer' | 'length'> {
  const lines = ['xref', `0 ${offsets.size + 1}`, '0000000000 65535 f '];
  for (let id = 1; id <= offsets.size; id += 1) {
    const offset = offsets.get(id);
    if (offset === undefined) throw new PdfFault(`expected object ${id}, found none`);
    lines.push(`${String(offset).padStart(10, '0')} 00000 n `);
  }
  const table = `${lines.join('\n')}\ntrailer\n`;
  if (!startsWith(bytes, at, table)) throw new PdfFault(`byte ${at}: expected the offsets of the objects`);
  const from = at + table.length;
  const close = `\nstartxref\n${at}\n%%EOF\n`;
  const end = bytes.indexOf(close, from, 'latin1');
  if (end === -1 || end - from > 4096) throw new PdfFault(`byte ${from}: expected a trailer`);
  return { trailer: bytes.toString('latin1', from, end), length: end + close.length };
}

/** Returns the content of a stream, at most `maxBytes`. Throws PdfFault where it cannot be inflated, or more bytes follow. */
export function contentOf({ id, stream, isDeflated }: PdfObject, maxBytes: number): Buffer {
  if (stream === null) throw new PdfFault(`object ${id}: expected a stream`);
  if (!isDeflated) return stream;
  const { buffer, engine } = inflated(id, stream, maxBytes);
  const after = stream.length - engine.bytesWritten;
  if (after !== 0)
    throw new PdfFault(`object ${id}: expected the end of its compressed content, got ${after} more bytes`);
  return buffer;
}

interface InflateResult {
  readonly buffer: Buffer;
  /** `bytesWritten`: compressed bytes up to the end of the stream; inflating ignores those after it. */
  readonly engine: { readonly bytesWritten: number };
}

function inflated(id: number, stream: Buffer, maxBytes: number): InflateResult {
  try {
    // the types of Node do not know what `info` returns
    return inflateSync(stream, { maxOutputLength: maxBytes, info: true }) as unknown as InflateResult;
  } catch (cause) {
    throw new PdfFault(`object ${id}: its compressed content is damaged or too large`, { cause });
  }
}

/** Returns the attached files by name. Throws PdfFault for a name twice, or one that is no plain file name. */
export function attachedFiles({ objects }: PdfFile, maxBytes: number): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (const { id, text } of objects.values()) {
    if (!text.startsWith('<<\n/Type /Filespec\n')) continue;
    const name = /\n\/UF \(([A-Za-z0-9][A-Za-z0-9._-]{0,199})\)/.exec(text)?.[1];
    const file = objects.get(Number(/\n\/EF <<\n\/F (\d{1,9}) 0 R\n>>/.exec(text)?.[1] ?? 0));
    if (name === undefined || file === undefined)
      throw new PdfFault(`object ${id}: expected a file and its name`);
    if (files.has(name)) throw new PdfFault(`expected one attached file ${name}, got two`);
    files.set(name, contentOf(file, maxBytes));
  }
  return files;
}
