/**
 * C2SP signed-note, the format of golang.org/x/mod/sumdb/note: a text, an empty line, then signature lines
 * `— <key name> <base64 of key id and signature>`. The text must not be used before a trusted key verified it.
 * Proven by `test/core/note/signed.test.ts` (vectors of the Go package and of the C2SP specification).
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { decodeBase64, encodeBase64 } from '../json/base64.ts';
import { isKeyName, keyIdText, type NoteSigner, timestampOf, type VerifierKey } from './key.ts';

export {
  ed25519Cosigner,
  ed25519Signer,
  mlDsa44Signer,
  type NoteSigner,
  parseVerifierKey,
  type VerifierKey,
  verifierKeyText,
} from './key.ts';

export type NoteFault =
  | 'malformed'
  | 'over_limit'
  | 'ambiguous_key'
  | 'invalid_signature'
  | 'no_trusted_signature'
  | 'signature_missing'
  | 'wrong_origin';

const aboutSignatures: ReadonlySet<NoteFault> = new Set([
  'invalid_signature',
  'no_trusted_signature',
  'signature_missing',
]);

/** The reason why a note was not opened: INVALID_SIGNATURE for a signature, else VALIDATION_ERROR. */
export class NoteError extends GovError {
  readonly fault: NoteFault;

  constructor(fault: NoteFault, detail: string) {
    super(aboutSignatures.has(fault) ? 'INVALID_SIGNATURE' : 'VALIDATION_ERROR', detail);
    this.fault = fault;
  }
}

export interface NoteSignature {
  readonly name: string;
  readonly keyId: number;
}

export interface VerifiedSignature extends NoteSignature {
  readonly key: VerifierKey;
  /** The time in a cosignature, in POSIX seconds; null for plain signatures. */
  readonly timestampSeconds: number | null;
}

export interface OpenNote {
  /** The signed text with its final newline. */
  readonly text: string;
  /** One entry per key, at least one. */
  readonly verified: readonly VerifiedSignature[];
  /** Signatures by keys that the caller did not give; they prove nothing. */
  readonly unverified: readonly NoteSignature[];
}

export interface SignOptions {
  /** The POSIX time that cosignatures contain. */
  readonly timestampSeconds?: number;
}

/** Returns a signed note. Throws NoteError (malformed) if the text cannot be signed. */
export function signNote(text: string, signers: readonly NoteSigner[], options: SignOptions = {}): string {
  return joinNote(
    text,
    signers.map((signer) => signatureLine(text, signer, options)),
  );
}

/** Returns one signature line with its newline, as a witness answers it. */
export function signatureLine(text: string, signer: NoteSigner, options: SignOptions = {}): string {
  checkText(text);
  const keyId = Buffer.alloc(4);
  keyId.writeUInt32BE(signer.keyId);
  const signature = signer.sign(Buffer.from(text), options.timestampSeconds);
  return `— ${signer.name} ${encodeBase64(Buffer.concat([keyId, signature]))}\n`;
}

/** Joins a text and its signature lines to a note. Throws NoteError (malformed, over_limit). */
export function joinNote(text: string, lines: readonly string[]): string {
  checkText(text);
  const note = `${text}\n${lines.join('')}`;
  if (splitNote(note).text !== text)
    throw new NoteError('malformed', 'note: expected signature lines, got other text');
  return note;
}

interface SignatureLine extends NoteSignature {
  readonly line: string;
  readonly signature: Buffer;
}

/**
 * Splits a note into text and signature lines without verifying it. Throws NoteError (malformed, over_limit). Attacker
 * controlled; bytes must be UTF-8.
 */
export function splitNote(note: string | Uint8Array): { text: string; signatures: SignatureLine[] } {
  const content = contentOf(note);
  const end = content.lastIndexOf('\n\n');
  if (end < 0)
    throw new NoteError('malformed', 'note: expected an empty line before the signatures, got none');
  const lines = content.slice(end + 2).split('\n');
  if (lines.pop() !== '' || lines.length === 0) {
    throw new NoteError('malformed', 'note: expected signature lines and a final newline, got another end');
  }
  if (lines.length > limits.noteSignatures) {
    throw new NoteError(
      'over_limit',
      `note: expected at most ${limits.noteSignatures} signatures, got ${lines.length}`,
    );
  }
  return { text: content.slice(0, end + 1), signatures: lines.map(parseLine) };
}

/**
 * Opens a note that at least one of the keys signed. Throws NoteError: `malformed`, `over_limit`, `ambiguous_key` (two
 * given keys have name and id of a signature), `invalid_signature` (of a given key, even if others are valid),
 * `no_trusted_signature`. Attacker controlled. Cost: 0.1 ms for each signature by a given key.
 */
export function openNote(note: string | Uint8Array, keys: readonly VerifierKey[]): OpenNote {
  const { text, signatures } = splitNote(note);
  const message = Buffer.from(text);
  const verified = new Map<VerifierKey, VerifiedSignature>();
  const unverified = new Map<string, NoteSignature>();
  for (const { name, keyId, line, signature } of signatures) {
    const [key, ...others] = keys.filter((each) => each.name === name && each.keyId === keyId);
    if (others.length > 0) {
      throw new NoteError('ambiguous_key', `note: expected one key ${name}+${keyIdText(keyId)}, got several`);
    }
    if (key === undefined) {
      unverified.set(line, { name, keyId });
      continue;
    }
    if (verified.has(key)) continue;
    if (!key.verify(message, signature)) {
      throw new NoteError(
        'invalid_signature',
        `note: expected a valid signature of ${name}+${keyIdText(keyId)}, got an invalid one`,
      );
    }
    verified.set(key, { name, keyId, key, timestampSeconds: timestampOf(key.algorithm, signature) });
  }
  if (verified.size === 0) throw untrusted(keys, [...unverified.values()]);
  return { text, verified: [...verified.values()], unverified: [...unverified.values()] };
}

/** Returns the error for a note without a signature by any of `keys`. */
export function untrusted(keys: readonly NoteSignature[], got: readonly NoteSignature[]): NoteError {
  const list = (signatures: readonly NoteSignature[]): string =>
    signatures
      .slice(0, 5)
      .map(({ name, keyId }) => `${name.slice(0, 64)}+${keyIdText(keyId)}`)
      .join(', ') || 'none';
  return new NoteError(
    'no_trusted_signature',
    `note: expected a signature of ${list(keys)}, got ${list(got)}`,
  );
}

const linePrefix = '— ';

function parseLine(line: string): SignatureLine {
  const [name = '', base64 = '', ...rest] = line.slice(linePrefix.length).split(' ');
  const bytes = decodeBase64(base64);
  const wellFormed = line.startsWith(linePrefix) && rest.length === 0 && isKeyName(name);
  if (!wellFormed || bytes === null || bytes.length < 5) {
    const got = JSON.stringify(line.slice(0, limits.echoChars));
    throw new NoteError('malformed', `note: expected "— <key name> <base64>", got ${got}`);
  }
  return { name, keyId: bytes.readUInt32BE(), line, signature: bytes.subarray(4) };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function contentOf(note: string | Uint8Array): string {
  const size = typeof note === 'string' ? Buffer.byteLength(note) : note.length;
  if (size > limits.noteBytes) {
    throw new NoteError('over_limit', `note: expected at most ${limits.noteBytes} bytes, got ${size}`);
  }
  if (typeof note === 'string') return checkCharacters(note);
  try {
    return checkCharacters(utf8.decode(note));
  } catch (cause) {
    if (cause instanceof NoteError) throw cause;
    throw new NoteError('malformed', 'note: expected UTF-8, got other bytes');
  }
}

function checkText(text: string): void {
  checkCharacters(text);
  if (!text.endsWith('\n'))
    throw new NoteError('malformed', 'note: expected a newline at the end of the text, got none');
}

/** Requires well-formed Unicode without control characters below U+0020, except the newline. */
function checkCharacters(text: string): string {
  if (!text.isWellFormed() || control.test(text)) {
    throw new NoteError(
      'malformed',
      'note: expected Unicode without control characters, got other characters',
    );
  }
  return text;
}

// oxlint-disable-next-line no-control-regex -- the pattern must match control characters
const control = /[\u0000-\u0009\u000b-\u001f]/;
