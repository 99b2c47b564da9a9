/**
 * The tables to which each commit adds rows, for both engines: SQLite inserts sixteen rows at a time, PostgreSQL one
 * array for each column.
 * Proven by `test/store/suite/log/append.ts`.
 */
import type { RunState } from '../append/ledger.ts';
import { runColumns, runTypes } from '../append/run-row.ts';
import { plainColumns, type TypedColumns } from './plain-columns.ts';

/** The place of a leaf: 2^36 leaves of each of 2^27 projects. */
export interface Position {
  readonly project: number;
  readonly index: number;
}

/** A value of a column. */
export type Cell = string | number | null | Uint8Array | Position;

export interface CommitTable<Row> {
  readonly name: string;
  /** The column of each member and its type. */
  readonly columns: TypedColumns<Row>;
  /** For a row that exists: the columns of its key in PostgreSQL, and SQL that changes it. */
  readonly exists: { readonly key: string; readonly set: string } | undefined;
}

export const table = <Row>(
  name: string,
  columns: TypedColumns<Row>,
  exists?: CommitTable<Row>['exists'],
): CommitTable<Row> => ({ name, columns, exists });

const project = ['project', 'int4'] as const;
const position = ['position', 'position'] as const;

interface LeafRow {
  readonly position: Position;
  readonly record: string;
}
interface BodyRow {
  readonly position: Position;
  readonly disclosures: string;
  /** Ids of the keys that seal it. */
  readonly keys: string | null;
}
interface RunEventRow {
  readonly project: number;
  readonly runNo: number;
  readonly runSeq: number;
  readonly index: number;
  readonly typeNo: number;
  readonly atMs: number;
}
interface MeterRow {
  readonly position: Position;
  readonly firstIndex: number;
  readonly count: number;
  readonly nonce: Uint8Array;
  readonly record: string;
}
interface DecidedRow {
  readonly project: number;
  readonly type: number;
  readonly index: number;
  readonly runId: string | null;
  readonly id: string | null;
}
interface CountRow {
  readonly project: number;
  readonly typeNo: number;
  readonly events: number;
}

/** Answers of requests with a key. SQLite writes them one by one, because the next request may repeat the key. */
export const keptTable = table<{
  project: number;
  key: string;
  fingerprint: string;
  atMs: number;
  status: number;
  headers: string;
  body: string;
}>('idempotency', {
  project,
  key: ['key', 'text'],
  fingerprint: ['fingerprint', 'text'],
  atMs: ['at_ms', 'int8'],
  status: ['status', 'int4'],
  headers: ['headers', 'text'],
  body: ['body', 'text'],
});

/** Clients' own ids of events; written like `keptTable`. */
export const clientTable = table<{
  project: number;
  clientEventId: string;
  index: number;
  fingerprint: string;
}>('client_event', {
  project,
  clientEventId: ['client_event_id', 'text'],
  index: ['idx', 'int8'],
  fingerprint: ['fingerprint', 'text'],
});

const run = runColumns.names;

export const commitTables = {
  leaf: table<LeafRow>('leaf', { position, record: ['record', 'text'] }),
  body: table<BodyRow>('body', {
    position,
    disclosures: ['disclosures', 'text'],
    keys: ['keys', 'text'],
  }),
  runEvent: table<RunEventRow>('run_event', {
    project,
    runNo: ['run_no', 'int8'],
    runSeq: ['run_seq', 'int8'],
    index: ['idx', 'int8'],
    typeNo: ['type_no', 'int4'],
    atMs: ['at_ms', 'int8'],
  }),
  meter: table<MeterRow>('meter', {
    position,
    firstIndex: ['first_index', 'int8'],
    count: ['leaf_count', 'int4'],
    nonce: ['nonce', 'bytea'],
    record: ['record', 'text'],
  }),
  period: table<{ project: number; month: string; base: string }>('period', {
    project,
    month: ['month', 'text'],
    base: ['base', 'text'],
  }),
  decided: table<DecidedRow>('decided', {
    project,
    type: ['type', 'int4'],
    index: ['idx', 'int8'],
    runId: ['run_id', 'text'],
    id: ['id', 'text'],
  }),
  subject: table<{ project: number; subject: string; index: number }>('subject', {
    project,
    subject: ['subject', 'text'],
    index: ['idx', 'int8'],
  }),
  type: table<{ project: number; no: number; name: string }>('event_type', {
    project,
    no: ['type_no', 'int4'],
    name: ['name', 'text'],
  }),
  run: table<RunState & { readonly project: number }>(
    'run',
    {
      project,
      ...plainColumns(runColumns, runTypes),
    },
    {
      key: 'project, run_no',
      // the number, the id and the first index never change
      set: Object.entries(run)
        .filter(([member]) => !['no', 'runId', 'firstIndex'].includes(member))
        .map(([, column]) => `${column} = excluded.${column}`)
        .join(', '),
    },
  ),
  runType: table<CountRow & { readonly runNo: number }>(
    'run_type',
    { project, runNo: ['run_no', 'int8'], typeNo: ['type_no', 'int4'], events: ['events', 'int8'] },
    { key: 'project, run_no, type_no', set: 'events = run_type.events + excluded.events' },
  ),
  typeTotal: table<CountRow>(
    'type_total',
    { project, typeNo: ['type_no', 'int4'], events: ['events', 'int8'] },
    { key: 'project, type_no', set: 'events = type_total.events + excluded.events' },
  ),
} as const;

type RowOf<Table> = Table extends CommitTable<infer Row> ? Row : never;

/** Where the rows of a commit go. */
export type CommitSinks = {
  readonly [Name in keyof typeof commitTables]: {
    add(row: RowOf<(typeof commitTables)[Name]>): void;
  };
};
