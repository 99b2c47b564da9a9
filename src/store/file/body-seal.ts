/** Which seal the bodies of a connection have, and where it finds the keys of subjects. */
import {
  closedBody,
  createBodySeal,
  openBody,
  unsealed,
  type BodySeal,
  type Opened,
  type StoredBody,
} from '../erasure/body-seal.ts';
import { idsOf, type SubjectKey } from '../erasure/subject-keys.ts';
import type { Connection, Value } from './connection.ts';
import { keyReader } from './subjects.ts';

interface Sealing {
  readonly seal: BodySeal;
  /** Null where there is no file of keys. */
  readonly subjects: Connection | null;
}

/** By connection, so that whatever reads or writes through one knows its seal. */
const sealings = new WeakMap<Connection, Sealing>();

/** Bodies of this connection are sealed from here on. `subjects`: the file of keys; its owner closes it. */
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

/** Opens a body as a row has it. Cost: 4 µs a key beyond what the seal takes. */
export function bodyOpener(db: Connection): (stored: StoredBody) => Opened {
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

/** The same of a row that was read a moment ago: an erasure may have come between it and its keys. */
export function bodyReader(db: Connection) {
  const open = bodyOpener(db);
  const again = db.prepare<Value[], BodyRow>('SELECT disclosures, erased, keys FROM body WHERE position = ?');
  return (position: number, row: BodyRow): { readonly opened: Opened; readonly erased: string | null } => {
    const opened = open(row);
    const now = opened === 'gone' ? again.get(position) : undefined;
    if (now === undefined || now.keys === row.keys) return { opened, erased: row.erased };
    return { opened: open(now), erased: now.erased };
  };
}

/** A row with its body opened, which is about no subject; what does not open is no list of disclosures. */
export function openedRow<Row extends { readonly disclosures: string | null }>(
  db: Connection,
  row: Row,
): Row {
  if (row.disclosures === null) return row;
  return { ...row, disclosures: sealOf(db).open(row.disclosures) ?? closedBody };
}
