import { expect, it } from 'vitest';
import { columnsOf, flag, json, words } from '../../../src/store/rules/columns.ts';
import { plainColumns } from '../../../src/store/write/plain-columns.ts';

interface Lamp {
  readonly lampId: string;
  readonly watts: number | null;
}

it('the columns of a commit are those of the row, with their types', () => {
  const lamp = columnsOf<Lamp>('lamp', { lampId: 'lamp_id', watts: 'watts' });
  expect(plainColumns(lamp, { lampId: 'text', watts: 'int8' })).toEqual({
    lampId: ['lamp_id', 'text'],
    watts: ['watts', 'int8'],
  });
});

it('a column of words, a flag and a JSON value are refused by their name, because commits write values as they are', () => {
  const types = { lampId: 'text', more: 'text' } as const;
  const message = 'expected a plain column for lamp.more, got words, flag or json';
  const said = columnsOf<{ lampId: string; more: string }>('lamp', {
    lampId: 'lamp_id',
    more: words('more'),
  });
  expect(() => plainColumns(said, types)).toThrow(message);
  const lit = columnsOf<{ lampId: string; more: boolean }>('lamp', { lampId: 'lamp_id', more: flag('more') });
  expect(() => plainColumns(lit, types)).toThrow(message);
  const parts = columnsOf<{ lampId: string; more: string[] }>('lamp', {
    lampId: 'lamp_id',
    more: json('more'),
  });
  expect(() => plainColumns(parts, types)).toThrow(message);
});
