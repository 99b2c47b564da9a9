/**
 * Requests to a witness, and the meaning of its responses (C2SP tlog-witness). Proven by
 * `test/host/witness/client.test.ts`.
 */
import type { Reply } from '../../client/transport.ts';
import { limits } from '../../contract/limits.ts';
import type { Checkpoint } from '../../core/note/checkpoint.ts';
import { joinNote, splitNote } from '../../core/note/signed.ts';
import { keyIdText, type VerifierKey } from '../../core/note/key.ts';
import { sizeType } from '../../core/note/witness.ts';

export type Outcome = { readonly known: number } | { readonly refused: string } | { readonly failed: string };

/** `<name>+<key id>`: the name of a witness in claims and cosignatures. */
export const witnessName = ({ name, keyId }: Pick<VerifierKey, 'name' | 'keyId'>): string =>
  `${name}+${keyIdText(keyId)}`;

/** The note without lines of other witnesses, which this witness does not read. */
export function ownLines(note: string, { origin }: Checkpoint): string {
  const { text, signatures } = splitNote(note);
  const own = signatures.filter(({ name }) => name === origin);
  return joinNote(
    text,
    own.map(({ line }) => `${line}\n`),
  );
}

/** Whether a 409 response contains a size. */
export const isSize = ({ headers }: Reply): boolean => headers['content-type'] === sizeType;

/**
 * A 409 without a size and a 422 mean that this log contradicts the witness. All other errors may be temporary.
 */
export function refusalOf(status: number, text: string): Outcome {
  const said = `it answered ${status}: ${JSON.stringify(text.trim().slice(0, limits.echoChars * 2))}`;
  return status === 409 || status === 422 ? { refused: said } : { failed: said };
}
