import { describe, expect, it } from 'vitest';
import { reconcile, type StoredEvent } from '../../../src/core/intake/reconcile.ts';
import type { ImportedRun } from '../../../src/core/intake/run.ts';
import { importValue } from './fits.ts';

const chat = (...texts: string[]) =>
  texts.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content }));
const one = (document: unknown, importedAt?: number): ImportedRun =>
  importValue(document, { sourceName: 'chat.json', ...(importedAt === undefined ? {} : { importedAt }) })[0]!;
const stored = (run: Pick<ImportedRun, 'events'>): StoredEvent[] =>
  run.events.map((event) => ({
    ...event,
    actor: event.actor as StoredEvent['actor'],
    resource: (event.resource as StoredEvent['resource']) ?? null,
    metadata: event.metadata ?? {},
    causedBy: event.causedBy ?? null,
    clientEventId: event.clientEventId ?? null,
  }));

describe('what a recording adds to its run', () => {
  it('is nothing if the run has it, also when another machine imported it at another time', () => {
    const found = reconcile(one(chat('a', 'b'), 5), stored(one(chat('a', 'b'), 7)));
    expect(found).toMatchObject({ completed: 0 });
    expect('events' in found && found.events.every((event) => event === null)).toBe(true);
  });

  it('is exactly what a session has grown by, in order', () => {
    const grown = one(chat('a', 'b', 'c', 'd'));
    const before = one(chat('a', 'b'));
    const found = reconcile(grown, stored(before));
    const fresh = 'events' in found ? found.events.filter((event) => event !== null) : [];
    expect(fresh).toEqual(grown.events.slice(before.events.length));
  });

  it('is refused with the first difference if the run says something else', () => {
    const [a, b] = [one(chat('a', 'b')), one(chat('a', 'x'))];
    expect(reconcile(b, stored(a))).toEqual({
      clientEventId: `${a.runId}:3`,
      pointer: '/metadata/content',
      stored: 'b',
      given: 'x',
    });
  });

  it('has every member, also one that is called like a method of all objects', () => {
    const trace = (metadata: object): Pick<ImportedRun, 'events' | 'mergeable'> => {
      const run = one(chat('a'));
      return {
        ...run,
        events: run.events.map((event) => ({ ...event, metadata: { ...event.metadata, ...metadata } })),
      };
    };
    const found = reconcile(trace({ constructor: 'b' }), stored(trace({})));
    const added = 'events' in found ? found.events.map((event) => event?.metadata?.['added']) : [];
    expect(added).toEqual([{ constructor: 'b' }, { constructor: 'b' }]);
  });

  it('never sends what was erased, and takes a redacted value for any', () => {
    const run = one(chat('a', 'b'));
    const erased = stored(run).map((event) => ({ ...event, metadata: {}, erased: [] }));
    expect(reconcile(run, erased)).toMatchObject({ completed: 0 });
    const redacted = stored(run).map((event) => ({
      ...event,
      metadata: {
        ...event.metadata,
        content: { redacted: true, fingerprint: 'hmac-sha256:00' },
        'gov.redacted': ['/metadata/content'],
      },
    }));
    expect(reconcile(one(chat('a', 'y')), redacted.slice(2))).toMatchObject({ completed: 0 });
  });
});

describe('a trace that is completed later', () => {
  const trace = (output: unknown, endTime: string | null) =>
    one({
      trace: { id: 't' },
      observations: [
        { id: 'g', type: 'GENERATION', name: 'm', startTime: '2026-01-05T09:00:00Z', endTime, output },
      ],
    });
  const before = trace(null, null);
  const after = trace('text', '2026-01-05T09:00:01Z');

  it('adds its outputs once, as an event that names what it completes', () => {
    const found = reconcile(after, stored(before));
    if (!('events' in found)) throw new Error('expected no difference');
    const fresh = found.events.filter((event) => event !== null);
    expect(fresh.map(({ eventType }) => eventType)).toEqual(['event.completed', 'run.ended']);
    expect(fresh[0]).toMatchObject({
      clientEventId: 't:g.completed',
      causedBy: ['t:g'],
      metadata: { completes: 't:g', completedType: 'model.invoked', added: { output: 'text' } },
    });
    const again = reconcile(after, [...stored(before), ...stored({ events: fresh })]);
    expect('events' in again && again.events.every((event) => event === null)).toBe(true);
  });
});
