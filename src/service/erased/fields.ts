/**
 * Checks erased fields of leaves against the `gov.erasure/1` leaf that erased them. A body that lost fields
 * without such a leaf is an alarm, whatever its row says. Proven by `test/service/erasure/handlers.test.ts`
 * and `test/service/log/lost-bodies.test.ts`.
 */
import { readErasure, type ErasureRecord } from '../../core/decided/erasure.ts';
import { erasuresOf, unkeptOf } from '../../core/events/erased.ts';
import { GovError } from '../../contract/problems.ts';
import type { StoreReader } from '../../store/port/store.ts';
import type { Leaf } from '../../store/port/store.ts';

/** Erasures in memory at a time: up to 60 KB each. */
const heldErasures = 16;

export class Erasures {
  readonly #reader: Pick<StoreReader, 'leaf'>;
  readonly #projectId: string;
  readonly #held = new Map<number, ErasureRecord | null>();

  constructor(reader: Pick<StoreReader, 'leaf'>, projectId: string) {
    this.#reader = reader;
    this.#projectId = projectId;
  }

  /** STORAGE_FAULT where the log does not confirm the erased fields of a body. One read for each erasure. */
  async require({ index, erased }: Pick<Leaf, 'index' | 'erased'>): Promise<void> {
    for (const at of erasuresOf(erased ?? null)) {
      const erasure = await this.#erasure(at);
      if (erasure?.targets.some((target) => target.index === index) !== true) {
        throw lostFields(index, `fields that leaf ${at} did not erase`);
      }
    }
  }

  async #erasure(at: number): Promise<ErasureRecord | null> {
    let erasure = this.#held.get(at);
    if (erasure === undefined) {
      const leaf = await this.#reader.leaf(this.#projectId, at);
      erasure = leaf === null ? null : readErasure(leaf.record);
      if (this.#held.size >= heldErasures) this.#held.clear();
      this.#held.set(at, erasure);
    }
    return erasure;
  }
}

/**
 * STORAGE_FAULT where a leaf lost a field that its body does not list as erased. `digests`: all digests of
 * its record.
 */
export function refuseLost({ index, disclosures, erased }: Lossy, digests: readonly string[]): void {
  const { missing } = unkeptOf(digests, { disclosures, erased: erased ?? null });
  if (missing.length > 0) throw lostFields(index, 'a field that was not erased');
}

/** A leaf that was read with its body. */
type Lossy = Pick<Leaf, 'index' | 'disclosures'> & { readonly erased?: string | null | undefined };

/** The error for lost fields of an audit leaf. */
export const lostFields = (index: number, what: string): GovError =>
  new GovError(
    'STORAGE_FAULT',
    `leaf ${index} of the audit log lacks ${what}; run gov log fsck --deep, and restore what it names from a backup`,
    { extensions: { tree: 'audit', index } },
  );
