import { describe, expect, it } from 'vitest';
import { hasData } from '../../../paths.ts';
import {
  expectToFit,
  importFolder,
  importText,
  importValue,
  meta,
  ofType,
  readData,
  total,
  type Loose,
} from '../fits.ts';

describe.skipIf(!hasData)('importing τ-bench (skipped without the recorded runs)', () => {
  const files = importFolder('tau-bench', /json/);
  const runs = files.get('gpt-4o-airline.json') ?? [];
  const results: Loose[] = hasData ? JSON.parse(readData('tau-bench/gpt-4o-airline.json')) : [];

  it('the chat importer makes one valid run of each of the 200 τ-bench results', () => {
    expect(runs.length).toBe(200);
    expect(new Set(runs.map((run) => run.runId)).size).toBe(200);
    expect(runs[0]?.runId).toBe('tau-airline-0-0');
    expectToFit([...files.values()].flat());
  });

  it('the chat importer turns every message into its events', () => {
    expect(total(runs, (run) => run.items)).toBe(5308);
    expect(ofType(runs, 'snapshot.captured').length).toBe(200);
    expect(ofType(runs, 'prompt.submitted').length).toBe(1490);
    expect(ofType(runs, 'model.invoked').length).toBe(2454);
    expect(ofType(runs, 'tool.call').length).toBe(1164);
    expect(ofType(runs, 'tool.result').length).toBe(1164);
    expect(ofType(runs, 'output.delivered').length).toBe(2454 - 1164);
    for (const [index, run] of runs.entries()) expect(run.items).toBe(results[index].traj.length);
  });

  it('the chat importer keeps messages and calls word for word', () => {
    for (const [index, run] of runs.entries()) {
      const traj = results[index].traj;
      const said = run.events
        .map((event) => meta(event)['content'])
        .filter((content) => content !== undefined);
      const source = traj
        .map((message: Loose) => message.content)
        .filter((content: unknown) => content !== null);
      expect(said).toEqual(source);
      const called = run.events.filter((event) => event.eventType === 'tool.call');
      const calls = traj.flatMap((message: Loose) => message.tool_calls ?? []);
      expect(called.map((event) => (event.resource as { name: string }).name)).toEqual(
        calls.map((call: Loose) => call.function.name),
      );
      expect(called.map((event) => meta(event)['arguments'])).toEqual(
        calls.map((call: Loose) => JSON.parse(call.function.arguments)),
      );
    }
  });

  it('the chat importer marks the 73 results that begin with Error', () => {
    expect(ofType(runs, 'tool.result').filter((event) => meta(event)['outcome'] === 'error').length).toBe(73);
  });

  it('the chat importer gives repeated call ids unique ids in a run and joins their results', () => {
    expect(total(runs, (run) => run.changes.get('call_id_renamed') ?? 0)).toBe(73);
    for (const run of runs) {
      const calls = run.events.filter((event) => event.eventType === 'tool.call');
      const ids = calls.map((event) => meta(event)['toolCallId']);
      expect(new Set(ids).size).toBe(ids.length);
      const asked = run.events.flatMap((event) => meta(event)['toolCallIds'] ?? []);
      expect(asked).toEqual(ids);
      const answered = run.events.filter((event) => event.eventType === 'tool.result');
      expect(answered.map((event) => meta(event)['toolCallId'])).toEqual(ids);
    }
  });

  it('the chat importer keeps reward and ground truth with the end of the run', () => {
    for (const [index, run] of runs.entries()) {
      const ended = meta(run.events.at(-1));
      expect(run.events.at(-1)?.eventType).toBe('run.ended');
      expect(ended['reward']).toBe(results[index].reward);
      const { reward_info: verdict, task } = results[index].info;
      expect(ended['groundTruthActions']).toEqual(verdict?.actions ?? task.actions);
    }
  });

  it('the chat importer assigns ascending import times and states their source', () => {
    for (const run of runs) {
      const times = run.events.map((event) => event.timestamp);
      expect(times).toEqual(times.toSorted());
      expect(new Set(times).size).toBe(times.length);
      expect(run.events.every((event) => meta(event)['timestampSource'] === 'import')).toBe(true);
    }
  });

  it('the chat importer makes the same events again from the same file and time', () => {
    const again = importText(readData('tau-bench/gpt-4o-airline.json'), {
      sourceName: 'gpt-4o-airline.json',
    });
    expect(again).toEqual(runs);
  });

  it('the chat importer reads 19 few-shot displays, with one message for each role line', () => {
    const shown = files.get('MockAirlineDomainEnv-few_shot.jsonl') ?? [];
    expect(shown.length).toBe(19);
    expect(new Set(shown.map((run) => run.runId)).size).toBe(19);
    const lines = readData('tau-bench/MockAirlineDomainEnv-few_shot.jsonl')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).messages_display.match(/^(user|assistant|tool): /gm).length);
    expect(shown.map((run) => run.items)).toEqual(lines);
  });
});

describe('importing chat messages', () => {
  const messages = [
    { role: 'developer', content: 'be kind' },
    { role: 'user', content: 'weather?', name: 'ada' },
    {
      role: 'assistant',
      content: 'let me look',
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
        { id: 'b', type: 'function', function: { name: 'weather', arguments: '{"city":' } },
      ],
    },
    { role: 'tool', tool_call_id: 'b', content: 'Error: bad arguments' },
    { role: 'tool', tool_call_id: 'a', content: '-3' },
    { role: 'assistant', content: 'cold', refusal: null, annotations: ['x'] },
    { role: 'critic', content: 'fine' },
  ];

  it('the chat importer reads messages as a list, in an object, or in lines of either', () => {
    const one = importValue(messages, { sourceName: 'talk.json' });
    expect(one[0]?.runId).toMatch(/^talk-[0-9a-f]{8}$/);
    const wrapped = importValue({ messages, model: 'm-1' }, { sourceName: 'talk.json' });
    expect(meta(wrapped[0]?.events[0])['source']).toEqual({ model: 'm-1' });
    expect(ofType(wrapped, 'model.invoked')[0]?.resource).toEqual({ name: 'm-1', type: 'model' });
    const line = JSON.stringify(messages);
    const several = importText(`${line}\n\n${line}\n`, { sourceName: 'talk.jsonl' });
    expect(several.map((run) => run.runId)).toEqual([one[0]?.runId, `${one[0]?.runId}-2`]);
    const single = messages.map((message) => JSON.stringify(message)).join('\n');
    expect(importText(single, { sourceName: 'talk.jsonl' })[0]?.items).toBe(messages.length);
    expectToFit([...one, ...wrapped, ...several]);
  });

  it('the chat importer joins two calls of one message to their results in any order', () => {
    const [run] = importValue(messages);
    const [asking, reading] = ofType([run!], 'model.invoked');
    expect(meta(asking)).toMatchObject({ content: 'let me look', toolCallIds: ['a', 'b'] });
    expect(meta(reading)['toolResultIds']).toEqual(['b', 'a']);
    expect(ofType([run!], 'tool.call').map((event) => meta(event)['arguments'])).toEqual([
      { city: 'Oslo' },
      '{"city":',
    ]);
    expect(ofType([run!], 'tool.result').map((event) => meta(event)['outcome'])).toEqual([
      'error',
      'unknown',
    ]);
    const delivered = ofType([run!], 'output.delivered')[0];
    expect(delivered?.causedBy).toEqual([reading?.clientEventId]);
  });

  it('the chat importer keeps messages of unknown roles and members without a place', () => {
    const [run] = importValue(messages);
    expect(ofType([run!], 'x.unknown').map((event) => meta(event)['text'])).toEqual(['fine']);
    expect(run?.changes.get('unknown_part')).toBe(1);
    expect(meta(ofType([run!], 'model.invoked')[1])['extra']).toEqual({ annotations: ['x'] });
  });

  it('the chat importer joins function calls of the old form, which have no ids', () => {
    const [run] = importValue([
      { role: 'assistant', content: null, function_call: { name: 'add', arguments: '{"a":1}' } },
      { role: 'function', name: 'add', content: '2' },
    ]);
    const call = ofType([run!], 'tool.call')[0];
    expect(meta(call)['toolCallId']).toBe(meta(ofType([run!], 'tool.result')[0])['toolCallId']);
    expect(meta(ofType([run!], 'model.invoked')[0])['toolCallIds']).toEqual([meta(call)['toolCallId']]);
  });

  it('the chat importer keeps the times of messages that have one', () => {
    const [run] = importValue([
      { role: 'user', content: 'a', timestamp: '2025-01-02T03:04:05+01:00' },
      { role: 'assistant', content: 'b', created: 1_700_000_000 },
    ]);
    expect(run?.events[1]?.timestamp).toBe('2025-01-02T03:04:05+01:00');
    expect(run?.events[2]?.timestamp).toBe('2023-11-14T22:13:20.000Z');
    expect(run?.events.every((event) => meta(event)['timestampSource'] === 'source')).toBe(true);
  });

  it('the chat importer takes the run id of one run from --run, and a prefix for all runs', () => {
    expect(importValue(messages, { runId: 'my-run' })[0]?.events[0]?.clientEventId).toBe('my-run:0');
    expect(importValue(messages, { runPrefix: 'team-a' })[0]?.runId).toMatch(/^team-a-source-[0-9a-f]{8}$/);
    const long = importValue(messages, { runId: 'r'.repeat(128) });
    expectToFit(long);
    expect(() => importValue([{ messages }, { messages }], { runId: 'x' })).toThrow(/one run for --run/);
  });

  it('the chat importer assigns results of calls with one shared id in order', () => {
    const call = (name: string) => ({ id: 'call_0', type: 'function', function: { name, arguments: '{}' } });
    const [run] = importValue([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: null, tool_calls: [call('read'), call('write')] },
      { role: 'tool', tool_call_id: 'call_0', content: 'one' },
      { role: 'tool', tool_call_id: 'call_0', content: 'two' },
      { role: 'assistant', content: 'ok', tool_calls: [call('read')] },
      { role: 'tool', tool_call_id: 'call_0', content: 'three' },
    ]);
    expect(ofType([run!], 'tool.result').map((event) => [event.resource, meta(event)['toolCallId']])).toEqual(
      [
        [{ name: 'read', type: 'tool' }, 'call_0'],
        [{ name: 'write', type: 'tool' }, 'call_0~2'],
        [{ name: 'read', type: 'tool' }, 'call_0~3'],
      ],
    );
  });

  it('the chat importer marks a result without a matching call as ambiguous', () => {
    const [run] = importValue([
      { role: 'user', content: 'go' },
      { role: 'tool', content: 'one' },
    ]);
    const [result] = ofType([run!], 'tool.result');
    expect(meta(result)).toMatchObject({ importMarks: ['ambiguous'], content: 'one' });
    expect(meta(result)).not.toHaveProperty('toolCallId');
  });

  it.each([
    { role: 'assistant', content: null, refusal: 'I cannot help with that.' },
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'I cannot help with that.' }] },
  ])('the chat importer records a refusal as a refusal: %j', (message) => {
    const [run] = importValue([{ role: 'user', content: 'go' }, message]);
    const [refused] = ofType([run!], 'output.delivered');
    expect(refused).toMatchObject({
      action: 'refuse',
      metadata: { refusal: 'I cannot help with that.', outcome: 'refused' },
    });
    expect(meta(ofType([run!], 'model.invoked')[0])).not.toHaveProperty('toolCallsMissing');
  });

  it('the chat importer reads a chat completion, with or without its request, under its id', () => {
    const completion = {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_763_632_800,
      model: 'gpt-4o',
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'code', input: 'print(1)' } }],
          },
        },
      ],
      usage: { total_tokens: 7 },
    };
    const [alone] = importValue(completion);
    expect([alone?.runId, ofType([alone!], 'tool.call').map((event) => meta(event)['arguments'])]).toEqual([
      'chatcmpl-1',
      ['print(1)'],
    ]);
    expect(meta(ofType([alone!], 'model.invoked')[0])['usage']).toEqual({ total_tokens: 7 });
    const [both] = importValue({ messages: [{ role: 'user', content: 'go' }], response: completion });
    expect(both?.events.map(({ eventType }) => eventType)).toEqual([
      'run.started',
      'prompt.submitted',
      'model.invoked',
      'tool.call',
    ]);
    expectToFit([alone!, both!]);
  });

  it('the chat importer records calls in unexpected places or forms as unknown', () => {
    const call = { id: 'c', function: { name: 'pay', arguments: '{}' } };
    const asked = (message: object) => importValue([{ content: 'go', ...message }]);
    for (const [message, lost] of [
      [{ role: 'user', tool_calls: [call] }, call],
      [{ role: 'tool', function_call: call.function }, call.function],
      [{ role: 'assistant', tool_calls: call }, call],
      [{ role: 'assistant', tool_calls: [call, 'pay()'] }, 'pay()'],
      [{ role: 'assistant', function_call: 'pay()' }, 'pay()'],
    ] as const) {
      expect(ofType(asked(message), 'x.unknown').map((event) => meta(event)['value'])).toEqual([lost]);
    }
    expect(ofType(asked({ role: 'assistant', tool_calls: [call] }), 'x.unknown')).toEqual([]);
    expect(ofType(asked({ role: 'user', tool_calls: [] }), 'x.unknown')).toEqual([]);
  });

  it('the chat importer keeps an agent’s name, and an error that came instead of a completion', () => {
    const messages = [{ role: 'assistant', name: 'planner', content: 'hi' }];
    const [run] = importValue({ messages, response: { error: { code: 500 } } });
    expect(meta(ofType([run!], 'model.invoked')[0])['extra']).toEqual({ name: 'planner' });
    expect(meta(run!.events[0])['source']).toEqual({ response: { error: { code: 500 } } });
  });

  it('the chat importer never reads an unknown part as text', () => {
    const content = [
      { type: 'text', text: 'a' },
      { type: 'hologram', text: 'boo' },
    ];
    const [run] = importValue([{ role: 'user', content }]);
    expect(meta(ofType([run!], 'prompt.submitted')[0])['content']).toEqual([{ type: 'text', text: 'a' }]);
    expect(meta(ofType([run!], 'x.unknown')[0])).toMatchObject({ text: 'boo', importMarks: ['unknown'] });
  });
});
