/** Whether a bundle shows all of its run: the attack on the tables, and what somebody may do to such a bundle. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MapEntry } from '../../../src/core/completeness/entry.ts';
import { LogMap } from '../../../src/core/completeness/log-map.ts';
import { readMapped } from '../../../src/core/completeness/map-function.ts';
import { draftLeaf } from '../../../src/core/events/record.ts';
import type { Bundle } from '../../../src/core/proofs/bundle.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { complete, mapOf } from '../completeness/indexed.ts';
import {
  bytesOf,
  changed,
  failures,
  ProofLog,
  type ProveOptions,
  recordSampleRun,
  result,
  sample,
  trust,
  verify,
} from './log.ts';

const three: ProveOptions = { layers: ['event_integrity', 'policy_compliance', 'decision_lineage'] };

/** A log with the sample run, and its proof. */
function proved(options: ProveOptions = {}, prepare: (log: ProofLog) => void = () => {}) {
  const log = new ProofLog();
  recordSampleRun(log);
  prepare(log);
  return { log, bundle: log.prove('run-1', { between: 2, ...options }) };
}

const completed = (options: ProveOptions = {}, prepare: (log: ProofLog) => void = () => {}): Bundle => {
  const { log, bundle } = proved(options, prepare);
  return complete(log, bundle);
};

const entriesOf = (bundle: Bundle): readonly MapEntry[] => bundle.completeness!.entries;

describe('a bundle with the index of the log', () => {
  it('a bundle with an index proves that no event of the run is missing', () => {
    const bundle = completed();
    expect(bundle.mediaType).toBe('application/vnd.gov.proof.v2+json');
    const verdict = verify(bundle);
    expect(verdict).toMatchObject({ verified: true, code: null });
    expect(result(verdict, 'completeness')).toMatchObject({
      result: 'passed',
      detail: 'exactly 8 events below leaf 11',
    });
  });

  it('a bundle with an index shows the lists of all three layers, also when two are empty', () => {
    const bundle = completed({ ...three, events: 'none', graph: false });
    expect(entriesOf(bundle).map(({ key }) => key[1])).toEqual([
      'run-1',
      'gov.evaluation/1',
      'gov.decision/1',
    ]);
    expect(result(verify(bundle), 'completeness').result).toBe('passed');
  });

  it('a bundle without an index verifies and says that it does not show completeness', () => {
    const verdict = verify(sample());
    expect(verdict.verified).toBe(true);
    expect(result(verdict, 'completeness')).toEqual({
      id: 'completeness',
      result: 'not_checked',
      detail: 'the bundle does not show whether events are missing',
    });
  });

  it('an older proof of a run with later events is complete and says so', () => {
    const { log, bundle } = proved({ ...three, events: 'none', graph: false });
    for (let more = 0; more < 3; more++) log.record({ runId: 'run-1' });
    log.append(draftLeaf('gov.evaluation/1', { id: 'later' }, { runId: 'run-1' }));
    const verdict = verify(complete(log, bundle));
    expect(failures(verdict)).not.toContain('completeness: RUN_INCOMPLETE');
    expect(result(verdict, 'completeness').result).toBe('passed');
    expect(verdict.notes.join('\n')).toContain('RUN_WENT_ON: 3 events of the run were recorded later');
  });

  it('a bundle with an index shows no completeness without the key of the log', () => {
    const verdict = verify(completed(), null);
    expect(result(verdict, 'completeness').result).toBe('not_checked');
  });
});

describe('events that are missing in the tables', () => {
  /** The last events of the run stand in the tree, but not in the tables, from which the proof is made. */
  const cut = (count: number): { log: ProofLog; bundle: Bundle } => {
    const log = new ProofLog();
    const events = recordSampleRun(log);
    for (const { index } of events.slice(events.length - count)) log.lost.add(index);
    return { log, bundle: log.prove('run-1', { between: 2 }) };
  };

  it.each([1, 3, 7])('a verifier detects offline that %i events are missing', (count) => {
    const { log, bundle } = cut(count);
    expect(verify(bundle).verified).toBe(true);
    const verdict = verify(complete(log, bundle));
    expect(verdict).toMatchObject({ verified: false, code: 'RUN_INCOMPLETE' });
    const { detail } = result(verdict, 'completeness');
    expect(detail).toContain(`the proof shows ${8 - count} events below leaf 11, but the log has more: 8`);
  });

  it('a verifier detects missing events when the growth of the list is omitted or forged', () => {
    const { log, bundle } = cut(2);
    const attacked = complete(log, bundle);
    const at = ['completeness', 'entries', 0, 'growth'];
    const { next } = entriesOf(attacked)[0]!.growth!;
    const late = log.leaves.length - 1;
    const forged = [undefined, { next }, { consistency: [], next: { ...next, index: late } }];
    for (const growth of forged) expect(verify(changed(attacked, at, growth)).verified).toBe(false);
  });

  it('a verifier detects a hidden evaluation that would let a layer pass vacuously', () => {
    const bundle = completed({}, (log) => {
      log.append(draftLeaf('gov.evaluation/1', { id: 'hidden' }, { runId: 'run-1' }));
    });
    const verdict = verify(bundle);
    expect(verdict).toMatchObject({ verified: false, code: 'RUN_INCOMPLETE' });
    expect(result(verdict, 'completeness').detail).toContain('0 evaluations below leaf 12');
  });

  it('a verifier detects a foreign event in place of an event of the run', () => {
    const { log, bundle } = proved();
    const records = log.leaves.map(({ record }, at) =>
      at === 9 ? record.replace('"runId":"run-1"', '"runId":"run-2"') : record,
    );
    const map = new LogMap();
    records.forEach((record, at) => map.add(log.hashes[at]!.toString('latin1'), readMapped(record)));
    map.root();
    expect(verify(complete(log, bundle, map)).code).toBe('RUN_SHORTER_THAN_SHOWN');
  });
});

describe('a tampered index in a bundle', () => {
  const log = new ProofLog();
  recordSampleRun(log);
  const old = mapOf(log.leaves.slice(0, 4), log.hashes);
  const layers = ['event_integrity', 'policy_compliance'];
  const first = log.prove('run-1', { layers, events: 'none', graph: false });
  const bundle = complete(log, first);
  const [run, evaluations] = entriesOf(bundle) as [MapEntry, MapEntry];
  const value = (run.end as { value: object }).value;
  const entries = (list: readonly unknown[]) => changed(bundle, ['completeness', 'entries'], list);
  const index = (member: string, other: unknown) => changed(bundle, ['completeness', 'index', member], other);
  const own = bundle.completeness!.index;
  const cases: [string, Bundle, string][] = [
    ['an entry left out', entries([run]), 'INDEX_INVALID'],
    ['an entry too many', entries([run, evaluations, run]), 'INDEX_INVALID'],
    ['entries exchanged', entries([evaluations, run]), 'INDEX_INVALID'],
    ['the path of another key', entries([{ ...evaluations, key: run.key }, evaluations]), 'INDEX_INVALID'],
    [
      'another count',
      entries([{ ...run, end: { value: { ...value, n: 7 } } }, evaluations]),
      'INDEX_INVALID',
    ],
    ['a present run as absent', entries([{ ...run, end: null }, evaluations]), 'INDEX_INVALID'],
    ['a shorter path', entries([{ ...run, siblings: run.siblings.slice(1) }, evaluations]), 'INDEX_INVALID'],
    ['a longer path', entries([{ ...run, siblings: [...run.siblings, null] }, evaluations]), 'INDEX_INVALID'],
    ['an empty path', entries([{ ...run, siblings: [] }, evaluations]), 'INDEX_INVALID'],
    [
      'another root',
      index('record', own.record.replace(/"root":"sha256:.../, '"root":"sha256:fff')),
      'NOT_INCLUDED',
    ],
    ['a leaf of another type', index('record', bundle.proofLeaf.record), 'INDEX_INVALID'],
    ['a leaf elsewhere', index('index', own.index - 1), 'NOT_INCLUDED'],
    ['a path too short', index('inclusion', own.inclusion.slice(1)), 'NOT_INCLUDED'],
  ];

  it.each(cases)('a verifier detects a tampered index: %s', (_what, tampered, code) => {
    expect(verify(bundle).verified).toBe(true);
    const verdict = verify(tampered);
    expect(verdict.verified).toBe(false);
    expect(failures(verdict)).toContain(`completeness: ${code}`);
  });

  it('an index from before the proof is refused as too old, although it is valid', () => {
    expect(verify(complete(log, first, old)).code).toBe('INDEX_TOO_OLD');
  });

  it('an index that covers leaves beyond the log is refused', () => {
    const map = mapOf([...log.leaves, ...log.leaves.slice(3, 4)], [...log.hashes, log.hashes[3]!]);
    expect(failures(verify(complete(log, first, map)))).toContain('completeness: INDEX_INVALID');
  });

  it('a bundle with an unknown completeness member or another version is refused', () => {
    expect(verify(changed(bundle, ['completeness', 'more'], 1)).code).toBe('MALFORMED_BUNDLE');
    const older = changed(bundle, ['mediaType'], 'application/vnd.gov.proof.v1+json');
    expect(verify(older).code).toBe('MALFORMED_BUNDLE');
    const newer = changed(sample(), ['mediaType'], 'application/vnd.gov.proof.v2+json');
    expect(verify(newer).code).toBe('MALFORMED_BUNDLE');
  });

  it('a bundle with a flipped bit in its completeness part does not verify', { timeout: 120_000 }, () => {
    const bytes = bytesOf(bundle);
    const from = bytes.indexOf('"completeness"');
    const to = bytes.indexOf('"consistency":', bytes.indexOf('"index"', from) + 1);
    expect(to - from).toBeGreaterThan(1000);
    const survivors: number[] = [];
    for (let at = from; at < to; at++) {
      const was = bytes[at]!;
      bytes[at] = was ^ (1 << (at % 7));
      if (verifyBundle(bytes, trust).verified) survivors.push(at);
      bytes[at] = was;
    }
    expect(survivors).toEqual([]);
  });
});

describe('completeness of random logs', () => {
  /** Which of the run's events the tables lack, of those below S, and what happened after S. */
  const logs = fc.record({
    before: fc.array(fc.nat(3), { minLength: 1, maxLength: 20 }),
    lost: fc.array(fc.nat(20), { maxLength: 2 }),
    after: fc.array(fc.nat(3), { maxLength: 8 }),
  });

  it('exactly the runs with all events in the tables have complete proofs', { timeout: 60_000 }, () => {
    let refused = 0;
    fc.assert(
      fc.property(logs, ({ before, lost, after }) => {
        const log = new ProofLog();
        for (const run of before) log.record({ runId: `run-${run}` });
        const runId = `run-${before[0]}`;
        const events = log.run(runId);
        // the end of a run is lost: with a gap no layer holds anyway
        const kept = Math.max(1, events.length - lost.length);
        for (const { index } of events.slice(kept)) log.lost.add(index);
        const bundle = log.prove(runId, { events: 'none', graph: false, layers: ['event_integrity'] });
        log.lost.clear();
        for (const run of after) log.record({ runId: `run-${run}` });
        const verdict = verify(complete(log, bundle));
        expect(verdict.code).toBe(kept === events.length ? null : 'RUN_INCOMPLETE');
        if (!verdict.verified) refused++;
      }),
      { seed: 3, numRuns: 120 },
    );
    expect(refused).toBeGreaterThan(20);
  });
});
