/** The rule that decides what a check of a report says. */
import { describe, expect, it } from 'vitest';
import { checks, commonChecks } from '../../../../src/service/reports/checks/names.ts';
import { judged, renamed, settled, unanswered } from '../../../../src/service/reports/checks/verdict.ts';

const of = (examined: number, failed: number, missing: string | null = null) =>
  judged('a check', { examined, failed, detail: 'found', none: 'nothing', missing });

describe('the verdict of a check', () => {
  it('is NOT SHOWN with what is missing where nothing was examined, whatever else holds', () => {
    expect(of(0, 0)).toEqual({ name: 'a check', status: 'not_shown', detail: 'nothing' });
    expect(of(0, 0, 'two runs were not read.').status).toBe('not_shown');
  });

  it('is PASS only where at least one thing was examined and nothing is missing', () => {
    expect(of(1, 0)).toEqual({ name: 'a check', status: 'pass', detail: 'found' });
    expect(of(1, 0, 'two runs were not read.')).toEqual({
      name: 'a check',
      status: 'not_shown',
      detail: 'found two runs were not read.',
    });
  });

  it('is FAIL with the first failed thing, whatever is missing', () => {
    expect(of(1, 1).status).toBe('fail');
    expect(of(9, 1, 'two runs were not read.').status).toBe('fail');
  });

  it('refuses more failed things than examined ones, and numbers that are no counts', () => {
    for (const [examined, failed] of [
      [0, 1],
      [1, 2],
      [1, -1],
      [Number.NaN, 0],
      [0.5, 0],
    ] as const)
      expect(() => of(examined, failed)).toThrow('a check: expected');
  });

  it('keeps its status under another name', () => {
    expect(renamed(of(2, 1), 'another').status).toBe('fail');
    expect(renamed(unanswered('over', 'why'), 'another')).toEqual({
      name: 'another',
      status: 'not_shown',
      detail: 'why',
    });
  });

  it('is not PASS where it rests on a failed check, and stays FAIL and NOT SHOWN there', () => {
    const statuses = (...all: readonly [name: string, failed: number][]) =>
      settled(
        all.map(([name, failed]) => judged(name, { examined: 1, failed, detail: 'found', none: '' })),
      ).map(({ status }) => status);
    expect(statuses([checks.runObeyed, 0], [checks.runProved, 0])).toEqual(['pass', 'pass']);
    expect(statuses([checks.runObeyed, 0], [checks.runProved, 1])).toEqual(['not_shown', 'fail']);
    expect(statuses([checks.runObeyed, 1], [checks.runProved, 1])).toEqual(['fail', 'fail']);
    expect(statuses([checks.hasReason, 0], [commonChecks.rowsFromLog, 1])).toEqual(['not_shown', 'fail']);
    expect(statuses([commonChecks.rowsFromLog, 0], [commonChecks.logSigned, 1])).toEqual([
      'not_shown',
      'fail',
    ]);
    expect(statuses([commonChecks.logSigned, 0], [commonChecks.rowsFromLog, 1])).toEqual(['pass', 'fail']);
    expect(statuses([checks.daysAddUp, 0], [checks.meterSigned, 1])).toEqual(['not_shown', 'fail']);
  });
});
