/** What is sent to a witness, and what its answers mean. Proven by `test/host/witness/client.test.ts`. */
import type { Reply } from '../../client/transport.ts';
import { limits } from '../../contract/limits.ts';
import type { Checkpoint } from '../../core/note/checkpoint.ts';
import { joinNote, splitNote } from '../../core/note/signed.ts';
import { keyIdText, type VerifierKey } from '../../core/note/key.ts';
import { sizeType } from '../../core/note/witness.ts';

export type Outcome = { readonly known: number } | { readonly refused: string } | { readonly failed: string };

/** `<name>+<key id>`: how a witness is named in claims and beside its cosignatures. */
export const witnessName = ({ name, keyId }: Pick<VerifierKey, 'name' | 'keyId'>): string =>
  `${name}+${keyIdText(keyId)}`;

/** The note without what other witnesses have said of it, which this one does not read. */
export function ownLines(note: string, { origin }: Checkpoint): string {
  const { text, signatures } = splitNote(note);
  const own = signatures.filter(({ name }) => name === origin);
  return joinNote(
    text,
    own.map(({ line }) => `${line}\n`),
  );
}

/** Of a 409 that names a size. */
export const isSize = ({ headers }: Reply): boolean => headers['content-type'] === sizeType;

/** 409 without a size and 422 say that this log contradicts what the witness saw; all else may pass. */
export function refusalOf(status: number, text: string): Outcome {
  const said = `it answered ${status}: ${JSON.stringify(text.trim().slice(0, limits.echoChars * 2))}`;
  return status === 409 || status === 422 ? { refused: said } : { failed: said };
}
