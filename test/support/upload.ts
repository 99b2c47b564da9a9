/** Multipart bodies, written by hand so that tests may write wrong ones, and a logo. */
import { crc32, deflateSync } from 'node:zlib';
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

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
};

/** A PNG of gray pixels. `more`: chunks before its data. */
export function png(
  width: number,
  height: number,
  more: readonly (readonly [string, Buffer])[] = [],
): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 8; // bits, gray
  const rows = Buffer.alloc(Math.min(height * (width + 1), 4_100_000), 128);
  for (let at = 0; at < rows.length; at += width + 1) rows[at] = 0;
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    ...more.map(([type, data]) => chunk(type, data)),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

export const logo = png(16, 8);
