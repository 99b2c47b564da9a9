/**
 * Reads an upload: `multipart/form-data` (RFC 7578) with one part, a file. Any other part, a second file, a file that
 * is too large and a body that ends early are refused. An attacker controls every byte. Proven by
 * `test/http/call/upload.test.ts`.
 */
import { createHash } from 'node:crypto';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { FastifyRequest } from 'fastify';
import type { Operation } from '../../contract/operation.ts';
import { GovError } from '../../contract/problems.ts';
import { fieldError } from '../../service/call/schema.ts';

type Upload = NonNullable<Operation['upload']>;

/** The body that stands for the file in the fingerprint of an idempotency key. */
export const uploadBody = (file: Uint8Array): { file: string } => ({
  file: createHash('sha256').update(file).digest('hex'),
});

const headerBytes = 1024;

/** VALIDATION_ERROR, PAYLOAD_TOO_LARGE. */
export async function readUpload({ part, bytes }: Upload, request: FastifyRequest): Promise<Uint8Array> {
  const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
  const refuse = (pointer: string, detail: string): GovError =>
    fieldError({ pointer, in: 'body', code: 'BAD_FORMAT', detail });
  const parts: Buffer[] = [];
  let files = 0;
  let fault: GovError | null = null;
  const note = (error: GovError): void => void (fault ??= error);
  const malformed = refuse('', 'expected a whole multipart body, got one that is malformed or cut off');
  const reader = open(request, { bytes, refuse });
  reader.on('file', (name, stream) => {
    files += 1;
    if (name !== part || files > 1)
      note(refuse('', `expected one part, ${part}, got another or a second one`));
    stream.on('data', (chunk: Buffer) => parts.push(chunk));
    stream.on('limit', () => note(tooLarge(part, bytes)));
    // without a listener, the end of a cut body would end the process
    stream.on('error', () => note(malformed));
  });
  reader.on('field', () =>
    note(refuse('', `expected one part, the file ${part} with a file name, got a field`)),
  );
  for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
    reader.on(limit, () => note(refuse('', `expected one part, ${part}, got more`)));
  }
  await new Promise<void>((resolve) => {
    reader.on('error', () => {
      note(malformed);
      resolve();
    });
    reader.on('finish', resolve);
    reader.end(body);
  });
  if (fault !== null) throw fault;
  if (files !== 1) throw refuse(`/${part}`, `expected the part ${part}, got none`);
  return Buffer.concat(parts);
}

function open(
  request: FastifyRequest,
  {
    bytes,
    refuse,
  }: { readonly bytes: number; readonly refuse: (pointer: string, detail: string) => GovError },
): BusboyInstance {
  try {
    return new Busboy({
      headers: { ...request.headers, 'content-type': request.headers['content-type'] ?? '' },
      // one more of each is read, so that it is noticed
      limits: {
        files: 2,
        fields: 1,
        parts: 2,
        fileSize: bytes,
        fieldSize: 1,
        fieldNameSize: 100,
        headerPairs: 10,
        headerSize: headerBytes,
      },
    });
  } catch {
    throw refuse('', 'expected multipart/form-data with a boundary');
  }
}

const tooLarge = (part: string, limit: number): GovError =>
  new GovError('PAYLOAD_TOO_LARGE', `expected ${part} of at most ${limit} bytes, got more`, {
    extensions: { limit },
  });
