import { describe, expect, it } from 'vitest';
import { reconcile, type StoredEvent } from '../../../src/core/intake/reconcile.ts';
import { digestOf } from '../../../src/core/json/digest.ts';
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

describe('the events that a recording adds to its run', () => {
  it('a recording adds nothing to a run that already has it, even from another machine and time', () => {
    const found = reconcile(one(chat('a', 'b'), 5), stored(one(chat('a', 'b'), 7)));
    expect(found).toMatchObject({ completed: 0 });
    expect('events' in found && found.events.every((event) => event === null)).toBe(true);
  });

  it('a prompt that another source recorded as often with the same text is an observation', () => {
    const of = (content: string): StoredEvent => ({
      ...stored(one(chat(content)))[0]!,
      eventType: 'prompt.submitted',
      metadata: { recordedBy: 'hook', content },
      clientEventId: null,
    });
    const types = (known: StoredEvent[]) => {
      const found = reconcile(one(chat('a', 'x', 'a', 'y', 'b')), known);
      return 'events' in found
        ? found.events.flatMap((event) => (/prompt/.test(event?.eventType ?? '') ? [event?.eventType] : []))
        : found;
    };
    const [prompt, observed] = ['prompt.submitted', 'x.prompt.observed'];
    expect(types([of('a')])).toEqual([observed, prompt, prompt]);
    expect(types([of('a'), of('a')])).toEqual([observed, observed, prompt]);
    expect(types([of('c')])).toEqual([prompt, prompt, prompt]);
  });

  it('a prompt that is the only part of a list has the words that a hook has', () => {
    const line = (type: string, payload: object) => ({ timestamp: '2026-01-05T09:00:00Z', type, payload });
    const said = (...texts: string[]) => ({
      type: 'message',
      role: 'user',
      content: texts.map((text) => ({ type: 'input_text', text })),
    });
    const codex = [
      line('session_meta', { id: 's' }),
      line('response_item', said('a')),
      line('response_item', said('a', 'b')),
    ];
    const hook: StoredEvent = {
      ...stored(one(chat('a')))[0]!,
      eventType: 'prompt.submitted',
      metadata: { recordedBy: 'hook', content: digestOf('a') },
      clientEventId: null,
    };
    const found = reconcile(one(codex), [hook]);
    const types = 'events' in found ? found.events.map((event) => event?.eventType) : [];
    expect(types.slice(1)).toEqual(['x.prompt.observed', 'prompt.submitted']);
  });

  it('a call of a model that telemetry recorded under the id of its answer or its request is an observation', () => {
    const said = (n: number) => ({
      type: 'assistant',
      sessionId: 's',
      uuid: `u${n}`,
      timestamp: '2026-01-05T09:00:00Z',
      requestId: `req_${n}`,
      message: {
        id: `msg_${n}`,
        role: 'assistant',
        model: 'm',
        stop_reason: 'tool_use',
        content: [
          { type: 'text', text: `look ${n}` },
          { type: 'tool_use', id: `t${n}`, name: 'Bash', input: {} },
        ],
      },
    });
    const [first] = stored(one([said(1)]));
    const telemetry = (otel: Record<string, unknown>): StoredEvent => ({
      ...first!,
      eventType: 'model.invoked',
      metadata: { importer: 'otlp', signal: 'log', record: 'claude_code.api_request', otel },
      clientEventId: null,
    });
    const session = one([1, 2, 3].map(said));
    const known = [telemetry({ request_id: 'req_1' }), telemetry({ 'gen_ai.response.id': 'msg_3' })];
    const found = reconcile(session, known);
    const models =
      'events' in found ? found.events.filter((event) => /model/.test(event?.eventType ?? '')) : [];
    expect(models.map((event) => event?.eventType)).toEqual([
      'x.model.observed',
      'model.invoked',
      'x.model.observed',
    ]);
    // telemetry does not say what the model said beside its calls
    expect(models[0]).toMatchObject({
      action: 'observe',
      metadata: {
        observed: 'model.invoked',
        model: 'm',
        content: [{ text: 'look 1' }],
        extra: { messageId: 'msg_1' },
      },
    });
    expect(models[0]?.resource).toBeUndefined();
    const added = 'events' in found ? found.events.filter((each) => each !== null) : [];
    const again = reconcile(session, [...known, ...stored({ events: added })]);
    expect('events' in again && again.events.every((event) => event === null)).toBe(true);
  });

  it('a prompt of which telemetry kept no text is known by its number', () => {
    const withheld: StoredEvent = {
      ...stored(one(chat('a')))[0]!,
      eventType: 'prompt.submitted',
      metadata: { importer: 'otlp', signal: 'log', record: 'claude_code.user_prompt' },
      clientEventId: null,
    };
    const found = reconcile(one(chat('a', 'x', 'b')), [withheld]);
    const types = 'events' in found ? found.events.map((event) => event?.eventType) : [];
    expect(types.filter((type) => type?.includes('prompt'))).toEqual([
      'x.prompt.observed',
      'prompt.submitted',
    ]);
  });

  it('a recording adds exactly the new events of a longer session, in order', () => {
    const grown = one(chat('a', 'b', 'c', 'd'));
    const before = one(chat('a', 'b'));
    const found = reconcile(grown, stored(before));
    const fresh = 'events' in found ? found.events.filter((event) => event !== null) : [];
    expect(fresh).toEqual(grown.events.slice(before.events.length));
  });

  it('a trace whose earlier observations come late corrects the call that was guessed', () => {
    const at = (second: number) => `2026-01-05T09:00:0${second}Z`;
    const call = (id: string, amount: number) => ({
      id,
      function: { name: 'pay', arguments: JSON.stringify({ amount }) },
    });
    const model = {
      id: 'g',
      type: 'GENERATION',
      startTime: at(1),
      output: { tool_calls: [call('c1', 5), call('c2', 6)] },
    };
    const tool = (id: string, second: number, input: object) => ({
      id,
      type: 'TOOL',
      name: 'pay',
      startTime: at(second),
      endTime: at(second),
      input,
      output: 'paid',
    });
    const trace = (...observations: object[]) => one({ trace: { id: 't', timestamp: at(0) }, observations });
    const late = [model, tool('a', 2, { amount: 5 }), tool('b', 3, {})];
    // without the model, and without the tool whose arguments the call has
    for (const before of [late.slice(1), [model, late[2]!]]) {
      const found = reconcile(trace(...late), stored(trace(...before)));
      const added =
        'events' in found ? found.events.flatMap((event) => event?.metadata?.['added'] ?? []) : [found];
      expect(added).toContainEqual({ toolCallId: 'c2', matchedBy: 'name' });
    }
  });

  it('a trace whose later observation shows that a guess was right says so, and is not refused', () => {
    const at = (second: number) => `2026-01-05T09:00:0${second}Z`;
    const calls = [5, 6].map((amount) => ({
      id: `c${amount}`,
      function: { name: 'pay', arguments: JSON.stringify({ amount }) },
    }));
    const model = { id: 'g', type: 'GENERATION', startTime: at(1), output: { tool_calls: calls } };
    const tool = (id: string, second: number, input: object) => ({
      id,
      type: 'TOOL',
      name: 'pay',
      startTime: at(second),
      endTime: at(second),
      level: 'DEFAULT',
      input,
      output: 'paid',
    });
    const trace = (...observations: object[]) => one({ trace: { id: 't', timestamp: at(0) }, observations });
    const [guess, other] = [tool('b', 3, {}), tool('a', 2, { amount: 6 })];
    const found = reconcile(trace(model, other, guess), stored(trace(model, guess)));
    const added =
      'events' in found ? found.events.flatMap((event) => event?.metadata?.['added'] ?? []) : [found];
    expect(added).toEqual([{ matchedBy: 'name' }, { matchedBy: 'name', outcome: 'ok' }]);
  });

  it('a recording that contradicts its run is refused with the first difference', () => {
    const [a, b] = [one(chat('a', 'b')), one(chat('a', 'x'))];
    expect(reconcile(b, stored(a))).toEqual({
      clientEventId: `${a.runId}:3`,
      recordedBy: 'same',
      pointer: '/metadata/content',
      stored: 'b',
      given: 'x',
    });
  });

  it('a recording adds every new member, also one named like a method of all objects', () => {
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

  it('a recording never sends erased values, and matches redacted values', () => {
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

describe('a trace that completes later', () => {
  const trace = (output: unknown, endTime: string | null) =>
    one({
      trace: { id: 't' },
      observations: [
        { id: 'g', type: 'GENERATION', name: 'm', startTime: '2026-01-05T09:00:00Z', endTime, output },
      ],
    });
  const before = trace(null, null);
  const after = trace('text', '2026-01-05T09:00:01Z');

  it('a trace that completes later adds its outputs once, in an event that names the completed one', () => {
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

  it('a recording adds an observation where another source has its call, also when it is pushed again', () => {
    const session = [
      { role: 'user', content: 'pay' },
      {
        role: 'assistant',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'pay', arguments: '{"amount":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
    ];
    const run = one(session);
    const governed = run.events
      .filter(({ eventType }) => eventType === 'tool.call')
      .map(({ clientEventId: _id, ...event }) => ({
        ...event,
        metadata: { toolCallId: 'c1', evaluationId: 'pev_1' },
      }));
    const found = reconcile(run, stored({ events: governed }));
    const fresh = 'events' in found ? found.events.filter((event) => event !== null) : [];
    const types = fresh.map(({ eventType }) => eventType).filter((type) => /tool/.test(type));
    expect(types).toEqual(['x.tool.observed', 'tool.result']);
    expect(fresh.find(({ eventType }) => eventType === 'x.tool.observed')?.metadata).toMatchObject({
      observed: 'tool.call',
      tool: 'pay',
      arguments: { bytes: 12 },
    });
    const again = reconcile(run, stored({ events: [...governed, ...fresh] }));
    expect('events' in again && again.events.every((event) => event === null)).toBe(true);
  });

  it('a recording adds observations where a hook has refused its call, which did not run', () => {
    const run = one([
      { role: 'user', content: 'pay' },
      {
        role: 'assistant',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'pay', arguments: '{"amount":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'denied' },
    ]);
    const refused = {
      ...run.events[0]!,
      eventType: 'tool.denied',
      clientEventId: 'hook:c1',
      metadata: { toolCallId: 'c1', evaluationId: 'pev_1', recordedBy: 'hook' },
    };
    const found = reconcile(run, stored({ events: [refused] }));
    const fresh = 'events' in found ? found.events.filter((event) => event !== null) : [];
    const types = fresh.map(({ eventType }) => eventType).filter((type) => /tool/.test(type));
    expect(types).toEqual(['x.tool.observed', 'x.tool.observed']);
  });
});
