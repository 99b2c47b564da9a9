import { describe, expect, it } from 'vitest';
import { modelCalls, modelNames, Sightings, wordsHash } from '../../../src/core/coverage/sightings.ts';
import { digestOf } from '../../../src/core/json/digest.ts';

type Report = Parameters<Sightings['add']>[0];

const model = (metadata: Record<string, unknown>): Report => ({ eventType: 'model.invoked', metadata });
const transcript = { timestampSource: 'source' };
const answer = (messageId: string, requestId = `req_${messageId}`) =>
  model({ ...transcript, extra: { messageId, requestId } });
const telemetry = (record: string, request: string) =>
  model({ importer: 'otlp', signal: 'log', record, otel: { request_id: request } });
const prompt = (content: unknown, by: object, actor: object = { role: 'user' }): Report => ({
  eventType: 'prompt.submitted',
  metadata: { content, ...by },
  actor,
});
const hook = { recordedBy: 'hook' };
const otlp = { importer: 'otlp', signal: 'log', record: 'user_prompt' };

/** Whether each report of a source is one that another source has, after these reports. */
function known(
  before: readonly Report[],
  source: 'otlp' | 'transcript',
  reports: readonly Report[],
): boolean[] {
  const [all, own] = [new Sightings(), new Sightings()];
  for (const report of before) all.add(report);
  return reports.map((report) => all.isOfOther(own.add(report).others, source));
}

describe('a call of a model', () => {
  it('has the ids of its answer and its request, wherever a source writes them', () => {
    expect(modelNames(answer('m1', 'r1'))).toEqual(['model m1', 'model r1']);
    const otel = { 'gen_ai.response.id': 'm1', request_id: 'r1', response_id: 'm1' };
    expect(modelNames(model({ otel }))).toEqual(['model m1', 'model r1']);
    expect(modelNames(model({ modelResponseId: 'm2' }))).toEqual(['model m2']);
    expect(
      modelNames({
        eventType: 'x.model.observed',
        metadata: { observed: 'model.invoked', modelResponseId: 'm2' },
      }),
    ).toEqual(['model m2']);
  });

  it('has no name without an id that is a text, and other events have none', () => {
    for (const extra of [undefined, null, 'm1', [], { messageId: 7, requestId: '' }])
      expect(modelNames(model({ extra, otel: extra }))).toEqual([]);
    expect(modelNames({ eventType: 'tool.call', metadata: { modelResponseId: 'm1' } })).toEqual([]);
    expect(known([model(transcript)], 'otlp', [telemetry('api_request', '')])).toEqual([false]);
  });

  it('is the one that another source reported under one of its ids', () => {
    expect(
      known(
        [answer('m1'), answer('m2')],
        'otlp',
        ['req_m1', 'req_m3'].map((id) => telemetry('a', id)),
      ),
    ).toEqual([true, false]);
    // a report of the same source is another call
    expect(known([answer('m1')], 'transcript', [answer('m1')])).toEqual([false]);
  });

  it('is the n-th of its id: some servers give one id to several answers', () => {
    const reports = Array.from({ length: 3 }, () => answer('m1'));
    expect(known([telemetry('a', 'm1'), telemetry('a', 'm1')], 'transcript', reports)).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('is one where telemetry has several kinds of records of it', () => {
    const records = [telemetry('a', 'm1'), telemetry('b', 'm1')];
    expect(known(records, 'transcript', [answer('m1'), answer('m1')])).toEqual([true, false]);
  });
});

describe('the calls of models of a run', () => {
  it('are counted once each, by all that report them', () => {
    const observed = (report: Report): Report => ({
      eventType: 'x.model.observed',
      metadata: { ...report.metadata, observed: report.eventType },
    });
    const events = [
      telemetry('a', 'req_m1'),
      observed(telemetry('b', 'req_m1')),
      observed(answer('m1')),
      // a program that records its own calls is never changed
      model({ modelResponseId: 'req_m1' }),
      answer('m2'),
      model(transcript),
      observed(model({ importer: 'otlp' })),
    ];
    expect(modelCalls(events)).toEqual({
      calls: 3,
      confirmed: 1,
      sources: [
        { source: 'direct', calls: 1 },
        { source: 'otlp', calls: 1 },
        { source: 'transcript', calls: 3 },
      ],
    });
    expect(modelCalls([])).toEqual({ calls: 0, confirmed: 0, sources: [] });
  });

  it('are without one of which a later span showed that it is a copy', () => {
    const span = (id: string) => ({ ...model({ importer: 'otlp', signal: 'span' }), clientEventId: id });
    const added = { readAs: 'x.model.observed' };
    const completed = (importer: string) => ({
      eventType: 'event.completed',
      metadata: { importer, completes: 'otlp:span.1', added },
    });
    const spans = [span('otlp:span.1'), span('otlp:span.2')];
    expect(modelCalls([...spans, completed('otlp')]).calls).toBe(1);
    expect(modelCalls([...spans, completed('other')]).calls).toBe(2);
  });
});

describe('a prompt', () => {
  it('has the same words as a text, as its hash and as the only part of a list', () => {
    const hash = wordsHash('go');
    expect([digestOf('go'), [{ type: 'input_text', text: 'go' }]].map(wordsHash)).toEqual([hash, hash]);
    expect([[{ text: 'go' }, { text: 'on' }], 'Go'].map((each) => wordsHash(each) === hash)).toEqual([
      false,
      false,
    ]);
    expect([undefined, null, '', 7].map(wordsHash)).toEqual([null, null, null, null]);
  });

  it('of which a source kept no text is known by its number', () => {
    const withheld = [prompt(undefined, otlp), prompt(undefined, otlp)];
    const given = ['a', 'b', 'c'].map((text) => prompt(text, transcript));
    expect(known(withheld, 'transcript', given)).toEqual([true, true, false]);
    expect(known([prompt(digestOf('a'), hook)], 'otlp', withheld)).toEqual([true, false]);
  });

  it('that an agent gave its subagent is known by its words alone', () => {
    const agent = { name: 'claude-code/a1', role: 'agent' };
    const given = [prompt('sum', transcript, agent), prompt('a', transcript)];
    expect(known([prompt(undefined, otlp)], 'transcript', given)).toEqual([false, true]);
    expect(known([prompt('sum', hook, agent)], 'transcript', given)).toEqual([true, false]);
    // any other program may name the agent as the actor
    expect(known([prompt('b', hook, agent)], 'otlp', [prompt(undefined, otlp)])).toEqual([true]);
  });
});

describe('what is kept of a run', () => {
  it('is the newest names, and the number of its prompts', () => {
    const sightings = new Sightings();
    sightings.add(prompt('a', hook));
    for (let n = 0; n < 10; n++) sightings.add(answer(`m${n}`, ''));
    sightings.trim(3);
    expect(['model m7', 'model m8', 'model m9'].map((name) => sightings.countOfOthers(name, 'otlp'))).toEqual(
      [0, 1, 1],
    );
    expect(sightings.promptsOfOthers(null, 'otlp')).toBe(1);
  });
});
