/**
 * Each check of completeness is needed: for each one there is a forged bundle that the verifier refuses, and that it
 * would accept without this check. A copy of the sources loses one check at a time.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MapEntry } from '../../../src/core/completeness/entry.ts';
import type { LogMap } from '../../../src/core/completeness/log-map.ts';
import { valueHash } from '../../../src/core/completeness/map.ts';
import { draftLeaf } from '../../../src/core/events/record.ts';
import { hashText } from '../../../src/core/hash.ts';
import { type Bundle, pathText } from '../../../src/core/proofs/bundle.ts';
import { projectRoot } from '../../paths.ts';
import { complete, mapOf } from '../completeness/indexed.ts';
import { bytesOf, changed, logSigner, ProofLog, recordSampleRun, verify } from './log.ts';

/** A log with the sample run, of which the tables lack the last events. */
function cut(count: number, prepare: (log: ProofLog) => void = () => {}) {
  const log = new ProofLog();
  const events = recordSampleRun(log);
  prepare(log);
  for (const { index } of events.slice(events.length - count)) log.lost.add(index);
  return { log, events, bundle: log.prove('run-1', { between: 2, events: 'none', graph: false }) };
}

/** The map of a log in which the first `below` leaves are, after `alter` changed their records. */
function lie(
  log: ProofLog,
  alter: (record: string, at: number) => string,
  below = log.leaves.length,
): LogMap {
  const leaves = log.leaves.slice(0, below).map(({ record }, at) => ({ record: alter(record, at) }));
  return mapOf(leaves, log.hashes);
}

/** As if the lost events were of another run. */
const without = (log: ProofLog): LogMap =>
  lie(log, (record, at) =>
    log.lost.has(at) ? record.replace('"runId":"run-1"', '"runId":"run-9"') : record,
  );

const entries = (bundle: Bundle): MapEntry[] => [...bundle.completeness!.entries];
const withEntry = (bundle: Bundle, at: number, entry: MapEntry): Bundle =>
  changed(bundle, ['completeness', 'entries', at], entry);
const next = (bundle: Bundle) => entries(bundle)[0]!.growth!.next;
const nextIs = (bundle: Bundle, other: object): Bundle =>
  changed(bundle, ['completeness', 'entries', 0, 'growth', 'next'], { ...next(bundle), ...other });

/** The index leaf of a map that lies, changed before the log has it. */
function withIndex(map: (log: ProofLog) => LogMap, alter: (record: string) => string): Bundle {
  const { log, bundle } = cut(3);
  const append = log.append.bind(log);
  log.append = (draft) => append(draft.kind === 'event' ? draft : { ...draft, record: alter(draft.record) });
  return complete(log, bundle, map(log));
}

const hidden = (log: ProofLog): void => {
  log.append(draftLeaf('gov.evaluation/1', { id: 'hidden' }, { runId: 'run-1' }));
};

const inCompleteness = 'src/core/proofs/completeness.ts';
const inEntry = 'src/core/completeness/entry.ts';

interface Mutant {
  readonly file: string;
  /** The condition of the check, and what stands in its place. */
  readonly check: string;
  readonly instead: string;
  readonly forged: () => Bundle;
}

const mutants: Record<string, Mutant> = {
  'the index leaf is in the tree': {
    file: inCompleteness,
    check: '!verifyInclusion({ index, size, leaf, path: pathHashes(inclusion), root })',
    instead: 'false',
    forged: () => {
      const honest = cut(3);
      const other = cut(3);
      const { completeness } = complete(other.log, other.bundle, without(other.log));
      return changed(complete(honest.log, honest.bundle), ['completeness'], completeness);
    },
  },
  'the map function is known': {
    file: inCompleteness,
    check: '!isMapFunction(fn)',
    instead: 'false',
    forged: () => withIndex(without, (record) => record.replace('gov.mapfn/2', 'gov.mapfn/3')),
  },
  'the index covers no leaf that comes after it': {
    file: inCompleteness,
    check: 'read.size > index',
    instead: 'false',
    forged: () => withIndex(without, (record) => record.replace(/"size":\d+/, '"size":900')),
  },
  'the index covers the proof': {
    file: inCompleteness,
    check: 'index.size < evidence.treeSize',
    instead: 'false',
    forged: () => {
      const { log, events, bundle } = cut(3);
      return complete(
        log,
        bundle,
        lie(log, (record) => record, events[5]!.index),
      );
    },
  },
  'there are as many entries as lists': {
    file: inCompleteness,
    check: 'entries.length !== lists.length',
    instead: 'false',
    forged: () => {
      const { log, bundle } = cut(0);
      const whole = complete(log, bundle);
      return changed(whole, ['completeness', 'entries'], [...entries(whole), ...entries(whole)]);
    },
  },
  'an entry is of the key of its list': {
    file: inCompleteness,
    check: "entry.key.join('\\u0000') === shown.key.join('\\u0000')",
    instead: 'true',
    forged: () => {
      const { log, bundle } = cut(0, hidden);
      const whole = complete(log, bundle);
      const { path } = mapOf(log.leaves.slice(0, -1), log.hashes).path(['of', 'gov.evaluation/1', 'run-9']);
      const { siblings, end } = path;
      return withEntry(whole, 1, {
        key: ['of', 'gov.evaluation/1', 'run-9'],
        siblings: siblings.map((sibling) => (sibling === null ? null : hashText(sibling))),
        end: end && { keyHash: hashText(end.keyHash), valueHash: hashText(end.valueHash) },
      });
    },
  },
  'the path of an entry leads to the root': {
    file: inEntry,
    check: 'Buffer.compare(computed, root) !== 0',
    instead: 'false',
    forged: () => {
      const { log, bundle } = cut(3);
      const whole = complete(log, bundle);
      const own = cut(3);
      return withEntry(whole, 0, entries(complete(own.log, own.bundle, without(own.log)))[0]!);
    },
  },
  'a key is not absent for its own leaf': {
    file: inEntry,
    check: 'place.keyHash.equals(own)',
    instead: 'false',
    forged: () => {
      const { log, bundle } = cut(0, hidden);
      const whole = complete(log, bundle);
      const { key, siblings, end } = entries(whole)[1]!;
      const found = mapOf(log.leaves.slice(0, -1), log.hashes).path(key);
      expect(end).toHaveProperty('value');
      return withEntry(whole, 1, {
        key,
        siblings,
        end: {
          keyHash: hashText(found.path.end!.keyHash),
          valueHash: hashText(valueHash(found.value!)),
        },
      });
    },
  },
  'the log has no fewer events than the proof': {
    file: inCompleteness,
    check: "new Fault('RUN_SHORTER_THAN_SHOWN', `the proof shows ${n} ${what}, but the log has ${found}`)",
    instead: 'null',
    forged: () => {
      const { log, events, bundle } = cut(0);
      const last = events.at(-1)!.index;
      const other = (record: string, at: number) =>
        at === last ? record.replace('"runId":"run-1"', '"runId":"run-2"') : record;
      return complete(log, bundle, lie(log, other));
    },
  },
  'the events are those of the list': {
    file: inCompleteness,
    check: '(value.root === root && value.first === firstIndex && value.last === lastIndex)',
    instead: 'true',
    forged: () => {
      const { log, events, bundle } = cut(0);
      const hashes = log.hashes.map((hash, at) => (at === events[3]!.index ? log.hashes[0]! : hash));
      return complete(log, bundle, mapOf(log.leaves, hashes));
    },
  },
  'the next event is at the end of the proof or after it': {
    file: inCompleteness,
    check: 'next.index >= treeSize',
    instead: 'true',
    forged: () => {
      const { log, bundle } = cut(3);
      return complete(log, bundle);
    },
  },
  'the next event is in the list': {
    file: inCompleteness,
    check: 'isListed(value, { position: n, leaf, path: next.listInclusion })',
    instead: 'true',
    forged: () => {
      const { log, bundle } = cut(3);
      const whole = complete(log, bundle);
      const { index } = bundle.proofLeaf;
      const inclusion = pathText(log.path(index, log.leaves.length));
      return nextIs(whole, { index, leaf: hashText(log.hashes[index]!), inclusion });
    },
  },
  'the next event is in the log where it says': {
    file: inCompleteness,
    check: `verifyInclusion({
      index: next.index,
      size: tree.size,
      leaf,
      path: pathHashes(next.inclusion),
      root: tree.root,
    })`,
    instead: 'true',
    forged: () => {
      const { log, bundle } = cut(3);
      return nextIs(complete(log, bundle), { index: bundle.proofLeaf.index });
    },
  },
  'the list extends the shown one': {
    file: inCompleteness,
    check: "return extended ? 'yes' :",
    instead: "return true ? 'yes' :",
    forged: () => {
      const { log, bundle } = cut(0);
      log.record({ runId: 'run-1' });
      const whole = complete(log, bundle);
      return changed(whole, ['completeness', 'entries', 0, 'growth', 'consistency'], []);
    },
  },
};

describe('the checks of a verifier', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gov-mutants-'));
  const script = join(folder, 'verify.ts');
  beforeAll(() => {
    for (const part of ['core', 'contract']) {
      mkdirSync(join(folder, 'src'), { recursive: true });
      cpSync(join(projectRoot, 'src', part), join(folder, 'src', part), { recursive: true });
    }
    symlinkSync(join(projectRoot, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(
      script,
      `import { readFileSync } from 'node:fs';
       import { parseTrust } from './src/core/note/trust.ts';
       import { verifyBundle } from './src/core/proofs/verify.ts';
       const trust = parseTrust(${JSON.stringify(`log ${logSigner.verifierKey}\nquorum none\n`)});
       const { verified, code } = verifyBundle(readFileSync(${JSON.stringify(join(folder, 'bundle'))}), trust);
       console.log(verified ? 'verified' : code);`,
    );
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const outcome = (): string => execFileSync(process.execPath, [script], { encoding: 'utf8' }).trim();

  it.each(Object.entries(mutants))(
    'a verifier without one check accepts a forged bundle: %s',
    (_what, { file, check, instead, forged }) => {
      const bundle = forged();
      expect(
        verify(bundle)
          .checks.filter(({ result }) => result === 'failed')
          .map(({ id }) => id),
      ).toEqual(['completeness']);
      writeFileSync(join(folder, 'bundle'), bytesOf(bundle));
      const path = join(folder, file);
      const source = readFileSync(path, 'utf8');
      expect(source.split(check)).toHaveLength(2);
      try {
        writeFileSync(
          path,
          source.replace(check, () => instead),
        );
        expect(outcome()).toBe('verified');
      } finally {
        writeFileSync(path, source);
      }
      expect(outcome()).toMatch(/^[A-Z_]+$/);
    },
  );
});
