/**
 * The body seal of each connection, and its file of subject keys.
 * Proven by `test/store/sqlite/sealed.long.test.ts`.
 */
import {
  closedBody,
  createBodySeal,
  openBody,
  unsealed,
  type BodySeal,
  type OpenedBody,
  type StoredBody,
} from '../erasure/body-seal.ts';
import { idsOf, type SubjectKey } from '../erasure/subject-keys.ts';
import type { Connection, Value } from './connection.ts';
import { keyReader } from './subjects.ts';

interface ConnectionSeal {
  readonly seal: BodySeal;
  /** Null if there is no file of keys. */
  readonly subjects: Connection | null;
}

/** By connection, so that every reader and writer of a connection finds its seal. */
const sealings = new WeakMap<Connection, ConnectionSeal>();

/** From here on bodies of this connection are sealed. `subjects`: the file of keys; its owner closes it. */
export function sealWith(
  db: Connection,
  masterKey: Uint8Array | undefined,
  subjects: Connection | null = null,
): void {
  if (masterKey !== undefined) sealings.set(db, { seal: createBodySeal(masterKey), subjects });
}

export const sealOf = (db: Connection): BodySeal => sealings.get(db)?.seal ?? unsealed;

export const subjectsOf = (db: Connection): Connection | null => sealings.get(db)?.subjects ?? null;

/** The stored columns of a body. */
export interface BodyRow extends StoredBody {
  readonly erased: string | null;
}

/** Opens the body of a row. Cost: 4 µs a key in addition to the seal. */
export function bodyOpener(db: Connection): (stored: StoredBody) => OpenedBody {
  const seal = sealOf(db);
  const subjects = subjectsOf(db);
  const find = subjects === null ? () => null : keyReader(subjects);
  return (stored) => {
    if (stored.keys === null) return openBody(seal, stored, []);
    const keys = idsOf(stored.keys).map(find);
    return openBody(
      seal,
      stored,
      keys.filter((key): key is SubjectKey => key !== null),
    );
  };
}

/**
 * Opens the body of a row that was read earlier. Reads the row again if an erasure may have changed it before
 * the read of its keys.
 */
export function bodyReader(db: Connection) {
  const open = bodyOpener(db);
  const again = db.prepare<Value[], BodyRow>('SELECT disclosures, erased, keys FROM body WHERE position = ?');
  return (
    position: number,
    row: BodyRow,
  ): { readonly opened: OpenedBody; readonly erased: string | null } => {
    const opened = open(row);
    const now = opened === 'gone' ? again.get(position) : undefined;
    if (now === undefined || now.keys === row.keys) return { opened, erased: row.erased };
    return { opened: open(now), erased: now.erased };
  };
}

/**
 * Opens the body of a row about no subject. A body that does not open becomes a text that is not a list of
 * disclosures.
 */
export function openedRow<Row extends { readonly disclosures: string | null }>(
  db: Connection,
  row: Row,
): Row {
  if (row.disclosures === null) return row;
  return { ...row, disclosures: sealOf(db).open(row.disclosures) ?? closedBody };
}
