/** Which seal the bodies of a connection have. */
import { createBodySeal, openedWith, unsealed, type BodySeal } from '../bodyseal.ts';
import type { Connection } from './connection.ts';

/** By connection, so that whatever reads or writes through one knows its seal. */
const seals = new WeakMap<Connection, BodySeal>();

/** Bodies of this connection are sealed from here on. */
export function sealWith(db: Connection, masterKey: Uint8Array | undefined): void {
  if (masterKey !== undefined) seals.set(db, createBodySeal(masterKey));
}

export const sealOf = (db: Connection): BodySeal => seals.get(db) ?? unsealed;

export const openedRow = <Row extends { readonly disclosures: string | null }>(
  db: Connection,
  row: Row,
): Row => openedWith(sealOf(db), row);
