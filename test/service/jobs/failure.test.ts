import { expect, it } from 'vitest';
import { GovError } from '../../../src/contract/problems.ts';
import { errorSummary, knownError, retryAt } from '../../../src/service/jobs/failure.ts';

const attempts = (made: number) => ({ made, most: 3 });

it('a transient error is tried again until the attempts are used up, later each time', () => {
  const overloaded = new GovError('OVERLOADED', 'busy');
  const first = retryAt(overloaded, attempts(1), 0);
  const second = retryAt(overloaded, attempts(2), 0);
  expect(first).toBeGreaterThanOrEqual(1000);
  expect(first).toBeLessThanOrEqual(2000);
  expect(second).toBeGreaterThanOrEqual(2000);
  expect(second).toBeLessThanOrEqual(4000);
  expect(retryAt(overloaded, attempts(3), 0)).toBeNull();
});

it('a shutdown is tried again at once, and an error of the request never', () => {
  expect(retryAt(new GovError('SHUTTING_DOWN', 'ends'), attempts(3), 7)).toBe(7);
  expect(retryAt(new GovError('NOT_FOUND', 'no run'), attempts(1), 0)).toBeNull();
});

it('a summary keeps the detail of an unknown error for the log', () => {
  expect(errorSummary(knownError(new Error('password in a path')), 100)).toBe('INTERNAL: Internal error');
  expect(errorSummary(new GovError('NOT_FOUND', 'no run'), 12)).toBe('NOT_FOUND: n');
});
