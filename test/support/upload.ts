/** Multipart bodies, written by hand so that tests may write wrong ones, and a logo. */
import { png } from './pictures.ts';
import type { CallOptions } from './serving.ts';

interface Part {
  readonly name?: string;
  readonly filename?: string | null;
  readonly type?: string;
  readonly bytes: Buffer;
}

const boundary = 'x-gov-boundary';

/** A body of these parts. */
export function multipart(parts: readonly Part[], { end = `--${boundary}--\r\n` } = {}): CallOptions {
  const pieces = parts.flatMap(({ name = 'file', filename = 'logo.png', type = 'image/png', bytes }) => {
    const file = filename === null ? '' : `; filename="${filename}"\r\nContent-Type: ${type}`;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`;
    return [Buffer.from(head), bytes, Buffer.from('\r\n')];
  });
  return {
    raw: Buffer.concat([...pieces, Buffer.from(end)]),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  };
}

export const upload = (bytes: Buffer): CallOptions => multipart([{ bytes }]);

export const logo = png(16, 8);
