/** Writes with named values, and rows whose columns are declared once. */
import { describe, expect, it } from 'vitest';
import { columnsOf, decoder, flag, selected, words } from '../../../src/store/rules/columns.ts';
import { stepper } from '../../../src/store/postgres/effects/writing.ts';
import {
  insert,
  remove,
  update,
  upsert,
  valuesOf,
  write,
  type Write,
} from '../../../src/store/write/statement.ts';

interface Lamp {
  readonly lampId: string;
  readonly label: string | null;
  readonly lit: boolean;
}
const lamp = columnsOf<Lamp>('lamp', { lampId: 'lamp_id', label: words('label'), lit: flag('lit') });

const texts = ({ statement }: Pick<Write<never>, 'statement'>) => [statement.text, statement.sqlite?.text];

describe('a write of both engines', () => {
  it('spells its values as each engine does, the project first', () => {
    expect(texts(insert(lamp))).toEqual([
      'INSERT INTO lamp (project, lamp_id, label, lit) VALUES ($1, $2, $3, $4)',
      'INSERT INTO lamp (project, lamp_id, label, lit) VALUES (?, ?, ?, ?)',
    ]);
    expect(texts(upsert(lamp, { key: ['lampId'], set: ['lit'] }))[0]).toBe(
      'INSERT INTO lamp (project, lamp_id, lit) VALUES ($1, $2, $3)' +
        ' ON CONFLICT (project, lamp_id) DO UPDATE SET lit = excluded.lit',
    );
    expect(texts(update(lamp, { set: ['lit'], also: 'n = n + 1', by: ['lampId'], where: 'n < 9' }))).toEqual([
      'UPDATE lamp SET lit = $2, n = n + 1 WHERE project = $1 AND lamp_id = $3 AND n < 9',
      'UPDATE lamp SET lit = ?, n = n + 1 WHERE project = ? AND lamp_id = ? AND n < 9',
    ]);
    expect(texts(remove(lamp, ['lampId']))[0]).toBe('DELETE FROM lamp WHERE project = $1 AND lamp_id = $2');
  });

  it('takes a value that it uses twice once, and leaves casts alone', () => {
    const twice = write('twice', 'UPDATE lamp SET n = :n::int8 WHERE project = :project AND n < :n::int8');
    expect(twice.statement.text).toBe('UPDATE lamp SET n = $2::int8 WHERE project = $1 AND n < $2::int8');
    expect(twice.statement.sqlite).toEqual({
      text: 'UPDATE lamp SET n = ? WHERE project = ? AND n < ?',
      places: [1, 0, 1],
    });
  });

  it('refuses a value that is missing, and stores a boolean as a number', () => {
    expect(valuesOf(insert(lamp), 7, { lit: true, label: null, lampId: 'l' })).toEqual([7, 'l', null, 1]);
    expect(() => valuesOf(insert(lamp), 7, { lampId: 'l', lit: true })).toThrow(
      'insert lamp: expected a value for label, got none',
    );
  });

  it('encodes only the texts that people wrote, for PostgreSQL', () => {
    const { values } = stepper(7)(insert(lamp), { lampId: 'a\\b', label: 'a\\b\0', lit: false });
    expect(values).toEqual([7, 'a\\b', 'a\\\\b\\0', 0]);
  });
});

describe('columns of a row', () => {
  it('are selected under the names of their members', () => {
    expect(selected(lamp)).toBe('lamp_id AS "lampId", label, lit');
    expect(selected(lamp, { from: 'l', not: ['label'] })).toBe('l.lamp_id AS "lampId", l.lit');
  });

  it('are decoded into the members', () => {
    const read = decoder(lamp, (text) => text && text.toUpperCase());
    expect(read({ lampId: 'a', label: 'b', lit: 1 })).toEqual({ lampId: 'a', label: 'B', lit: true });
  });
});
