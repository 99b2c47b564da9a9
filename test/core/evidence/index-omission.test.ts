/** Evidence that an index leaves out an event: each way of hiding one is shown, and no honest log is accused. */
import { describe, expect, it } from 'vitest';
import { mapEntry, type MapEntry } from '../../../src/core/completeness/entry.ts';
import { listProofs } from '../../../src/core/completeness/list-proof.ts';
import { verifyEvidence } from '../../../src/core/evidence/file.ts';
import { indexOmissionText, type IndexOmission } from '../../../src/core/evidence/index-omission.ts';
import { hashText } from '../../../src/core/hash.ts';
import { pathText } from '../../../src/core/proofs/bundle.ts';
import { hiddenLog, ways, type HiddenLog } from '../completeness/hidden.ts';
import { trust } from '../proofs/log.ts';

const included = ({ log }: HiddenLog, index: number) => ({
  index,
  record: log.leaves[index]?.record ?? '',
  inclusion: pathText(log.path(index, log.leaves.length)),
});

function entryOf({ map }: HiddenLog, key: readonly string[]): MapEntry {
  const { path, value } = map.path(key);
  return mapEntry(key, path, value);
}

/** `item`: the number of the listed event that stands in the place of the event. */
function omission(of: HiddenLog, at: number, listed: readonly number[], item?: number): IndexOmission {
  const leaves = listed.map((each) => of.log.hashes[of.run[each] ?? 0] ?? Buffer.alloc(32));
  const proofs = listProofs(Buffer.concat(leaves));
  return {
    checkpoint: of.log.checkpoint(of.log.leaves.length),
    index: included(of, of.index),
    entry: entryOf(of, ['run', 'hide']),
    leaf: included(of, of.run[at] ?? 0),
    ...(item === undefined
      ? {}
      : {
          item: {
            leaf: hashText(leaves[item] ?? Buffer.alloc(32)),
            inclusion: proofs.inclusion(item).map(hashText),
          },
        }),
  };
}

const verify = (given: IndexOmission, by = trust) =>
  verifyEvidence(Buffer.from(indexOmissionText(given)), by);
const all = [0, 1, 2, 3, 4];

describe('evidence of an omission', () => {
  it.each(ways.map((way) => [way]))('shows that the events %j of a run were hidden', (way) => {
    const of = hiddenLog(way);
    const listed = all.filter((each) => !way.includes(each));
    const last = omission(of, 4, listed);
    expect(verify(last)).toMatchObject({ verified: true, shows: 'index_omission', origin: trust.origin });
    expect(Buffer.byteLength(indexOmissionText(last))).toBeLessThan(4096);
    // the first hidden event, with what the list has in its place
    const [first = 0] = way;
    const item = first < listed.length ? first : undefined;
    const found = verify(omission(of, first, listed, item));
    expect([found.verified, found.detail]).toEqual([
      true,
      expect.stringContaining(`event ${first} of run hide is leaf ${of.run[first]}`),
    ]);
  });

  it('accuses no honest log, with any event and any item', () => {
    const of = hiddenLog([]);
    for (const at of all) {
      for (const item of [undefined, ...all]) {
        const found = verify(omission(of, at, all, item));
        expect([found.verified, found.code]).toEqual([false, 'EVIDENCE_SHOWS_NOTHING']);
      }
    }
    // an event after the index leaf, and one of another run
    const after = included(of, of.log.leaves.length - 1);
    const base = omission(of, 0, all);
    expect(verify({ ...base, leaf: after, entry: entryOf(of, ['run', 'later']) }).code).toBe(
      'EVIDENCE_SHOWS_NOTHING',
    );
    expect(verify({ ...base, entry: entryOf(of, ['run', 'nobody']) }).code).toBe('EVIDENCE_SHOWS_NOTHING');
    expect(verify({ ...base, entry: entryOf(of, ['type', 'agent.step']) }).code).toBe(
      'EVIDENCE_SHOWS_NOTHING',
    );
  });

  it('needs a trusted key, the paths of its parts, and no other member', () => {
    const of = hiddenLog([3, 4]);
    const good = omission(of, 4, [0, 1, 2]);
    expect(verifyEvidence(Buffer.from(indexOmissionText(good)), null).code).toBe('NO_TRUSTED_KEY');
    expect(verify({ ...good, index: included(of, of.index - 1) }).code).toBe('INDEX_INVALID');
    expect(verify({ ...good, leaf: { ...good.leaf, index: good.leaf.index - 1 } }).code).toBe('NOT_INCLUDED');
    expect(verify({ ...good, entry: entryOf(hiddenLog([]), ['run', 'hide']) }).code).toBe('INDEX_INVALID');
    expect(verify({ ...good, more: 1 } as IndexOmission).code).toBe('MALFORMED_EVIDENCE');
  });

  it('does not verify with any byte changed', () => {
    const text = Buffer.from(indexOmissionText(omission(hiddenLog([3, 4]), 4, [0, 1, 2])));
    expect(verifyEvidence(text, trust).verified).toBe(true);
    const survivors: number[] = [];
    for (let at = 0; at < text.length - 1; at++) {
      const changed = Buffer.from(text);
      changed[at] = (changed[at] ?? 0) ^ 1;
      if (verifyEvidence(changed, trust).verified) survivors.push(at);
    }
    expect(survivors).toEqual([]);
  });
});
