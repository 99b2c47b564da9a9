/**
 * Manifests of forwarded objects, `gov.forward-manifest/1`: JSON objects that form a chain. Each names the hash of the
 * one before, the range of leaves that it covers, and the object with their records. `chain.ts` checks the chain. Proven by `test/core/forwards/chain.test.ts`.
 */
import { canonicalText } from '../json/canonical.ts';
import { sha256Text } from '../hash.ts';

export const manifestSchema = 'gov.forward-manifest/1';

export interface ForwardManifest {
  readonly schema: typeof manifestSchema;
  readonly projectId: string;
  readonly origin: string;
  /** 0 for the first manifest of a target. */
  readonly sequence: number;
  /** `sha256:…` of the text of the manifest before; null in the first one. */
  readonly previous: string | null;
  /** Leaves [from, to). Those that the filter left out have no record. */
  readonly leaves: { readonly from: number; readonly to: number };
  /** Null where the filter left nothing. */
  readonly object: {
    readonly key: string;
    readonly bytes: number;
    /** `sha256:…` of the object as stored. */
    readonly sha256: string;
    readonly records: number;
  } | null;
}

/** Returns the text to store, canonical JSON (RFC 8785), and its hash for the next manifest. */
export function manifestText(manifest: ForwardManifest): { readonly text: string; readonly hash: string } {
  const text = canonicalText(manifest);
  return { text, hash: sha256Text(text) };
}
