/**
 * 20,000 changed answers and evidence files of each kind: bytes are changed, removed, added and repeated, and members are
 * removed, repeated, exchanged and taken from another file. None is accepted with a meaning that is not true.
 */
import { describe, expect, it } from 'vitest';
import { mapEntry } from '../../../src/core/completeness/entry.ts';
import { splitViewText, verifyEvidence } from '../../../src/core/evidence/file.ts';
import { indexOmissionText } from '../../../src/core/evidence/index-omission.ts';
import { signCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { compareHeads, SignedHead } from '../../../src/core/note/heads.ts';
import { answerText, verifyAnswer } from '../../../src/core/proofs/answer.ts';
import { pathText } from '../../../src/core/proofs/bundle.ts';
import { hiddenLog, ways } from '../completeness/hidden.ts';
import { naiveLeaf, naivePath, naiveRoot } from '../merkle/naive.ts';
import { ceilTimestamp } from '../../../src/core/time.ts';
import { answer, countIn, timeOf } from '../proofs/asked.ts';
import { logSigner, origin, seeded, trust } from '../proofs/log.ts';

const rounds = 20_000;

function splitViews(): string[] {
  const leavesOf = (size: number, history: string): Buffer[] =>
    Array.from({ length: size }, (_, n) => naiveLeaf(Buffer.from(`${n < 3 ? 'a' : history} ${n}`)));
  const headOf = (leaves: readonly Buffer[], index: number): SignedHead => {
    const checkpoint = { origin, size: leaves.length, root: naiveRoot(leaves), extensions: [] };
    const head = SignedHead.open(signCheckpoint(checkpoint, [logSigner]), trust);
    head.add({ index, leaf: leaves[index]!, path: naivePath(index, leaves) });
    return head;
  };
  return [5, 9, 13].map((size) => {
    const heads = [headOf(leavesOf(size, 'a'), 4), headOf(leavesOf(9, 'b'), 4)] as const;
    const compared = compareHeads(...heads);
    if (compared.result !== 'split') throw new Error('expected two histories');
    return splitViewText({ heads, paths: compared.paths });
  });
}

const omissions = (): string[] =>
  ways.map((way) => {
    const of = hiddenLog(way);
    const { log, map } = of;
    const included = (index: number) => ({
      index,
      record: log.leaves[index]?.record ?? '',
      inclusion: pathText(log.path(index, log.leaves.length)),
    });
    const { path, value } = map.path(['run', 'hide']);
    return indexOmissionText({
      checkpoint: log.checkpoint(log.leaves.length),
      index: included(of.index),
      entry: mapEntry(['run', 'hide'], path, value),
      leaf: included(of.run[4] ?? 0),
    });
  });

const answers = (): string[] => {
  const period = { since: timeOf(3), until: timeOf(9) };
  return [
    answer(['run', 'run-0']),
    answer(['run', 'run-1'], period),
    answer(['type', 'tool.call'], period),
    answer(['type', 'never']),
    answer(['leaf', 'gov.genesis/1']),
  ].map(answerText);
};

/** What a file says, and whether that is true; null where it is not accepted. */
type Meaning = (bytes: Buffer) => { readonly said: string; readonly isTrue: boolean } | null;

const shownBy =
  (files: readonly string[]): Meaning =>
  (bytes) => {
    const said = (text: Uint8Array): string => JSON.stringify(verifyEvidence(text, trust));
    const own = said(bytes);
    if (!verifyEvidence(bytes, trust).verified) return null;
    return { said: own, isTrue: files.some((file) => said(Buffer.from(file)) === own) };
  };

/** Nothing signs a question: another one is fine where the count is right for it. */
const answeredBy: Meaning = (bytes) => {
  const { verified, question, count, below, completeness } = verifyAnswer(bytes, trust);
  if (!verified || question === null) return null;
  const msOf = (time: string | null): number | null => (time === null ? null : ceilTimestamp(time));
  const right = countIn(question.key, { since: msOf(question.since), until: msOf(question.until) });
  const isTrue = count === right && below === 13 && completeness.strength === 'own_index';
  return { said: JSON.stringify([question, count, below, completeness]), isTrue };
};

/** Numbers in the order of a seed. */
function numbers(seed: string): (below: number) => number {
  const bytes = seeded(seed, rounds * 32);
  let at = 0;
  return (below) => {
    at = (at + 4) % (bytes.length - 4);
    return bytes.readUInt32LE(at) % below;
  };
}

function changedBytes(file: Buffer, next: (below: number) => number): Buffer {
  const at = next(file.length);
  const end = Math.min(file.length, at + 1 + next(16));
  const byte = Buffer.from([next(256)]);
  switch (next(4)) {
    case 0:
      return Buffer.concat([file.subarray(0, at), byte, file.subarray(at + 1)]);
    case 1:
      return Buffer.concat([file.subarray(0, at), file.subarray(end)]);
    case 2:
      return Buffer.concat([file.subarray(0, at), byte, file.subarray(at)]);
  }
  return Buffer.concat([file.subarray(0, end), file.subarray(at)]);
}

type Members = Record<string, unknown>;

/** Every object and list in a value. */
function parents(value: unknown): Members[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value as Members, ...Object.values(value).flatMap(parents)];
}

/** One member of a file is removed, changed, or replaced by one of the same or another file. */
function changedMember(file: Buffer, other: Buffer, next: (below: number) => number): Buffer {
  const [own, theirs] = [file, other].map((each) => JSON.parse(each.toString()) as unknown);
  const pick = (of: unknown): [Members, string] => {
    const full = parents(of).filter((each) => Object.keys(each).length > 0);
    const parent = full[next(full.length)]!;
    const names = Object.keys(parent);
    return [parent, names[next(names.length)]!];
  };
  const [parent, name] = pick(own);
  const value = parent[name];
  const [from, taken] = pick(theirs);
  switch (next(5)) {
    case 0:
      if (Array.isArray(parent)) parent.splice(Number(name), 1);
      else delete parent[name];
      break;
    case 1:
      if (Array.isArray(parent)) parent.splice(Number(name), 0, value);
      else parent[`${name}2`] = value;
      break;
    case 2:
      parent[name] = typeof value === 'number' ? value + 1 - 2 * next(2) : null;
      break;
    case 3:
      parent[name] = from[taken];
      break;
    default: {
      const same = parents(theirs).filter((each) => Object.hasOwn(each, name));
      if (same.length > 0) parent[name] = same[next(same.length)]![name];
    }
  }
  return Buffer.from(`${JSON.stringify(own)}\n`);
}

describe('20,000 changed files', () => {
  it.each([
    ['evidence of a split view', splitViews(), shownBy(splitViews())],
    ['evidence of an omission', omissions(), shownBy(omissions())],
    ['an answer', answers(), answeredBy],
  ] as const)(
    '%s is accepted with a true meaning or not at all',
    (what, texts, meaning) => {
      const next = numbers(what);
      const files = texts.map((text) => Buffer.from(text));
      for (const file of files) expect(meaning(file)).toMatchObject({ isTrue: true });
      let accepted = 0;
      for (let round = 0; round < rounds; round++) {
        const file = files[next(files.length)]!;
        const other = files[next(files.length)]!;
        const changed = round % 2 === 0 ? changedBytes(file, next) : changedMember(file, other, next);
        const found = meaning(changed);
        if (found === null) continue;
        accepted += 1;
        expect(found.isTrue, `round ${round}: ${found.said} ${changed.toString()}`).toBe(true);
      }
      // what changes no meaning, such as a space between members
      expect(accepted).toBeLessThan(rounds / 4);
    },
    120_000,
  );
});
