import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { OutputClosedError, readAll, Writer } from '../../../src/cli/terminal/io.ts';

const { signal } = new AbortController();

describe('reading', () => {
  it('a read takes at most the allowed bytes and refuses one more', async () => {
    expect((await readAll(Readable.from([Buffer.alloc(10)]), { maxBytes: 10, signal })).length).toBe(10);
    await expect(readAll(Readable.from([Buffer.alloc(11)]), { maxBytes: 10, signal })).rejects.toThrow(
      RangeError,
    );
  });

  it('a read ends when the signal fires, even if no byte ever comes', async () => {
    const stop = new AbortController();
    const reading = readAll(new PassThrough(), { maxBytes: 10, signal: stop.signal });
    stop.abort();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('writing', () => {
  const broken = (code: string): PassThrough =>
    new PassThrough({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })),
    });

  it('a write distinguishes a closed reader from a full disk', async () => {
    for (const [code, expected] of [
      ['EPIPE', OutputClosedError],
      ['ENOSPC', Error],
    ] as const) {
      const writer = new Writer(broken(code));
      const written = async () => {
        await writer.write('x');
        await writer.flush();
      };
      await expect(written()).rejects.toThrow(expected);
      await expect(writer.write('more')).rejects.toThrow(expected);
    }
  });

  it('a write drops its bytes when errors are ignored', async () => {
    const writer = new Writer(broken('ENOSPC'), 'ignore errors');
    await writer.write('x');
    await writer.flush();
    await writer.write('more');
  });

  it('a write waits for a slow reader', async () => {
    const slow = new PassThrough({ highWaterMark: 10 });
    const writer = new Writer(slow);
    let done = false;
    const writing = writer.write('x'.repeat(100)).then(() => (done = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toBe(false);
    slow.resume();
    await writing;
    expect(done).toBe(true);
  });
});
