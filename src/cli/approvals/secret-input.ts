/**
 * Questions for secrets, at the terminal of the process itself (/dev/tty): a program that feeds standard input cannot answer
 * them, and nothing that is typed shows. Tested by `test/cli/approvals/sealed.test.ts` at a pseudo-terminal.
 */
import { openSync, writeSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { ReadStream } from 'node:tty';
import { CliError, exit } from '../program/exit.ts';

const key = { interrupt: '\u0003', end: '\u0004', erase: '\b', delete: '\u007f', return: '\r', feed: '\n' };

export class SecretTerminal {
  readonly #fd: number;
  readonly #input: ReadStream;
  readonly #decoder = new StringDecoder('utf8');
  /** Characters that came after the end of a line. */
  #waiting: string[] = [];

  private constructor(fd: number) {
    this.#fd = fd;
    this.#input = new ReadStream(fd);
    this.#input.pause();
  }

  /** Returns null where the process has no terminal. */
  static open(): SecretTerminal | null {
    try {
      return new SecretTerminal(openSync('/dev/tty', 'r+'));
    } catch {
      return null;
    }
  }

  write(text: string): void {
    writeSync(this.#fd, text);
  }

  /** Returns one typed line. Errors: exit 130 for Ctrl-C, and at the end of input. */
  async ask(question: string): Promise<string> {
    this.#input.setRawMode(true);
    try {
      this.write(question);
      return await this.#line();
    } finally {
      this.#input.setRawMode(false);
      this.write('\n');
    }
  }

  async #line(): Promise<string> {
    const typed: string[] = [];
    for (;;) {
      const next = this.#waiting.shift();
      if (next === undefined) this.#waiting = await this.#more();
      else if (next === key.return || next === key.feed) return typed.join('');
      else if (next === key.interrupt || next === key.end)
        throw new CliError(exit.interrupted, 'nothing was changed', { code: 'DECLINED' });
      else if (next === key.erase || next === key.delete) typed.pop();
      else if (next >= ' ') typed.push(next);
    }
  }

  #more(): Promise<string[]> {
    return new Promise((resolve) => {
      const take = (characters: string[]): void => {
        this.#input.off('data', onData).off('end', onEnd).pause();
        resolve(characters);
      };
      const onData = (bytes: Buffer): void => take([...this.#decoder.write(bytes)]);
      const onEnd = (): void => take([key.end]);
      this.#input.on('data', onData).on('end', onEnd).resume();
    });
  }

  close(): void {
    this.#input.destroy();
  }
}
