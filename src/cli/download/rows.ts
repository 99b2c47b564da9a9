/** The rows of a JSON artifact as its bytes come, one a line. `test/cli/download/deliver.test.ts`. */
import { limits } from '../../contract/limits.ts';
import { CliError, exit } from '../program/exit.ts';

const lineFeed = 0x0a;

export class RowPipe {
  readonly #pass: (text: string) => Promise<void>;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #isBegun = false;

  constructor(pass: (text: string) => Promise<void>) {
    this.#pass = pass;
  }

  /** The bytes are held against their hash elsewhere. Memory: one row. */
  async write(chunk: Uint8Array): Promise<void> {
    const end = chunk.lastIndexOf(lineFeed);
    if (end >= 0) {
      const text = Buffer.concat([...this.#held, chunk.subarray(0, end)]).toString();
      [this.#held, this.#heldBytes] = [[], 0];
      await this.#lines(text.split('\n'));
    }
    const rest = chunk.subarray(end + 1);
    if (rest.length > 0) this.#held.push(Uint8Array.from(rest));
    this.#heldBytes += rest.length;
    if (this.#heldBytes > limits.exportLineBytes)
      throw notRows(
        `rows of at most ${limits.exportLineBytes} bytes`,
        'a longer one; download it without --ndjson',
      );
  }

  async #lines(lines: readonly string[]): Promise<void> {
    const rows: string[] = [];
    for (const line of lines) {
      // the first line is what stands before the rows, the last what stands behind them
      const isRow = this.#isBegun && line.startsWith('{');
      if (!this.#isBegun && !line.endsWith('"data":[')) throw notRows('the beginning of an export');
      this.#isBegun = true;
      if (isRow) rows.push(line.endsWith(',') ? line.slice(0, -1) : line);
    }
    if (rows.length > 0) await this.#pass(`${rows.join('\n')}\n`);
  }
}

const notRows = (expected: string, got = 'something else'): CliError =>
  new CliError(exit.error, `--ndjson: expected ${expected}, got ${got}`, { code: 'NOT_ROWS' });
