/** What rests on a failed check is not shown as passed. */
import { describe, expect, it } from 'vitest';
import { settled, type Prerequisites } from '../../../src/core/proofs/rests.ts';
import type { CheckResult } from '../../../src/core/proofs/verdict.ts';

type Id = 'signature' | 'tree' | 'events' | 'other';
const rests: Prerequisites<Id> = { tree: ['signature'], events: ['tree'] };
const of = (results: Partial<Record<Id, CheckResult['result']>>, code = 'SIGNATURE_INVALID') =>
  (['signature', 'tree', 'events', 'other'] as const).map((id): CheckResult<Id> => {
    const result = results[id] ?? 'passed';
    return { id, result, ...(result === 'failed' ? { code: code as 'SIGNATURE_INVALID' } : {}) };
  });
const resultsOf = (results: readonly CheckResult<Id>[]) =>
  settled(results, rests).map(({ result }) => result);

describe('the checks of a verdict', () => {
  it('stay as they are where none failed', () => {
    expect(resultsOf(of({}))).toEqual(['passed', 'passed', 'passed', 'passed']);
  });

  it('that rest on a failed check, at any depth, are not checked, and name it', () => {
    const shown = settled(of({ signature: 'failed' }), rests);
    expect(shown.map(({ result }) => result)).toEqual(['failed', 'not_checked', 'not_checked', 'passed']);
    expect(shown[2]?.detail).toBe('it rests on signature, which failed');
  });

  it('below a failed check keep their result, and a second failure stays one', () => {
    expect(resultsOf(of({ events: 'failed' }))).toEqual(['passed', 'passed', 'failed', 'passed']);
    expect(resultsOf(of({ signature: 'failed', events: 'failed' }))).toEqual([
      'failed',
      'not_checked',
      'failed',
      'passed',
    ]);
  });

  it('stay as they are where only a trusted key is missing', () => {
    expect(resultsOf(of({ signature: 'failed' }, 'NO_TRUSTED_KEY'))).toEqual([
      'failed',
      'passed',
      'passed',
      'passed',
    ]);
  });
});
