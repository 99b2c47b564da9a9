/** Erasures as store tests make them. */
import { draftErasure, type ErasureTarget } from '../../src/core/decided/erasure.ts';
import { digestOf, disclosureTexts } from '../../src/core/disclosure.ts';
import { readJson } from '../../src/core/json.ts';
import type { AppendRequest, Leaf } from '../../src/store/port.ts';
import { unmetered } from './governance.ts';

const at = '2026-01-01T00:00:00.000Z';
let made = 0;

/** An erasure with its leaf. */
export function erasing(targets: readonly ErasureTarget[], more: Partial<AppendRequest> = {}): AppendRequest {
  const erasureId = `ers_${`${made++}`.padStart(26, '0')}`;
  const record = { erasureId, targets, reasonCode: 'test', requestedAt: at, executedAt: at };
  const leaf = draftErasure({ ...record, keyDestroyed: false });
  return unmetered([leaf], [{ kind: 'eraseFields', targets, leaf: 0 }], more);
}

/** Digests of the fields that a leaf still has, by pointer. */
export const digestsOf = ({ disclosures }: Leaf): Map<string, string> =>
  new Map(
    (disclosureTexts(disclosures ?? '[]') ?? []).map((text) => [
      (readJson(text) as [string, string])[1],
      digestOf(text),
    ]),
  );
