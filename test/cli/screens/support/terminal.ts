/** A terminal without a device: what a program writes is drawn by xterm.js, and keys come from the test. */
import { PassThrough, Writable } from 'node:stream';
import xterm from '@xterm/headless';
import { vi } from 'vitest';

export class FakeTerminal {
  readonly #screen: xterm.Terminal;
  readonly stdout: Writable & { isTTY: true; columns: number; rows: number };
  readonly stdin = Object.assign(new PassThrough(), {
    isTTY: true as const,
    isRaw: false,
    setRawMode(isRaw: boolean) {
      this.isRaw = isRaw;
      return this;
    },
    ref() {
      return this;
    },
    unref() {
      return this;
    },
  });
  /** Everything that was written, with escape sequences. */
  written = '';

  constructor(columns: number, rows: number) {
    this.#screen = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, convertEol: true });
    const write = (chunk: Buffer, done: () => void): void => {
      this.written += chunk.toString();
      this.#screen.write(chunk, done);
    };
    const stream = new Writable({ write: (chunk: Buffer, _, done) => write(chunk, done) });
    this.stdout = Object.assign(stream, { isTTY: true as const, columns, rows });
  }

  get lines(): string[] {
    const { active } = this.#screen.buffer;
    return Array.from({ length: this.#screen.rows }, (_, row) =>
      (active.getLine(active.viewportY + row)?.translateToString(true) ?? '').trimEnd(),
    );
  }

  get text(): string {
    return this.lines.join('\n');
  }

  /** `alternate` while a screen is shown. */
  get buffer(): string {
    return this.#screen.buffer.active.type;
  }

  press(keys: string): void {
    this.stdin.write(keys);
  }

  resize(columns: number, rows: number): void {
    this.#screen.resize(columns, rows);
    Object.assign(this.stdout, { columns, rows });
    this.stdout.emit('resize');
  }

  /** Waits until the screen has this text. */
  async shows(text: string | RegExp): Promise<void> {
    const isThere = (): boolean =>
      typeof text === 'string' ? this.text.includes(text) : text.test(this.text);
    const look = (): void => {
      if (!isThere()) throw new Error(`expected ${String(text)}, the screen shows:\n${this.text}`);
    };
    await vi.waitFor(look, { timeout: 20_000, interval: 10 });
  }
}
