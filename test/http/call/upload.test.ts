/** Uploads that an attacker writes: nothing in a body ends the process, hangs, or passes as one file. */
import * as fc from 'fast-check';
import type { FastifyRequest } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { GovError } from '../../../src/contract/problems.ts';
import { readUpload } from '../../../src/http/call/upload.ts';
import { multipart } from '../../support/upload.ts';

const upload = { part: 'file', bytes: 100 };
const file = { bytes: Buffer.from('0123456789') };
const field = { name: 'note', filename: null, bytes: Buffer.from('a note') };

const read = async (body: Buffer, type = multipart([]).headers?.['content-type']): Promise<string> => {
  const request = { body, headers: { 'content-type': type } } as unknown as FastifyRequest;
  try {
    return Buffer.from(await readUpload(upload, request)).toString();
  } catch (error) {
    if (error instanceof GovError) return error.code;
    throw error;
  }
};
const bodyOf = (parts: Parameters<typeof multipart>[0]): Buffer => multipart(parts).raw as Buffer;

const uncaught: unknown[] = [];
const note = (error: unknown): void => void uncaught.push(error);
beforeEach(() => void process.on('uncaughtException', note));
afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve));
  process.off('uncaughtException', note);
  expect(uncaught.splice(0)).toEqual([]);
});

it('a body with one file is that file', async () => {
  expect(await read(bodyOf([file]))).toBe('0123456789');
});

it('a file of exactly the limit passes, and one byte more is too large', async () => {
  expect((await read(bodyOf([{ bytes: Buffer.alloc(100, 'x') }]))).length).toBe(100);
  expect(await read(bodyOf([{ bytes: Buffer.alloc(101, 'x') }]))).toBe('PAYLOAD_TOO_LARGE');
});

it.each([
  ['one file', [file]],
  ['two files', [file, file]],
  ['a field and a file', [field, file]],
  ['a file and two fields', [file, field, field]],
  ['four files', [file, file, file, file]],
] as const)('a body of %s that is cut off at any byte is refused', async (_name, parts) => {
  const body = bodyOf(parts);
  // the last line break is no part of the end
  for (let length = 0; length < body.length - 4; length++)
    expect([length, await read(body.subarray(0, length))]).toEqual([length, 'VALIDATION_ERROR']);
});

it('no body hangs or ends the process', async () => {
  const body = bodyOf([file, field]);
  await fc.assert(
    fc.asyncProperty(fc.nat(body.length), fc.uint8Array({ maxLength: 40 }), async (at, bytes) => {
      const changed = Buffer.concat([body.subarray(0, at), bytes, body.subarray(at + bytes.length)]);
      expect(typeof (await read(changed))).toBe('string');
    }),
    { numRuns: 500 },
  );
});

it.each([
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary="',
  'text/plain',
])('a body of the type %s is refused', async (type) => {
  expect(await read(bodyOf([file]), type)).toBe('VALIDATION_ERROR');
});
