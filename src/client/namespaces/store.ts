/** What holds the records of namespaces: in memory, or in a file of SQLite. Tested by `test/client/namespaces/`. */

export const namespaceNames = [
  'agents',
  'approvals',
  'complianceConfig',
  'dataSources',
  'evaluations',
  'governanceConfig',
  'knowledge',
  'memory',
  'prompts',
  'quotas',
  'secrets',
  'telemetry',
  'tools',
] as const;
export type NamespaceName = (typeof namespaceNames)[number];

/** A record as it is stored. `data` is the JSON text of an object; in `secrets` its values are sealed. */
export interface StoredRecord {
  readonly id: string;
  readonly namespace: NamespaceName;
  readonly data: string;
  readonly status: 'active' | 'archived';
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly archivedAt: string | null;
}

export type Scalar = string | number | boolean | null;

export interface Selection {
  readonly namespace: NamespaceName;
  readonly status: 'active' | 'archived' | 'all';
  /** Members of the data that have these values. */
  readonly filter: Readonly<Record<string, Scalar>>;
  /** Position of the last record of the page before; null for the first page. */
  readonly before: number | null;
  readonly limit: number;
}

/** A record with its position, which grows with each record that is created. */
export interface PositionedRecord {
  readonly position: number;
  readonly record: StoredRecord;
}

export interface NamespaceStore {
  /** 32 bytes that seal the values of `secrets`; null if the store keeps none. */
  readonly secretsKey: Uint8Array | null;
  insert(record: StoredRecord): Promise<void>;
  find(namespace: NamespaceName, id: string): Promise<StoredRecord | null>;
  /** Stores the record if the stored one is active and has this version; else returns false. Durable when it resolves. */
  replace(record: StoredRecord, version: number): Promise<boolean>;
  /** Returns the newest records below `before`, at most `limit`. */
  select(selection: Selection): Promise<readonly PositionedRecord[]>;
  close(): void;
}
