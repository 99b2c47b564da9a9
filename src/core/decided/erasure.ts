/**
 * The leaf of an erasure, `gov.erasure/1` (`docs/explanation/how-erasure-works.md`): digests that lost their salts and values, the reason, the
 * time. It contains digests only, never a pointer or name, so that the record does not reveal what was erased.
 * Proven by `test/core/decided/erasure.test.ts`.
 */
import { readJson, type Json, type JsonObject } from '../json/parse.ts';
import { draftLeaf, type OtherDraft } from '../events/record.ts';

/** Digests of one leaf. A type, not an interface, because it is JSON. */
export type ErasureTarget = { readonly index: number; readonly digests: readonly string[] };

export interface ErasureRecord {
  readonly erasureId: string;
  /** Ascending by index; at most `limits.erasureTargets`, with at most `limits.erasureDigests` digests in total. */
  readonly targets: readonly ErasureTarget[];
  /** A word from the requester, such as `subject_request` or `retention`. */
  readonly reasonCode: string;
  readonly requestedAt: string;
  readonly executedAt: string;
  /** Whether a key was destroyed, so that copies of the values elsewhere are unreadable. */
  readonly keyDestroyed: boolean;
}

export function draftErasure(erasure: ErasureRecord): OtherDraft {
  const targets = erasure.targets.map(({ index, digests }) => ({ index, digests: [...digests] }));
  const fields: JsonObject = { ...erasure, targets };
  return draftLeaf('gov.erasure/1', fields, { id: erasure.erasureId });
}

/** Reads an erasure; null for another record. Attacker controlled; never throws. */
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
