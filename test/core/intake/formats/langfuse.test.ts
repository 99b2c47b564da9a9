import { describe, expect, it } from 'vitest';
import { hasData } from '../../../paths.ts';
import {
  expectToFit,
  importFolder,
  importValue,
  meta,
  ofType,
  readData,
  total,
  type Loose,
} from '../fits.ts';

type Source = Record<string, Loose>;

describe.skipIf(!hasData)('importing Langfuse traces (skipped without the recorded runs)', () => {
  const folder = 'langfuse-framework-traces';
  const files = importFolder(folder, /trace\.json$/);
  const runs = [...files.values()].flat();
  const read = (name: string): { trace: Source; observations: Source[] } =>
    JSON.parse(readData(`${folder}/${name}`));

  it('the Langfuse importer makes one valid run of each of 20 files with 138 observations', () => {
    expect(runs.length).toBe(20);
    expect(total(runs, (run) => run.items)).toBe(138);
    expectToFit(runs);
    for (const [name, [run]] of files) expect(run?.runId).toBe(read(name).trace['id']);
  });

  it('the Langfuse importer gives each observation an event with its id, time and parent', () => {
    for (const [name, [run]] of files) {
      const events = new Map(run!.events.map((event) => [event.clientEventId, event]));
      for (const observation of read(name).observations) {
        const event = events.get(`${run!.runId}:${observation['id']}`);
        expect(event?.timestamp).toBe(observation['startTime']);
        expect(meta(event)['timestampSource']).toBe('source');
        const parentId = observation['parentObservationId'];
        const known = read(name).observations.some((other) => other['id'] === parentId);
        expect(meta(event)['parentEventId']).toBe(known ? `${run!.runId}:${parentId}` : undefined);
      }
    }
    expect(total(runs, (run) => run.changes.get('parent_unknown') ?? 0)).toBe(1);
  });

  it('the Langfuse importer makes the same run of one trace in two files with two orders', () => {
    const [first] = files.get('pydantic-ai-2025-06-06.trace.json') ?? [];
    const [second] = files.get('pydantic-ai-tools-2025-06-06.trace.json') ?? [];
    expect(second).toEqual(first);
    const distinct = new Set(runs.flatMap((run) => run.events.map((event) => event.clientEventId)));
    expect(distinct.size).toBe(runs.flatMap((run) => run.events).length - first!.events.length);
  });

  it('the Langfuse importer finds 42 model calls and 19 tool calls, 13 with an id from a model', () => {
    expect(ofType(runs, 'model.invoked').length).toBe(42);
    expect(ofType(runs, 'tool.call').length).toBe(19);
    expect(ofType(runs, 'tool.result').length).toBe(17);
    const linked = runs.map((run) => {
      const asked = new Set(run.events.flatMap((event) => meta(event)['toolCallIds'] ?? []));
      return ofType([run], 'tool.call').filter((event) => asked.has(meta(event)['toolCallId'])).length;
    });
    expect(linked.reduce((a, b) => a + b)).toBe(13);
  });

  it('the Langfuse importer puts causes before effects', () => {
    for (const run of runs) {
      const times = run.events.slice(1, -1).map((event) => Date.parse(event.timestamp));
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      const called = new Set<string>();
      for (const event of run.events) {
        for (const id of meta(event)['toolCallIds'] ?? []) expect(called.has(id)).toBe(false);
        if (event.eventType === 'tool.call') called.add(meta(event)['toolCallId']);
        if (event.eventType === 'tool.result') expect(called.has(meta(event)['toolCallId'])).toBe(true);
      }
    }
  });
});

const observation = (id: string, more: Source = {}): Source => ({
  id,
  traceId: 't',
  type: 'SPAN',
  name: id,
  startTime: '2026-01-01T00:00:00.000Z',
  endTime: '2026-01-01T00:00:01.500Z',
  parentObservationId: null,
  ...more,
});

describe('importing observations', () => {
  it('the Langfuse importer assigns a call to the innermost model when a wrapper repeats it', () => {
    const output = '[{"toolCallId":"c1","toolName":"f","input":"{}"}]';
    const [run] = importValue({
      trace: { id: 't' },
      observations: [
        observation('outer', { type: 'GENERATION', output }),
        observation('inner', { type: 'GENERATION', output, parentObservationId: 'outer' }),
      ],
    });
    const asking = ofType([run!], 'model.invoked').filter(
      (event) => meta(event)['toolCallIds'] !== undefined,
    );
    expect(asking.map((event) => event.clientEventId)).toEqual(['t:inner']);
  });

  it('the Langfuse importer reads a trace with its observations and handles cyclic parents', () => {
    const [run] = importValue({
      id: 't',
      observations: [
        observation('a', { parentObservationId: 'b' }),
        observation('b', { parentObservationId: 'a' }),
      ],
    });
    expect(run?.items).toBe(2);
    const parents = run!.events.map((event) => meta(event)['parentEventId']).filter(Boolean);
    expect(parents.length).toBe(1);
    expect(run?.changes.get('parent_unknown')).toBe(1);
  });

  it('the Langfuse importer computes durations from times, not from latency', () => {
    const [run] = importValue({ trace: { id: 't' }, observations: [observation('a', { latency: 1.5 })] });
    expect(meta(run?.events[1])).toMatchObject({ durationMs: 1500, endTime: '2026-01-01T00:00:01.500Z' });
  });

  const version = (more: Source) =>
    observation('o1', {
      type: 'TOOL',
      name: 'pay',
      input: { amount: 5 },
      endTime: null,
      output: null,
      ...more,
    });
  const newer = {
    endTime: '2026-01-01T00:00:03.000Z',
    output: { receipt: 'r-77' },
    updatedAt: '2026-01-01T00:00:03Z',
  };

  it('the Langfuse importer takes the newest version of an observation and reports that', () => {
    const older = { updatedAt: '2026-01-01T00:00:01Z' };
    for (const versions of [
      [older, newer],
      [newer, older],
    ]) {
      const [run] = importValue({ trace: { id: 't' }, observations: versions.map(version) });
      expect(ofType([run!], 'tool.call').length).toBe(1);
      expect(meta(ofType([run!], 'tool.result')[0])['content']).toEqual({ receipt: 'r-77' });
      expect(run?.changes.get('version_replaced')).toBe(1);
    }
  });

  it('the Langfuse importer numbers different observations with one id and keeps both', () => {
    const other = { ...newer, name: 'delete_account', input: { user: 'u1' } };
    const [run] = importValue({ trace: { id: 't' }, observations: [version({}), version(other)] });
    expect(
      ofType([run!], 'tool.call').map(({ clientEventId, resource }) => [clientEventId, resource]),
    ).toEqual([
      ['t:o1', { name: 'pay', type: 'tool' }],
      [expect.stringMatching(/^t:o1-2-[0-9a-f]{8}$/), { name: 'delete_account', type: 'tool' }],
    ]);
    expect(run?.changes.get('observation_numbered')).toBe(1);
  });

  const asking = observation('g', {
    type: 'GENERATION',
    startTime: '2025-12-31T23:59:59.000Z',
    output: {
      role: 'assistant',
      tool_calls: [5, 6].map((amount) => ({
        id: `c${amount}`,
        type: 'function',
        function: { name: 'pay', arguments: JSON.stringify({ amount }) },
      })),
    },
  });
  const reported = (more: Source) => {
    const [run] = importValue({ trace: { id: 't' }, observations: [asking, version({ ...newer, ...more })] });
    return [meta(ofType([run!], 'tool.call')[0]), meta(ofType([run!], 'tool.result')[0])];
  };

  it('the Langfuse importer records a failed tool without output as an error with its message', () => {
    const failed = { output: null, level: 'ERROR', statusMessage: 'timeout' };
    const [call, result] = reported(failed);
    expect(call).toMatchObject({ toolCallId: 'c5', matchedBy: 'arguments' });
    expect(result).toMatchObject({ toolCallId: 'c5', outcome: 'error', content: 'timeout' });
    const [open] = reported({ ...failed, endTime: null });
    expect(open).not.toHaveProperty('toolCallId');
  });

  it('the Langfuse importer records the end of a tool that returned nothing, and an exit code', () => {
    for (const output of ['', [], null]) {
      expect(reported({ output })[1]).toMatchObject({ outcome: 'unknown' });
      // a level that is none of an error says that it ended well
      expect(reported({ output, level: 'DEFAULT' })[1]).toMatchObject({ outcome: 'ok' });
    }
    for (const output of [{ exit_code: 1 }, 'Exit code 1'])
      expect(reported({ output })[1]).toMatchObject({ outcome: 'error' });
  });

  it('the Langfuse importer joins a tool to the call of its name, and no call twice', () => {
    const observations = [
      asking,
      ...[7, 8, 9].map((amount) => version({ ...newer, id: `t${amount}`, input: { amount } })),
    ];
    const [run] = importValue({ trace: { id: 't' }, observations });
    expect(
      ofType([run!], 'tool.call').map((event) => [meta(event)['toolCallId'], meta(event)['matchedBy']]),
    ).toEqual([
      ['c5', 'order'],
      ['c6', 'name'],
      ['import:t9', undefined],
    ]);
  });

  const ended = (calls: object[], inputs: readonly unknown[]) => {
    const models = calls.map((call, at) => ({
      ...asking,
      id: `g${at}`,
      startTime: `2025-12-31T23:59:5${at}.000Z`,
      output: call,
    }));
    const tools = inputs.map((input, at) =>
      version({ ...newer, id: `t${at}`, input, level: at === 0 ? 'ERROR' : 'DEFAULT' }),
    );
    const [run] = importValue({ trace: { id: 't' }, observations: [...models, ...tools] });
    return ofType([run!], 'tool.result').map((event) => {
      const { toolCallId, matchedBy, outcome, importMarks } = meta(event);
      return [toolCallId, matchedBy, outcome, ...(importMarks ?? [])];
    });
  };
  const pay = (...amounts: number[]) => ({
    tool_calls: amounts.map((amount, at) => ({
      id: `c${at}`,
      function: { name: 'pay', arguments: JSON.stringify({ amount }) },
    })),
  });

  it('the Langfuse importer does not know the outcome of calls that only the order of tools tells apart', () => {
    expect(ended([pay(5, 6)], [{}, {}])).toEqual([
      ['c0', 'order', 'unknown'],
      ['c1', 'name', 'unknown'],
    ]);
    expect(ended([pay(5, 5)], [{ amount: 5 }, { amount: 5 }])).toEqual([
      ['c0', 'order', 'unknown'],
      ['c1', 'name', 'unknown'],
    ]);
    expect(ended([pay(5, 6)], [{ amount: 6 }, {}])).toEqual([
      ['c1', 'arguments', 'error'],
      ['c0', 'name', 'ok'],
    ]);
  });

  it('the Langfuse importer gives no call to a tool whose call several answers may have asked for', () => {
    const later = { tool_calls: [{ id: 'd0', function: { name: 'pay', arguments: '{"amount":6}' } }] };
    expect(ended([pay(5), later], [{}])).toEqual([['import:t0', undefined, 'error', 'ambiguous']]);
    expect(ended([pay(5), later], [{ amount: 6 }])).toEqual([['d0', 'arguments', 'error']]);
  });

  it('the Langfuse importer leaves a tool the same call while another one of its name runs', () => {
    const callOf = (first: Source) => {
      const tools = [
        { ...first, startTime: '2026-01-01T00:00:00.100Z' },
        { startTime: '2026-01-01T00:00:00.200Z' },
      ];
      const observations = tools.map((more, at) => version({ ...newer, id: `t${at}`, input: 'x', ...more }));
      const [run] = importValue({ trace: { id: 't' }, observations: [asking, ...observations] });
      return meta(ofType([run!], 'tool.call')[1])['toolCallId'];
    };
    expect([callOf({ output: null, endTime: null }), callOf({})]).toEqual(['c6', 'c6']);
  });

  it('the Langfuse importer joins a tool by its arguments in any order of their members', () => {
    const asked = { ...asking, output: { tool_calls: [call('c1', 1, 2), call('c2', 2, 1)] } };
    function call(id: string, from: number, to: number) {
      return { id, function: { name: 'pay', arguments: JSON.stringify({ from, to }) } };
    }
    const tool = version({ ...newer, input: { to: 1, from: 2 } });
    const [run] = importValue({ trace: { id: 't' }, observations: [asked, tool] });
    expect(meta(ofType([run!], 'tool.call')[0])).toMatchObject({ toolCallId: 'c2', matchedBy: 'arguments' });
  });

  it('the Langfuse importer joins by arguments before it joins by order', () => {
    const tools = [{ amount: 'x' }, { amount: 5 }].map((input, at) =>
      version({ ...newer, id: `t${at}`, startTime: `2026-01-01T00:00:00.${at + 1}00Z`, input }),
    );
    const [run] = importValue({ trace: { id: 't' }, observations: [asking, ...tools] });
    expect(ofType([run!], 'tool.call').map((event) => meta(event)['toolCallId'])).toEqual(['c6', 'c5']);
  });

  it('the Langfuse importer reads calls and failed results of Bedrock', () => {
    const output = {
      message: { content: [{ toolUse: { toolUseId: 'b1', name: 'pay', input: { amount: 5 } } }] },
    };
    const failed = { toolResult: { toolUseId: 'b1', status: 'error', content: [{ text: 'no' }] } };
    const [run] = importValue({
      trace: { id: 't' },
      observations: [{ ...asking, output }, version({ ...newer, input: {}, output: failed })],
    });
    expect(meta(ofType([run!], 'model.invoked')[0])['toolCallIds']).toEqual(['b1']);
    expect(meta(ofType([run!], 'tool.result')[0])).toMatchObject({ toolCallId: 'b1', outcome: 'error' });
  });

  it('the Langfuse importer reads the status of a result of LangGraph', () => {
    const output = { type: 'tool', tool_call_id: 'c5', status: 'error', content: 'no' };
    expect(reported({ output })[1]).toMatchObject({ toolCallId: 'c5', outcome: 'error' });
  });

  it('the Langfuse importer ends a run when its outermost observations ended or it has output', () => {
    const hasEnded = (document: Source) =>
      importValue(document)[0]?.events.some(({ eventType }) => eventType === 'run.ended');
    expect(hasEnded({ trace: { id: 't' }, observations: [version({})] })).toBe(false);
    expect(hasEnded({ trace: { id: 't' }, observations: [version(newer)] })).toBe(true);
    expect(hasEnded({ trace: { id: 't', output: 'x' }, observations: [version({})] })).toBe(true);
  });
});
