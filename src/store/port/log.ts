/**
 * The log in the terms of the port: projects, trees, leaves, and pages of leaves (RFC 6962 §2.1).
 * Proven by `test/store/suite/all.ts`.
 */
import type { MeteredType } from '../../contract/operation.ts';

/** The two trees of a project. */
export type TreeName = 'audit' | 'metering';

export interface Project {
  readonly projectId: string;
  readonly organizationId: string;
  readonly environment: 'production' | 'sandbox';
  readonly auditOrigin: string;
  readonly meteringOrigin: string;
}

/** Which committed fields a read returns: all, none, or only the field at a pointer. */
export type Bodies = boolean | { readonly at: string };

export interface Leaf {
  readonly index: number;
  /** JSON, whose members follow from its type, also its time: `docs/reference/proof-format.md`. Some types have no time. */
  readonly record: string;
  /** RFC 6962 leaf hash of the record, 32 bytes, as the tree has it. */
  readonly hash: Buffer;
  /**
   * `JCS([[salt, pointer, value], …])`. Null if the record commits to no fields or the read asked for no
   * bodies.
   */
  readonly disclosures: string | null;
  /** Start and end of each disclosure in the text, alternating. Present if all disclosures were checked. */
  readonly bounds?: readonly number[];
  /**
   * The erasures that removed fields (`src/core/events/erased.ts`). Absent if there are none or the read asked
   * for no bodies.
   */
  readonly erased?: string;
  /** Ids of the subject keys that seal the body. Absent if there are none or the read asked for no bodies. */
  readonly keys?: string;
  /** One of those keys is destroyed or lost. Fields that no erasure names are then permanently missing. */
  readonly isGone?: true;
}

export interface TreeHead {
  readonly size: number;
  readonly root: Buffer;
}

/** A page of a list. `after` is the position of the last row seen, in the list's own order. */
export interface Page<Position> {
  readonly after?: Position;
  readonly limit: number;
}

/** The changeable parts of a project. A project of a plane has none of them. */
export interface StoredProject {
  readonly project: Project;
  readonly name: string;
  /** JSON of the settings that were set; the others have their defaults. */
  readonly settings: string;
  /** The operator sets these. An absent quota has the default of the environment; null is unlimited. */
  readonly quotas: Readonly<Partial<Record<MeteredType, number | null>>>;
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly deletedMs: number | null;
}

/** Consecutive leaves, both included. */
export interface LeafRange {
  readonly first: number;
  readonly last: number;
}
