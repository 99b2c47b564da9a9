/** The records of a log as a file: an honest index is derived from it, a false one is found, and a changed file is refused. */
import { describe, expect, it } from 'vitest';
import { deriveEntries, entriesHead, wholeLog } from '../../../src/core/evidence/entries-file.ts';
import { hiddenLog, ways, type HiddenLog } from '../completeness/hidden.ts';
import { inChunks } from '../exports/log.ts';
import { trust } from '../proofs/log.ts';

const textOf = ({ log }: HiddenLog): string =>
  entriesHead(wholeLog(log.checkpoint(log.leaves.length))) +
  log.leaves.map(({ record }) => `${record}\n`).join('');
const derive = (text: string) => deriveEntries(() => inChunks(Buffer.from(text)), trust);
const indexOf = ({ log, index }: HiddenLog): string => log.leaves[index]?.record ?? '';

describe('the records of a log as a file', () => {
  it('an honest index leaf is right, and another leaf or one beyond the records is unknown', async () => {
    const of = hiddenLog([]);
    const derived = await derive(textOf(of));
    expect([derived.records, derived.fault]).toEqual([of.log.leaves.length, null]);
    expect(derived.judge(of.index, indexOf(of))).toBe('right');
    expect(derived.judge(of.index, indexOf(of).replace('keys', 'kind'))).toBe('unknown');
    expect(derived.judge(of.log.leaves.length + 1, indexOf(of))).toBe('unknown');
  });

  it.each(ways.map((way) => [way]))('the index leaf that hides the events %j is false', async (way) => {
    const of = hiddenLog(way);
    const derived = await derive(textOf(of));
    expect([derived.fault?.index, derived.judge(of.index, indexOf(of))]).toEqual([of.index, 'false']);
  });

  it('records that are not those of the signed checkpoint are refused', async () => {
    const text = textOf(hiddenLog([]));
    const lines = text.split('\n');
    for (const wrong of [
      lines.toSpliced(7, 1).join('\n'),
      lines.toSpliced(7, 1, lines[8] ?? '').join('\n'),
      `${text}${lines[5]}\n`,
      text.replace('agent.step', 'agent.stop'),
    ])
      await expect(derive(wrong)).rejects.toThrow('records of the checkpoint');
    await expect(derive('')).rejects.toThrow();
    await expect(derive(text.replace('gov.entries.v1', 'gov.entries.v2'))).rejects.toThrow('mediaType');
    await expect(deriveEntries(() => inChunks(Buffer.from(text)), { ...trust, keys: [] })).rejects.toThrow();
  });
});
