/** Answers about a log: what they say agrees with the log, and nothing else verifies. */
import { describe, expect, it } from 'vitest';
import { type Answer, answerText, verifyAnswer } from '../../../src/core/proofs/answer.ts';
import { parseVerifierKey } from '../../../src/core/note/signed.ts';
import { appendIndex, mapOf } from '../completeness/indexed.ts';
import { indexed, timeOf, itemsOf, countIn, answer, text } from './asked.ts';
import { ProofLog, trust, witnessSigner } from './log.ts';

const verify = (given: Answer, by = trust) => verifyAnswer(Buffer.from(answerText(given)), by);
const keys = [
  ['run', 'run-0'],
  ['run', 'run-1'],
  ['type', 'tool.call'],
  ['type', 'never'],
  ['leaf', 'gov.genesis/1'],
];
const edges = [1, 2, 5, 6, 7, 12]
  .flatMap((at) => [timeOf(at) - 1, timeOf(at), timeOf(at) + 1])
  .filter((ms) => ms <= timeOf(12));

describe('an answer', () => {
  it.each(keys.map((key) => [key]))('an answer counts all items of %j below the index leaf', (key) => {
    expect(verify(answer(key))).toEqual({
      verified: true,
      code: null,
      detail: null,
      question: { key, since: null, until: null },
      count: itemsOf(key).length,
      below: 13,
      witnesses: 0,
      signatures: [{ keyId: expect.stringMatching(/^[0-9a-f]{8}$/), algorithm: 'ed25519' }],
      missingAlgorithms: [],
      completeness: {
        result: 'passed',
        strength: 'own_index',
        by: ['gov.local/prj_test/audit'],
        quorum: 0,
      },
      notes: [],
    });
  });

  it('an answer counts the items of a period, for each period around the events', () => {
    let checked = 0;
    for (const key of keys) {
      for (const since of [null, ...edges]) {
        for (const until of [null, ...edges]) {
          if (since !== null && until !== null && until < since) continue;
          const period = { since, until };
          const { verified, count } = verify(answer(key, period));
          expect([verified, count], JSON.stringify({ key, period })).toEqual([true, countIn(key, period)]);
          checked++;
        }
      }
    }
    expect(checked).toBeGreaterThan(500);
  });

  it('an absent key that no map has is no answer, although its absence verifies', () => {
    const older = indexed('gov.mapfn/1');
    const refused: [readonly string[], typeof older?][] = [
      [['day', '2026-01-05'], older],
      [['days'], older],
      [['leaf', 'gov.event/1']],
      [['of', 'gov.evaluation/1']],
      [['run']],
      [['run', 'run-9', 'x']],
      [['runs', 'run-0']],
      [['tool', 'shell']],
      [['run\0run-0']],
      [['toString', 'x']],
    ];
    expect(verify(answer(['run\\0run-0'])).verified).toBe(false);
    for (const [key, of] of refused)
      expect([key, verify(answer(key, {}, {}, of))]).toMatchObject([
        key,
        {
          verified: false,
          code: expect.stringMatching(/^(?:ANSWER_INVALID|MALFORMED_BUNDLE)$/),
          count: null,
        },
      ]);
    for (const key of [['day', '2020-01-05'], ['of', 'gov.evaluation/1', 'run-0'], ['runs']])
      expect([key, verify(answer(key)).verified]).toEqual([key, true]);
  });

  it('an answer by an index leaf of the older map function verifies, in all and for a period', () => {
    const older = indexed('gov.mapfn/1');
    const period = { since: timeOf(3), until: timeOf(9) };
    for (const key of keys) {
      expect(verify(answer(key, {}, {}, older)).count).toBe(itemsOf(key).length);
      expect(verify(answer(key, period, {}, older)).count).toBe(countIn(key, period));
    }
    const mixed = { ...answer(['type', 'tool.call'], period, {}, older) };
    const { range } = answer(['type', 'tool.call'], period);
    expect(verify({ ...mixed, ...(range && { range }) }).code).toBe('ANSWER_INVALID');
  });

  it('an answer is refused when its range does not match the times of its items', () => {
    let refused = 0;
    for (const key of [
      ['run', 'run-0'],
      ['type', 'tool.call'],
    ]) {
      const n = itemsOf(key).length;
      for (const since of edges.slice(2, 9)) {
        const period = { since, until: timeOf(11) };
        const honest = answer(key, period).range!;
        for (let from = 0; from <= n; from++) {
          for (let to = from; to <= n; to++) {
            const isHonest = to - from === honest.to - honest.from && from === honest.from;
            const { verified } = verify(answer(key, period, { from, to }));
            // an empty range has no place of its own
            if (verified) expect(isHonest || to - from === countIn(key, period)).toBe(true);
            else refused++;
          }
        }
      }
    }
    expect(refused).toBeGreaterThan(200);
  });

  it('an answer covers no time after the newest event unless its leaf directly follows that event', () => {
    const until = timeOf(12) + 1;
    expect(verify(answer(['type', 'never'], { until })).code).toBe('PERIOD_NOT_COVERED');
    const later = new ProofLog();
    later.record({ runId: 'r' });
    const own = mapOf(later.leaves, later.hashes);
    expect(appendIndex(later, own)).toBe(own.size);
    const atMs = own.ms;
    expect(verify(answer(['type', 'never'], { until: atMs })).verified).toBe(true);
  });

  it('an answer is refused without trusted key, with another key, or without the asked witnesses', () => {
    const given = answer(['run', 'run-0']);
    expect(verifyAnswer(Buffer.from(answerText(given)), null).code).toBe('NO_TRUSTED_KEY');
    expect(verify({ ...given, checkpoint: given.checkpoint.replace('audit\n14', 'audit\n13') }).code).toBe(
      'SIGNATURE_INVALID',
    );
    const witnesses = [parseVerifierKey(witnessSigner.verifierKey)];
    expect(verify(given, { ...trust, witnesses, quorum: 1 }).code).toBe('WITNESS_QUORUM_NOT_MET');
  });

  const whole = answer(['run', 'run-0'], { since: timeOf(3), until: timeOf(9) });
  const { range } = whole;
  it.each<[string, unknown, string]>([
    ['of another key', { ...whole, entry: answer(['run', 'run-1']).entry }, 'ANSWER_INVALID'],
    [
      'about another run',
      { ...whole, question: { ...whole.question, key: ['run', 'run-1'] } },
      'ANSWER_INVALID',
    ],
    [
      'for another period',
      { ...whole, question: { ...whole.question, since: text(timeOf(7)) } },
      'ANSWER_INVALID',
    ],
    [
      'with a time in another form',
      { ...whole, question: { ...whole.question, since: 'monday' } },
      'ANSWER_INVALID',
    ],
    ['without its range', { ...whole, range: undefined }, 'ANSWER_INVALID'],
    ['with a range for no period', { ...answer(['run', 'run-0']), range }, 'ANSWER_INVALID'],
    [
      'without an item',
      { ...whole, range: { ...range, items: range!.items.slice(0, -1) } },
      'ANSWER_INVALID',
    ],
    ['with a later end of its range', { ...whole, range: { ...range, to: 6 } }, 'ANSWER_INVALID'],
    ['with another index leaf', { ...whole, index: { ...whole.index, index: 1 } }, 'NOT_INCLUDED'],
    ['with an unknown member', { ...whole, more: 1 }, 'MALFORMED_BUNDLE'],
    ['of another version', { ...whole, mediaType: 'application/vnd.gov.answer.v2+json' }, 'MALFORMED_BUNDLE'],
  ])('an answer %s is refused', (_what, given, code) => {
    expect(verify(whole).verified).toBe(true);
    const verdict = verifyAnswer(Buffer.from(JSON.stringify(given)), trust);
    expect([verdict.verified, verdict.code, verdict.count]).toEqual([false, code, null]);
  });

  it(
    'an answer with a flipped bit does not verify with another count or question',
    { timeout: 60_000 },
    () => {
      const bytes = Buffer.from(answerText(whole));
      const survivors: number[] = [];
      for (let at = 0; at < bytes.length; at++) {
        const was = bytes[at]!;
        bytes[at] = was ^ (1 << (at % 7));
        const { verified, count, question } = verifyAnswer(bytes, trust);
        const same = JSON.stringify(question) === JSON.stringify(whole.question);
        if (verified && !(same && count === 3)) survivors.push(at);
        bytes[at] = was;
      }
      // another bound between the same two events is another question, whose answer is true
      const asked = survivors.filter(
        (at) => !/"(since|until)":"[^"]*$/.test(bytes.toString('utf8', Math.max(0, at - 35), at)),
      );
      expect(asked.map((at) => bytes.toString('utf8', at - 20, at + 20))).toEqual([]);
    },
  );
});
