import { describe, expect, it } from 'vitest';
import { isWanted, type ForwardFilter } from '../../../src/core/forwards/filter.ts';
import { kinds } from './samples.ts';

const wanted = (filter: ForwardFilter): number[] =>
  kinds().flatMap((record, at) => (isWanted(record, filter) ? [at] : []));

describe('isWanted', () => {
  it.each<[string, ForwardFilter, number[]]>([
    ['no filter', {}, [0, 1, 2, 3, 4, 5, 6]],
    ['one event type', { eventTypes: ['tool.call'] }, [0, 1]],
    ['the start of an event type', { eventTypes: ['tool.*'] }, [0, 1, 2]],
    ['a leaf type', { eventTypes: ['gov.evaluation/1'] }, [3, 4]],
    ['decisions that refuse', { decisions: ['deny', 'block', 'denied'] }, [3, 5, 6]],
    ['type and decision', { eventTypes: ['gov.*'], decisions: ['allow'] }, [4]],
    ['a star alone', { eventTypes: ['*'] }, [0, 1, 2, 3, 4, 5, 6]],
  ])('a filter with %s lets only those records pass', (_, filter, expected) => {
    expect(wanted(filter)).toEqual(expected);
  });
});
