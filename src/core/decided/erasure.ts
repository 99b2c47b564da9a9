/**
 * The leaf of an erasure, `gov.erasure/1` (docs/explanation/how-erasure-works.md): which digests of which leaves lost their salts and values,
 * why and when. It has digests alone, never a pointer or a name: what was erased is not told by what remembers it.
 * Proven by `test/core/decided/erasure.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { readJson, type Json, type JsonObject } from '../json/parse.ts';
import { draftLeaf, type OtherDraft } from '../event/record.ts';

/** Digests of one leaf. A type, not an interface: it is JSON. */
export type ErasureTarget = { readonly index: number; readonly digests: readonly string[] };

export interface ErasureRecord {
  readonly erasureId: string;
  /** Ascending by index; at most `limits.erasureTargets` with `limits.erasureDigests` digests in all. */
  readonly targets: readonly ErasureTarget[];
  /** A word of who asked, such as `subject_request` or `retention`. */
  readonly reasonCode: string;
  readonly requestedAt: string;
  readonly executedAt: string;
  /** Whether a key was destroyed with it, so that copies of the values elsewhere are of no use either. */
  readonly keyDestroyed: boolean;
}

export function draftErasure(erasure: ErasureRecord): OtherDraft {
  const targets = erasure.targets.map(({ index, digests }) => ({ index, digests: [...digests] }));
  const fields: JsonObject = { ...erasure, targets };
  return draftLeaf('gov.erasure/1', fields, { id: erasure.erasureId });
}

/** What fits into one leaf of those that are to be erased, and the rest. */
export function firstTargets(targets: readonly ErasureTarget[]): {
  readonly taken: readonly ErasureTarget[];
  readonly rest: readonly ErasureTarget[];
} {
  let digests = 0;
  let count = 0;
  for (; count < Math.min(targets.length, limits.erasureTargets); count++) {
    digests += targets[count]?.digests.length ?? 0;
    if (digests > limits.erasureDigests) break;
  }
  return { taken: targets.slice(0, count), rest: targets.slice(count) };
}

/** Null where the record is no erasure. The text may be anything; never throws. */
export function readErasure(record: string): ErasureRecord | null {
  if (!record.includes('"type":"gov.erasure/1"')) return null;
  let value: JsonObject;
  try {
    value = readJson(record) as JsonObject;
  } catch {
    return null;
  }
  const { type, erasureId, targets, reasonCode, requestedAt, executedAt, keyDestroyed } = value;
  const isOne =
    type === 'gov.erasure/1' &&
    [erasureId, reasonCode, requestedAt, executedAt].every((text) => typeof text === 'string') &&
    typeof keyDestroyed === 'boolean' &&
    Array.isArray(targets) &&
    targets.every(isTarget);
  return isOne ? (value as unknown as ErasureRecord) : null;
}

function isTarget(value: Json): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { index, digests } = value;
  return (
    Number.isSafeInteger(index) &&
    Array.isArray(digests) &&
    digests.every((digest) => typeof digest === 'string')
  );
}
