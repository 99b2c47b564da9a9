/**
 * Which trusted keys signed the checkpoints of a file, and which algorithms of the trust did not. A trust without
 * `require each-algorithm` is met by one key, so every verdict names what is missing.
 * Proven by `test/core/note/signed-by.test.ts`.
 */
import type { TrustedCheckpoint } from './checkpoint.ts';
import { keyIdText } from './key.ts';

/** A trusted key that signed every checkpoint of the file. */
interface Signature {
  /** Eight hexadecimal digits (C2SP signed-note). */
  readonly keyId: string;
  readonly algorithm: string;
}

/** Who signed, as far as the trust lists keys. Members of each verdict. */
export interface SignatureFacts {
  /** Empty where no trusted key signed. */
  readonly signatures: readonly Signature[];
  /** Algorithms of the trust without a signature. */
  readonly missingAlgorithms: readonly string[];
}

export const unsigned: SignatureFacts = { signatures: [], missingAlgorithms: [] };

/** In one line, such as `ed25519; ml-dsa-44 missing`. */
export const signedByText = ({ signatures, missingAlgorithms }: SignatureFacts): string => {
  const algorithms = [...new Set(signatures.map(({ algorithm }) => algorithm))].join(', ');
  return missingAlgorithms.length === 0 || algorithms === ''
    ? algorithms
    : `${algorithms}; ${missingAlgorithms.join(', ')} missing`;
};

/** The note of a verdict where an algorithm is missing; none otherwise. */
export const missingNotes = (signed: SignatureFacts): string[] =>
  signed.missingAlgorithms.length === 0 || signed.signatures.length === 0
    ? []
    : [`SIGNATURE_MISSING: signed by: ${signedByText(signed)}`];

/** The keys that signed both, and the algorithms that one of them lacks. */
export const signedBoth = (one: SignatureFacts, other: SignatureFacts): SignatureFacts => ({
  signatures: one.signatures.filter(({ keyId }) => other.signatures.some((each) => each.keyId === keyId)),
  missingAlgorithms: [...new Set([...one.missingAlgorithms, ...other.missingAlgorithms])].toSorted(),
});

/** The trusted keys that signed all of these checkpoints. */
export function signedBy(opened: readonly TrustedCheckpoint[]): SignatureFacts {
  const [first, ...others] = opened;
  if (first === undefined) return unsigned;
  const all = first.signedBy.filter(({ key }) =>
    others.every((each) => each.signedBy.some((other) => other.key === key)),
  );
  return {
    signatures: all.map(({ keyId, key: { algorithm } }) => ({ keyId: keyIdText(keyId), algorithm })),
    missingAlgorithms: [...new Set(opened.flatMap(({ missing }) => missing))].toSorted(),
  };
}
