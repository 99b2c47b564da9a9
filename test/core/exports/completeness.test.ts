/** Exports that show that no row of their filters is missing, and forged ones that do not. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { readFilterAnswer, type FilterAnswer, type ListAnswer } from '../../../src/core/exports/answer.ts';
import type { Json, JsonObject } from '../../../src/core/json/parse.ts';
import { pathText } from '../../../src/core/proofs/bundle.ts';
import { draftLeaf } from '../../../src/core/events/record.ts';
import { ProofLog } from '../proofs/log.ts';
import { answerOf, selected, type Exported } from './answers.ts';
import { artifactOf, faults, verifyText, type Asked } from './log.ts';

/** Events of runs and types over three client days, which go back and forth, with other leaves between. */
function mixed(log = new ProofLog()): ProofLog {
  for (let at = 0; at < 24; at++) {
    if (at % 7 === 3) log.append(draftLeaf('gov.policy/1', { policyId: `p${at}` }));
    log.record({
      runId: ['run-0', 'run-1', 'later'][at % 3]!,
      eventType: at % 4 === 0 ? 'tool.call' : 'agent.step',
      timestamp: `2026-01-0${1 + ((at * 5) % 3)}T${String((at * 7) % 24).padStart(2, '0')}:30:00.250+00:00`,
    });
  }
  return log;
}

const filtersOf: readonly (readonly [string, JsonObject])[] = [
  ['all events', {}],
  ['a run', { runId: 'run-1' }],
  ['a run without events', { runId: 'nobody' }],
  ['a type', { eventType: 'tool.call' }],
  ['a type without events', { eventType: 'never' }],
  ['a period', { startTime: '2026-01-01T10:00:00Z', endTime: '2026-01-03T04:30:00.250Z' }],
  ['a whole day', { startTime: '2026-01-02T00:00:00Z', endTime: '2026-01-02T23:59:59.999Z' }],
  ['a period with a begin alone', { startTime: '2026-01-02T12:00:00+05:00' }],
  ['a period with an end alone', { endTime: '2026-01-02T12:00:00Z' }],
  ['a period without events', { startTime: '2027-01-01T00:00:00Z' }],
  ['a type in a period', { eventType: 'agent.step', startTime: '2026-01-02T10:00:00Z' }],
  ['a type in a run', { runId: 'later', eventType: 'tool.call' }],
  ['a period of a run', { runId: 'run-0', endTime: '2026-01-02T12:00:00Z' }],
  ['the system run', { runId: 'gov.system' }],
];
const complete = (filters: JsonObject, more: Partial<Asked> = {}, log = mixed()): string =>
  artifactOf(log, { filters, completed: (answer) => answer, later: 3, ...more });
const completeness = async (text: string) => {
  const verdict = await verifyText(text);
  const { result, code, detail } = verdict.checks.find(({ id }) => id === 'completeness')!;
  return { ...verdict, result, completenessCode: code, detail };
};

describe('an export with an answer of the index', () => {
  it.each(filtersOf)('an export of %s shows that no row is missing', async (_what, filters) => {
    const verdict = await completeness(complete(filters));
    expect(faults(verdict)).toEqual([]);
    const n = selected(mixed(), filters, 28).length;
    expect(verdict).toMatchObject({ verified: true, result: 'passed', manifest: { rowCount: n } });
    expect(verdict.detail).toBe(`${n} of ${n} rows below leaf 28`);
    expect(verdict.notes.filter((note) => note.startsWith('NOT PROVED'))).toEqual([]);
  });

  it(
    'an export with an answer of the index shows it for every log and filter',
    { timeout: 60_000 },
    async () => {
      const events = fc.array(fc.tuple(fc.nat(3), fc.nat(3), fc.nat(60)), { maxLength: 30 });
      const time = (hour: number): string => new Date(Date.UTC(2026, 0, 1, hour)).toISOString();
      const filters = fc.record(
        {
          runId: fc.nat(3).map((run) => `run-${run}`),
          eventType: fc.nat(3).map((type) => `type.${type}`),
          startTime: fc.nat(60).map(time),
          endTime: fc.nat(60).map(time),
        },
        { requiredKeys: [] },
      );
      await fc.assert(
        fc.asyncProperty(events, filters, fc.nat(6), async (made, asked, later) => {
          const log = new ProofLog();
          for (const [run, type, hour] of made)
            log.record({ runId: `run-${run}`, eventType: `type.${type}`, timestamp: time(hour) });
          const verdict = await completeness(complete(asked, { later }, log));
          expect([faults(verdict), verdict.result]).toEqual([[], 'passed']);
        }),
        { numRuns: 80, seed: 5 },
      );
    },
  );

  it.each(filtersOf.filter(([, filters]) => selected(mixed(), filters, 28).length > 0))(
    'an export of %s without one of its rows is refused, whatever it says of that row',
    async (_what, filters) => {
      const all = selected(mixed(), filters, 28);
      const whole = (log: ProofLog, exported: Exported) => answerOf(log, { ...exported, rows: all });
      for (const [at, index] of all.entries()) {
        const rows = all.toSpliced(at, 1);
        // as the honest answer, which the service gives for all rows
        const honest = await completeness(
          complete(filters, { rows, completed: (_, log, exported) => whole(log, exported) }),
        );
        expect([honest.verified, honest.result]).toEqual([false, 'failed']);
        // with the row among those that the filters exclude or that came later
        const excused = await completeness(complete(filters, { rows }));
        expect([excused.verified, excused.code]).toEqual([false, 'INDEX_INVALID']);
        expect(index).toBeLessThan(28);
      }
    },
  );

  it('an export without rows names the lists that have more, and how many', async () => {
    const all = selected(mixed(), {}, 28);
    const honest = (log: ProofLog, exported: Exported) => answerOf(log, { ...exported, rows: all });
    const verdict = await completeness(
      complete({}, { rows: all.slice(5), completed: (_, log, exported) => honest(log, exported) }),
    );
    expect(verdict).toMatchObject({ code: 'EXPORT_INCOMPLETE', verified: false });
    expect(verdict.detail).toBe(
      '2 of 6 events of type tool.call are missing; 3 of 21 events of type agent.step are missing',
    );
    const ofRun = await completeness(
      complete(
        { runId: 'run-1' },
        {
          rows: selected(mixed(), { runId: 'run-1' }, 28).slice(0, -1),
          completed: (answer) => ({ ...answer, lists: answer.lists.map(({ entry }) => ({ entry })) }),
        },
      ),
    );
    expect(ofRun).toMatchObject({
      code: 'EXPORT_INCOMPLETE',
      detail: '1 of 8 events of run run-1 are missing',
    });
  });

  it('an export shows nothing of completeness for filters that the index has no list of', async () => {
    const log = mixed();
    const { result, detail, verified } = await completeness(artifactOf(log, { resource: 'risk_decisions' }));
    expect([verified, result]).toEqual([true, 'not_checked']);
    expect(detail).toBe('not shown: the index of a log has no list of risk_decisions with these filters');
    const without = await completeness(complete({}, { completed: () => undefined }));
    expect([without.verified, without.detail]).toEqual([
      true,
      'not shown: the file has no answer of the index of the log',
    ]);
    expect(without.notes[0]).toMatch(/^NOT PROVED COMPLETE/);
  });

  it('an export of risk decisions of a run shows that no decision is missing', async () => {
    const log = mixed();
    const text = artifactOf(log, { resource: 'risk_decisions', filters: { runId: 'r' }, rows: [] });
    expect((await completeness(text)).detail).toBe(
      'not shown: the file has no answer of the index of the log',
    );
  });
});

type Forge = (answer: FilterAnswer, log: ProofLog, exported: Exported) => FilterAnswer;
const withList =
  (change: (list: ListAnswer) => ListAnswer, at = 0): Forge =>
  (answer) => ({ ...answer, lists: answer.lists.map((list, no) => (no === at ? change(list) : list)) });
const period = { startTime: '2026-01-01T10:00:00Z', endTime: '2026-01-03T04:30:00Z' };
const inRun = { runId: 'later', eventType: 'tool.call' };
const otherAnswer =
  (filters: JsonObject): Forge =>
  (_, log, exported) =>
    answerOf(log, { ...exported, filters });

describe('a forged answer of the index', () => {
  it.each<[string, JsonObject, Forge, string]>([
    ['for another run', { runId: 'run-1' }, otherAnswer({ runId: 'later' }), 'INDEX_INVALID'],
    ['for another type', { eventType: 'tool.call' }, otherAnswer({ eventType: 'never' }), 'INDEX_INVALID'],
    ['for all events', { eventType: 'tool.call' }, otherAnswer({}), 'INDEX_INVALID'],
    ['for a type in place of all', {}, otherAnswer({ eventType: 'tool.call' }), 'INDEX_INVALID'],
    ['for another period', period, otherAnswer({ startTime: '2026-01-02T00:00:00Z' }), 'INDEX_INVALID'],
    ['without a type', {}, (answer) => ({ ...answer, lists: answer.lists.slice(1) }), 'INDEX_INVALID'],
    [
      'without the name of a type',
      {},
      (answer) => ({
        ...answer,
        lists: answer.lists.slice(1),
        names: { ...answer.names!, items: answer.names!.items.slice(1) },
      }),
      'INDEX_INVALID',
    ],
    ['without names', {}, ({ index, lists }) => ({ index, lists }), 'INDEX_INVALID'],
    [
      'with names for a single list',
      { runId: 'run-1' },
      (answer, log, exported) => ({ ...answer, names: answerOf(log, { ...exported, filters: {} }).names! }),
      'INDEX_INVALID',
    ],
    ['without the items of later events', {}, withList(({ entry }) => ({ entry }), 2), 'EXPORT_INCOMPLETE'],
    [
      'without the items that the period excludes',
      period,
      withList(({ entry }) => ({ entry })),
      'EXPORT_INCOMPLETE',
    ],
    [
      'with an item twice',
      period,
      withList(({ entry, others }) => ({ entry, others: [others![0]!, ...others!] })),
      'INDEX_INVALID',
    ],
    [
      'with an item that is not in the list',
      period,
      withList(({ entry, others }) => ({ entry, others: [...others!, '900 1 1'] })),
      'EXPORT_DIFFERS',
    ],
    [
      'with another spelling of an item',
      period,
      withList(({ entry, others }) => ({ entry, others: others!.map((item) => `0${item}`) })),
      'INDEX_INVALID',
    ],
    [
      'with a changed time of an excluded event',
      period,
      withList(({ entry, others }) => ({ entry, others: others!.map((item) => item.replace(/\d$/, '7')) })),
      'EXPORT_DIFFERS',
    ],
    [
      'with records in place of places',
      period,
      withList(({ entry }) => ({ entry, records: [] })),
      'INDEX_INVALID',
    ],
    [
      'without the records that a run excludes',
      inRun,
      withList(({ entry }) => ({ entry })),
      'EXPORT_INCOMPLETE',
    ],
    [
      'with a record of another run',
      inRun,
      withList(({ entry, records }) => ({
        entry,
        records: records!.map((record) => record.replace('later', 'run-1')),
      })),
      'INDEX_INVALID',
    ],
    [
      'with a record that claims another type',
      inRun,
      withList(({ entry, records }) => ({
        entry,
        records: records!.map((record) => record.replace('agent.step', 'agent.stop')),
      })),
      'EXPORT_DIFFERS',
    ],
    [
      'with records in another order',
      inRun,
      withList(({ entry, records }) => ({ entry, records: records!.toReversed() })),
      'INDEX_INVALID',
    ],
    [
      'with places in place of records',
      inRun,
      withList(({ entry }) => ({ entry, others: [] })),
      'INDEX_INVALID',
    ],
    [
      'with another value of the map',
      { eventType: 'tool.call' },
      withList(({ entry, ...rest }) => {
        const { value } = entry.end as { value: { n: number } };
        return { ...rest, entry: { ...entry, end: { value: { ...value, n: value.n - 1 } as never } } };
      }),
      'INDEX_INVALID',
    ],
    [
      'with a proof that the run is absent',
      { runId: 'run-1' },
      (answer, log, exported) => {
        const [absent] = answerOf(log, { ...exported, filters: { runId: 'nobody' } }).lists;
        return { ...answer, lists: [{ entry: { ...absent!.entry, key: ['run', 'run-1'] } }] };
      },
      'INDEX_INVALID',
    ],
    [
      'with another leaf as index leaf',
      {},
      (answer, log) => ({
        ...answer,
        index: {
          index: 1,
          record: log.leaves[1]!.record,
          inclusion: pathText(log.path(1, log.leaves.length)),
        },
      }),
      'INDEX_INVALID',
    ],
    [
      'with an index leaf that is not in the log',
      {},
      (answer) => ({
        ...answer,
        index: { ...answer.index, record: answer.index.record.replace('keys":1', 'keys":2') },
      }),
      'NOT_INCLUDED',
    ],
    [
      'of another project with the same events',
      { eventType: 'tool.call' },
      (_, _log, exported) => {
        const other = mixed();
        other.record({ runId: 'gov.system', eventType: 'export.created' });
        const text = complete({ eventType: 'tool.call' }, {}, other);
        const { proof } = JSON.parse(text) as { proof: { completeness: FilterAnswer } };
        expect(exported.treeSize).toBe(28);
        return proof.completeness;
      },
      'NOT_INCLUDED',
    ],
  ])('a forged answer of the index %s is refused', async (_what, filters, forge, code) => {
    const text = complete(filters, { completed: forge });
    const verdict = await completeness(text);
    expect([verdict.verified, verdict.result, verdict.completenessCode]).toEqual([false, 'failed', code]);
  });

  it('an answer by an index leaf that covers fewer leaves than the rows come from is refused', async () => {
    expect((await completeness(complete({}, { indexSize: 28 }))).verified).toBe(true);
    const old = await completeness(complete({}, { indexSize: 27 }));
    expect([old.verified, old.code]).toEqual([false, 'INDEX_TOO_OLD']);
  });

  it('an answer by the older map function serves runs, and is refused for types and periods', async () => {
    const fn = 'gov.mapfn/1';
    expect((await completeness(complete({ runId: 'run-1' }, { fn }))).result).toBe('passed');
    expect((await completeness(complete({ eventType: 'tool.call' }, { fn }))).code).toBe('INDEX_INVALID');
  });

  it('an answer is read with as many lists and items as the limits allow, and not with one more', () => {
    const log = mixed();
    const text = artifactOf(log, { completed: (answer) => answer });
    const { proof } = JSON.parse(text) as { proof: { completeness: FilterAnswer } };
    const { index, lists } = proof.completeness;
    const [list] = lists;
    const many = (n: number) => ({ index, lists: Array.from({ length: n }, () => list) });
    const long = (n: number) => ({ index, lists: [{ ...list, others: Array<string>(n).fill('1') }] });
    for (const [made, most] of [
      [many, limits.exportLists],
      [long, limits.exportOthers],
    ] as const) {
      expect(readFilterAnswer(made(most) as unknown as Json).lists.length).toBeGreaterThan(0);
      expect(() => readFilterAnswer(made(most + 1) as unknown as Json)).toThrow(`at most ${most} items`);
    }
  });

  it('an answer with a changed byte is refused, or still says the truth', { timeout: 60_000 }, async () => {
    for (const filters of [period, inRun]) {
      const text = complete(filters);
      const from = text.indexOf('"completeness":');
      for (let at = from; at < text.length - 3; at += 3) {
        const changed = Buffer.from(text);
        changed[at] = changed[at]! ^ (1 << (at % 7));
        expect((await verifyText(changed)).verified, text.slice(at - 20, at + 20)).toBe(false);
      }
    }
  });
});
