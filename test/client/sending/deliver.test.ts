import { describe, expect, it } from 'vitest';
import { deliver } from '../../../src/client/sending/deliver.ts';
import type { Json } from '../../../src/core/json/parse.ts';
import { apiError, event, FakeService, numbers, unreachable } from '../../cli/push/service.ts';

const signal = new AbortController().signal;
const eight = numbers(8).map((n) => event(n));
const sequence = (service: FakeService): number[] =>
  service.recorded.map(({ metadata }) => (metadata as { n: number }).n);

describe('delivering a batch', () => {
  it('the delivery of a batch returns the verdicts in the order of the events', async () => {
    const service = new FakeService();
    const { results, duplicates } = await deliver(
      { key: 'k', events: [event(0), { no: 'run' }, event(1)] },
      { sink: service, signal, retries: 0 },
    );
    expect(results.map(({ status }) => status)).toEqual(['accepted', 'rejected', 'accepted']);
    expect(duplicates).toBe(0);
  });

  it('the delivery of a batch counts events of an earlier request with the same key as duplicates', async () => {
    const service = new FakeService();
    const options = { sink: service, signal, retries: 0 };
    const first = await deliver({ key: 'k', events: eight }, options);
    const second = await deliver({ key: 'k', events: eight }, options);
    expect(second).toEqual({ results: first.results, duplicates: 8, receipts: [] });
    expect(service.recorded.length).toBe(8);
  });

  it('the delivery of a batch retries a 500 under the same key, up to its limit', async () => {
    const service = new FakeService();
    service.before = (request) => {
      if (request <= 2) throw apiError('INTERNAL', 500);
    };
    await expect(deliver({ key: 'k', events: eight }, { sink: service, signal, retries: 1 })).rejects.toThrow(
      'INTERNAL',
    );
    await deliver({ key: 'k', events: eight }, { sink: service, signal, retries: 0 });
    expect(service.keys).toEqual(['k', 'k', 'k']);
  });

  it.each([
    ['PAYLOAD_TOO_LARGE', 413, 'event_too_large'],
    ['JSON_TOO_COMPLEX', 400, 'unsafe_json'],
    ['INVALID_JSON', 400, 'unsafe_json'],
    ['HTTP_413', 413, 'event_too_large'],
  ])(
    'the delivery finds the one event that makes a body %s, and records the others in order',
    async (code, status, reason) => {
      for (const poisoned of numbers(8)) {
        const service = new FakeService();
        service.before = (_request, events: readonly Json[]) => {
          if (events.includes(eight[poisoned]!)) throw apiError(code, status);
        };
        const { results } = await deliver({ key: 'k', events: eight }, { sink: service, signal, retries: 0 });
        expect(results[poisoned]).toMatchObject({
          status: 'rejected',
          reason: expect.stringMatching(`^${reason}: `),
        });
        expect(results.filter(({ status }) => status === 'accepted').length).toBe(7);
        expect(sequence(service)).toEqual(numbers(8).filter((n) => n !== poisoned));
        expect(new Set(service.keys).size).toBe(service.keys.length);
      }
    },
  );

  it.each([
    ['VALIDATION_ERROR', 400],
    ['INVALID_CREDENTIAL', 401],
    ['QUOTA_EXCEEDED', 429],
  ])('the delivery of a batch passes %s on unchanged', async (code, status) => {
    const service = new FakeService();
    service.before = () => {
      throw apiError(code, status);
    };
    await expect(
      deliver({ key: 'k', events: eight }, { sink: service, signal, retries: 3 }),
    ).rejects.toMatchObject({ code });
    expect(service.keys.length).toBe(1);
  });

  it('the delivery refuses a response with missing verdicts, and reports a lost connection', async () => {
    const short = { push: async () => ({ results: [], replayed: false }) };
    await expect(
      deliver({ key: 'k', events: eight }, { sink: short, signal, retries: 0 }),
    ).rejects.toMatchObject({
      code: 'INVALID_RESPONSE',
    });
    const service = new FakeService();
    service.before = () => {
      throw unreachable();
    };
    await expect(
      deliver({ key: 'k', events: eight }, { sink: service, signal, retries: 3 }),
    ).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    });
  });
});
