import { describe, expect, it } from 'vitest';
import { table } from '../../src/contract/table.ts';
import { combine } from '../../src/service/combine.ts';
import { handlers } from '../../src/service/handlers.ts';

const handler = (): void => {};

describe('combine', () => {
  it('combine returns the handlers of all rooms', () => {
    const other = (): void => {};
    expect(combine({ events: { createEvent: handler }, jobs: { getJob: other, listJobs: handler } })).toEqual(
      {
        createEvent: handler,
        getJob: other,
        listJobs: handler,
      },
    );
  });

  it('combine rejects an operation that two rooms handle, and names both rooms', () => {
    expect(() =>
      combine({ events: { createEvent: handler }, proofs: { getProof: handler, createEvent: handler } }),
    ).toThrow('expected one handler of createEvent, got two: in events and in proofs');
  });

  it('combine does not compile when an operation has no handler', () => {
    interface Wanted {
      readonly getJob: () => void;
      readonly listJobs: () => void;
    }
    // @ts-expect-error -- listJobs has no handler
    const incomplete: Wanted = combine({ jobs: { getJob: handler } });
    expect(incomplete).toBeDefined();
  });

  it('the service has one handler for each operation of the table', () => {
    expect(Object.keys(handlers).toSorted()).toEqual(Object.keys(table).toSorted());
  });
});
