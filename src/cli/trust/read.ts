/**
 * Reads a trust file, and shows its keys by their fingerprints: SHA-256 over the verifier key text.
 * Tested by `test/cli/commands/trust/fetch.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { sha256Text } from '../../core/hash.ts';
import type { VerifierKey } from '../../core/note/key.ts';
import { parseTrust, type Trust } from '../../core/note/trust.ts';
import { usage } from '../program/exit.ts';
import { readText } from '../program/flags.ts';
import { safe, type Safe } from '../terminal/safe.ts';

/** Reads an absolute path. Errors: exit 2 with the path for a file that is missing or is not a trust file. */
export function readTrust(path: string): Trust {
  const text = readText(path, '/');
  try {
    return parseTrust(text);
  } catch (cause) {
    if (!(cause instanceof GovError)) throw cause;
    throw usage(
      `${path}: expected a trust file: ${cause.message}`,
      'gov trust fetch --out FILE writes one from a service or plane',
    );
  }
}

/** `sha256:` and 64 hex digits; `printf %s KEY | sha256sum` prints the same digits. */
export const fingerprint = ({ text }: VerifierKey): string => sha256Text(text);

export interface ShownKey {
  readonly keyId: string;
  readonly algorithm: string;
  readonly fingerprint: string;
  /** The verifier key text. */
  readonly key: string;
  /** What vouches for the key. */
  readonly from: string;
}

/** Two lines for each key: a fingerprint fits into 80 columns. */
export const keyLines = (keys: readonly ShownKey[]): Safe[] =>
  keys.flatMap(({ algorithm, keyId, from, fingerprint: digits }) => [
    safe`  ${algorithm}  key id ${keyId}  ${from}`,
    safe`    ${digits}`,
  ]);
