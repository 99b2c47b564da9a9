import { describe, expect, it } from 'vitest';
import type { ImportedRun } from '../../../../src/core/intake/run.ts';
import { documents } from '../../../../src/core/intake/source.ts';
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

type Event = Record<string, Loose>;

const history = (document: unknown): Event[] =>
  Array.isArray(document) ? document : (document as { history: Event[] }).history;

/** The pairs that `causedBy` states, in terms of the source's own ids. */
function causePairs({ events }: ImportedRun): string[] {
  const sourceIds = new Map(events.map((event) => [event.clientEventId, meta(event)['sourceId']]));
  return events.flatMap((event) =>
    (event.causedBy ?? []).map((cause) => `${sourceIds.get(cause)} -> ${meta(event)['sourceId']}`),
  );
}

describe.skipIf(!hasData)('importing OpenHands (skipped without the recorded runs)', () => {
  const files = importFolder('openhands', /json/);
  const runs = [...files.values()].flat();
  const sources = [...files.keys()].flatMap((name) =>
    [...documents(readData(`openhands/${name}`), name)].flatMap((document) =>
      'value' in document ? [history(document.value)] : [],
    ),
  );

  it('the OpenHands importer makes 9 valid runs of 310 events', () => {
    expect(runs.length).toBe(9);
    expect(total(runs, (run) => run.items)).toBe(310);
    expect(runs.map((run) => run.items)).toEqual(sources.map((source) => source.length));
    for (const run of runs)
      expect(run.events.filter(({ eventType }) => eventType !== 'run.ended').length).toBe(run.items + 1);
    expectToFit(runs);
  });

  it('the OpenHands importer states exactly the causes that the source states', () => {
    const expected = sources.map((source) =>
      source
        .filter((event) => event['cause'] !== undefined)
        .map((event) => `${event['cause']} -> ${event['id']}`),
    );
    expect(runs.map(causePairs)).toEqual(expected);
    expect(expected.flat().length).toBe(117);
    expect(runs.flatMap((run) => run.events).some((event) => 'toolCallIds' in meta(event))).toBe(false);
    expect(total(runs, (run) => run.changes.get('cause_unknown') ?? 0)).toBe(0);
  });

  it('the OpenHands importer keeps microseconds, assumes UTC, and fills missing times', () => {
    for (const [index, run] of runs.entries()) {
      const source = sources[index] ?? [];
      for (const [at, event] of run.events.slice(1, -1).entries()) {
        const written = source[at]?.['timestamp'];
        expect(meta(event)['timestampSource']).toBe(written === undefined ? 'import' : 'assumed_utc');
        if (written !== undefined) expect(event.timestamp).toBe(`${written}Z`);
      }
    }
  });

  it('the OpenHands importer keeps contents, arguments and outcomes', () => {
    for (const [index, run] of runs.entries()) {
      for (const [at, event] of run.events.slice(1, -1).entries()) {
        const source = sources[index]?.[at] ?? {};
        expect(meta(event)['content']).toEqual(source['content'] ?? source['args']?.content);
        const command =
          source['args']?.command ?? (source['action'] === undefined ? undefined : source['command']);
        expect(meta(event)['arguments']?.command).toEqual(command);
      }
    }
    expect(ofType(runs, 'run.error').length).toBe(2);
    expect(ofType(runs, 'tool.call').length).toBe(135);
    expect(ofType(runs, 'tool.result').length).toBe(135);
  });

  it('the OpenHands importer names runs by benchmark instance, issue or file', () => {
    expect(runs.map((run) => run.runId)).toContain('openhands-ponylang__ponyc-4595');
    expect(runs.map((run) => run.runId)).toContain('openhands-neubig-pr-viewer-5');
    expect(runs.map((run) => run.runId)).toContainEqual(
      expect.stringMatching(/^openhands-trajs__basic-[0-9a-f]{8}$/),
    );
  });
});

describe('importing OpenHands events', () => {
  it('the OpenHands importer reads action and observation pairs and lines of single events', () => {
    const pairs = [
      [
        { action: 'run', command: 'ls' },
        { observation: 'run', content: 'a', exit_code: 1 },
      ],
      [{ action: 'finish' }],
    ];
    const [run] = importValue({ instance_id: 'x', history: pairs });
    expect(run?.items).toBe(3);
    expect(meta(ofType([run!], 'tool.result')[0])['outcome']).toBe('error');
    const lines = pairs
      .flat()
      .map((event) => JSON.stringify(event))
      .join('\n');
    expect(importText(lines, { sourceName: 'events.jsonl' })[0]?.items).toBe(3);
  });

  it('the OpenHands importer keeps unknown causes and unreadable times in the metadata', () => {
    const [run] = importValue([
      { id: 7, action: 'think', cause: 3, timestamp: 'yesterday', args: { thought: 't' } },
    ]);
    expect(run?.events[1]?.causedBy).toBeUndefined();
    expect(meta(run?.events[1])).toMatchObject({
      sourceCause: 3,
      sourceTime: 'yesterday',
      timestampSource: 'import',
    });
    expect(Object.fromEntries(run!.changes)).toEqual({ cause_unknown: 1, time_unreadable: 1 });
  });

  it('the OpenHands importer stores one model response once, whatever its number of events', () => {
    const call = { tool_call_id: 'c', function_name: 'run', model_response: { id: 'r-1', model: 'm' } };
    const [run] = importValue([
      { action: 'run', args: {}, tool_call_metadata: call },
      { observation: 'run', content: '', tool_call_metadata: call },
    ]);
    expect(run?.events.filter((event) => meta(event)['modelResponse'] !== undefined).length).toBe(1);
    expect(run?.events.filter((event) => meta(event)['modelResponseId'] === 'r-1').length).toBe(2);
  });
});
