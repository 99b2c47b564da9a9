import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { StoreReader } from '../../../../src/store/port/store.ts';
import { watchedReader } from '../../../../src/store/sqlite/read/reader.ts';

const unused = (): never => {
  throw new Error('expected no disk error and no altered leaf');
};

describe('failed reads', () => {
  it.each([
    ['SQLITE_BUSY', 'OVERLOADED', 'another program holds the database'],
    ['SQLITE_FULL', 'STORAGE_FULL', 'the disk is full; free space, then writing continues by itself'],
  ])('a read that ends with %s says nothing of what was stored', async (sqlite, code, message) => {
    const head = async (): Promise<never> => {
      throw new Database.SqliteError('x', sqlite);
    };
    // the wrapper looks at no other verb
    const reader = { head } as Partial<StoreReader> as StoreReader;
    const { head: read } = watchedReader(reader, { failed: unused, note: unused });
    await expect(read('p', 'audit')).rejects.toMatchObject({ code, message });
  });
});
