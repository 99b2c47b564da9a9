/** The log as the port speaks of it: its projects, trees, leaves, and pages of them. */
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

/** Which committed fields are read: all, none, or only the one at a pointer. */
export type Bodies = boolean | { readonly at: string };

export interface Leaf {
  readonly index: number;
  readonly record: string;
  /** RFC 6962 leaf hash of the record, 32 bytes, which is the one in the tree. */
  readonly hash: Buffer;
  /** `JCS([[salt, pointer, value], …])`, or null where nothing is committed or the bodies were not asked for. */
  readonly disclosures: string | null;
  /** Where each of them begins and ends, by turns, where all were checked. */
  readonly bounds?: readonly number[];
  /** Which erasures took fields of it (`src/core/event/erased.ts`); absent where none did or the bodies were not asked for. */
  readonly erased?: string;
  /** Ids of the keys of subjects that its body is sealed with; absent where there are none, or bodies were not asked for. */
  readonly keys?: string;
  /** One of those keys is destroyed, or lost: what no erasure names is missing for good. */
  readonly isGone?: true;
}

export interface TreeHead {
  readonly size: number;
  readonly root: Buffer;
}

/** Pages: `after` is the position of the last row seen, in the list's own order. */
export interface Page<Position> {
  readonly after?: Position;
  readonly limit: number;
}

/** What of a project may change. A project of a plane has none of it. */
export interface StoredProject {
  readonly project: Project;
  readonly name: string;
  /** JSON of what was set; what is not set has its default. */
  readonly settings: string;
  /** Set by the operator; absent: the default of the environment; null: unlimited. */
  readonly quotas: Readonly<Partial<Record<MeteredType, number | null>>>;
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly deletedMs: number | null;
}
