/**
 * Signed heads of one log as a file, `*.govheads.json`: what a verifier remembers, and exchanges with others so that a log
 * cannot show each of them another history. One JSON object (I-JSON; unknown members are refused):
 *
 *   mediaType  application/vnd.gov.heads.v1+json
 *   origin     the log
 *   heads      [{ checkpoint, paths }]: a signed note, and leaf hashes with their inclusion paths in its tree
 *
 * Proven by `test/core/evidence/file.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { canonicalize, parseJson, type Json, type JsonObject } from '../json/parse.ts';
import { list, object, refuse, text, type Location, type Shape } from '../json/shape.ts';
import type { Trust } from '../note/checkpoint.ts';
import { SignedHead } from '../note/heads.ts';
import { NoteError } from '../note/signed.ts';
import { signatureCode } from '../proofs/verdict.ts';
import { pathValue, readPath } from './paths.ts';

const mostHeads = 2 * limits.keptHeads;

export const headsMediaType = 'application/vnd.gov.heads.v1+json';

export interface HeadsFile {
  readonly heads: readonly SignedHead[];
  /** Members of the list that none of the trusted keys signed, such as heads by a key that was retired since. */
  readonly untrusted: readonly Json[];
}

/**
 * The untrusted members of a file that was written before come in the order of their retirement. Only the first ones fit:
 * a reader refuses more than twice `limits.keptHeads`.
 */
export function headsText(origin: string, { heads, untrusted }: HeadsFile): string {
  const trusted = heads.map(({ note, paths }): JsonObject => {
    return { checkpoint: note, paths: paths.map(pathValue) };
  });
  const value: JsonObject = {
    mediaType: headsMediaType,
    origin,
    heads: [...trusted, ...untrusted].slice(0, mostHeads),
  };
  return `${canonicalize(value)}\n`;
}

const file: Location = { file: 'heads' };
const fileShape: Shape = { required: ['heads', 'mediaType', 'origin'] };
const headShape: Shape = { required: ['checkpoint', 'paths'] };

/**
 * Throws VALIDATION_ERROR for a malformed file, and for a path that does not lead to the root of its head. Attacker
 * controlled.
 */
export function readHeads(bytes: Uint8Array, trust: Trust): HeadsFile {
  if (bytes.length > limits.headsBytes)
    throw new GovError(
      'PAYLOAD_TOO_LARGE',
      `heads: expected at most ${limits.headsBytes} bytes, got ${bytes.length}`,
    );
  const value = object(parseJson(bytes), file, fileShape);
  if (value['mediaType'] !== headsMediaType)
    refuse({ up: file, name: 'mediaType' }, headsMediaType, value['mediaType']);
  if (text(value, 'origin', file) !== trust.origin)
    refuse({ up: file, name: 'origin' }, trust.origin, value['origin']);
  const heads: SignedHead[] = [];
  const untrusted: Json[] = [];
  list(value, 'heads', file, {
    max: mostHeads,
    read: (item, at) => {
      const head = readHead(item, at, trust);
      if (head === null) untrusted.push(item);
      else heads.push(head);
    },
  });
  return { heads, untrusted };
}

/** Null where no trusted key signed it. */
function readHead(item: Json, at: Location, trust: Trust): SignedHead | null {
  const read = object(item, at, headShape);
  const paths = list(read, 'paths', at, { max: limits.headPaths, read: readPath });
  let head: SignedHead;
  try {
    head = SignedHead.open(text(read, 'checkpoint', at), trust);
  } catch (error) {
    if (error instanceof NoteError && signatureCode(error) !== 'ORIGIN_MISMATCH') return null;
    throw error;
  }
  for (const [position, path] of paths.entries()) {
    if (!head.add(path))
      refuse({ up: { up: at, name: 'paths' }, name: position }, 'a path to the root of the checkpoint', null);
  }
  return head;
}
