/** Small recordings of each program, made by us: what each holds, and that its importer leaves nothing out. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isWhole, type Balance } from '../../../src/core/balance/statement.ts';
import { balanceFile } from '../../../src/core/intake/balance-file.ts';
import { formatNames } from '../../../src/core/intake/names.ts';
import { importRuns } from '../../../src/core/intake/registry.ts';
import { documents } from '../../../src/core/intake/source.ts';

const folder = join(import.meta.dirname, 'corpus');
const ending = '.balance.json';
const names = readdirSync(folder).filter((name) => !name.endsWith(ending));
type Expected = Partial<Balance> & Pick<Balance, 'excepted' | 'unseen'>;
const byName = (a: { exception: string }, b: { exception: string }) => (a.exception < b.exception ? -1 : 1);
function expectedOf(name: string): Expected {
  const read: Expected = JSON.parse(
    readFileSync(join(folder, name.replace(/\.(?:jsonl?|txt)$/, ending)), 'utf8'),
  );
  return { ...read, excepted: read.excepted.toSorted(byName), unseen: read.unseen.toSorted(byName) };
}

describe('the corpus', () => {
  it.each(names)('%s has its expected balance, and nothing is left out', (name) => {
    const bytes = readFileSync(join(folder, name));
    const runs = [
      ...importRuns(documents(bytes.toString(), name), { format: 'auto', importedAt: 0, sourceName: name }),
    ];
    const { balance, faults } = balanceFile({ name, bytes, runs, refused: [] });
    const { found, recorded, inherited, repeated, excepted, unseen, source } = balance;
    expect(faults).toEqual([]);
    expect({ format: source.format, found, recorded, inherited, repeated, excepted, unseen }).toEqual(
      expectedOf(name),
    );
    expect(isWhole(balance)).toBe(true);
  });

  it('has a recording of each format', () => {
    expect(
      [...new Set(names.map((name) => /^(.*?)(?:\.[a-z-]+)?\.(?:jsonl?|txt)$/.exec(name)?.[1]))].toSorted(),
    ).toEqual(formatNames.toSorted());
  });
});
