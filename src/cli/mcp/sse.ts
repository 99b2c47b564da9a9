/**
 * Events of a `text/event-stream` as their bytes came (WHATWG HTML §9.2). Each is passed on as soon as its blank line
 * arrives. Lines end with LF, CR or CRLF. Bounded by `limits.mcpMessageBytes`. Tested by `test/cli/mcp/sse.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { LineTooLong } from './lines.ts';

const LF = 0x0a;
const CR = 0x0d;

/** Cuts a stream of bytes after each event. */
export class EventSplitter {
  #parts: Buffer[] = [];
  #size = 0;
  #lineIsEmpty = true;
  #afterCr = false;

  /** Returns the events that end in this chunk. Throws `LineTooLong` for an event over the limit. */
  push(chunk: Buffer): Buffer[] {
    const events: Buffer[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      const isSecondOfPair = byte === LF && this.#afterCr;
      this.#afterCr = byte === CR;
      if (isSecondOfPair) continue;
      if (byte !== LF && byte !== CR) {
        this.#lineIsEmpty = false;
        continue;
      }
      if (this.#lineIsEmpty) {
        const end = byte === CR && chunk[at + 1] === LF ? at + 2 : at + 1;
        this.#keep(chunk.subarray(from, end));
        events.push(this.rest());
        from = end;
      }
      this.#lineIsEmpty = true;
    }
    this.#keep(chunk.subarray(from));
    return events;
  }

  /** The bytes after the last event. */
  rest(): Buffer {
    const bytes = Buffer.concat(this.#parts, this.#size);
    this.#parts = [];
    this.#size = 0;
    return bytes;
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#size += part.length;
    if (this.#size > limits.mcpMessageBytes)
      throw new LineTooLong(`expected events of at most ${limits.mcpMessageBytes} bytes, got a longer one`);
    this.#parts.push(part);
  }
}

/** Returns the data of an event; empty for a comment, or an event without data. */
export const dataOf = (event: Buffer): string =>
  fieldsOf(event)
    .filter(({ name }) => name === 'data')
    .map(({ value }) => value)
    .join('\n');

/** Returns the event with other data; its id and type stay. */
export const withData = (event: Buffer, data: string): string =>
  [...fieldsOf(event).filter(({ name }) => name !== 'data' && name !== ''), { name: 'data', value: data }]
    .map(({ name, value }) => `${name}: ${value}\n`)
    .join('') + '\n';

const fieldsOf = (event: Buffer): { readonly name: string; readonly value: string }[] =>
  event
    .toString()
    .replace(/^\ufeff/, '')
    .split(/\r\n|\n|\r/)
    .filter((line) => line !== '')
    .map((line) => {
      const colon = line.indexOf(':');
      if (colon < 0) return { name: line, value: '' };
      return { name: line.slice(0, colon), value: line.slice(colon + 1).replace(/^ /, '') };
    });
