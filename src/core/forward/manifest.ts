/**
 * Manifests of forwarded objects, `gov.forward-manifest/1`: JSON objects that form a chain. Each names the hash of the
 * one before, the range of leaves that it covers, and the object with their records. A removed or changed object or
 * manifest breaks the chain. Proven by `test/core/forward/manifest.test.ts`.
 */
import { canonicalText } from '../json/canonical.ts';
import { sha256Text } from '../hash.ts';

export interface ForwardManifest {
  readonly schema: 'gov.forward-manifest/1';
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

/**
 * Returns why manifests in order are no unbroken chain from the first one, or null. `texts` come from the store of the
 * receiver and may be anything.
 */
export function chainFault(texts: readonly string[]): string | null {
  let before: { readonly hash: string; readonly to: number } | null = null;
  for (const [at, text] of texts.entries()) {
    let manifest: ForwardManifest;
    try {
      manifest = JSON.parse(text) as ForwardManifest;
    } catch {
      return `manifest ${at}: expected JSON`;
    }
    const { sequence, previous, leaves } = manifest;
    if (sequence !== at) return `manifest ${at}: expected sequence ${at}, got ${sequence}`;
    if (previous !== (before?.hash ?? null))
      return `manifest ${at}: expected the hash of the manifest before, ${before?.hash ?? null}, got ${previous}`;
    if (before !== null && leaves?.from !== before.to)
      return `manifest ${at}: expected leaves from ${before.to}, got ${leaves?.from}`;
    before = { hash: sha256Text(text), to: leaves.to };
  }
  return null;
}
