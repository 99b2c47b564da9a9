/**
 * Figures of stored leaves: how many rows there are, and how long their texts are. A database knows lengths without reading
 * the texts. Proven by `test/store/suite/log/leaf-figures.ts`.
 */

/** They change where a row is lost or a text gets another length. Those of adjacent ranges add up. */
export interface LeafFigures {
  /** Leaves that the tables list, and how many of them have a record and a body. */
  readonly leaves: number;
  readonly records: number;
  readonly bodies: number;
  /** Of records and bodies, in the form that is stored. */
  readonly octets: number;
  /** Of the lists of erasures, apart: they grow where bodies shrink. */
  readonly erasedOctets: number;
  /** Keys of subjects that each body names and that are not destroyed, added up. */
  readonly keys: number;
}

export const noFigures: LeafFigures = {
  leaves: 0,
  records: 0,
  bodies: 0,
  octets: 0,
  erasedOctets: 0,
  keys: 0,
};

/** The figures of both, without other members. */
export const sumOfFigures = (one: LeafFigures, other: LeafFigures): LeafFigures => ({
  leaves: one.leaves + other.leaves,
  records: one.records + other.records,
  bodies: one.bodies + other.bodies,
  octets: one.octets + other.octets,
  erasedOctets: one.erasedOctets + other.erasedOctets,
  keys: one.keys + other.keys,
});
