import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../src/contract/events.ts';
import { limits } from '../../../src/contract/limits.ts';
import { GraphDerivation } from '../../../src/core/graphs/derivation.ts';
import type { EdgeItem, NodeItem } from '../../../src/core/graphs/rows.ts';
import { hashText } from '../../../src/core/hash.ts';
import { readRunEvent, type RunEvent } from '../../../src/core/events/run-entry.ts';
import { data, hasData } from '../../paths.ts';
import { ProofLog, recordSampleRun } from '../proofs/log.ts';

interface Derived {
  readonly nodes: readonly NodeItem[];
  /** `source -type-> target`, events as their position. */
  readonly edges: readonly string[];
  readonly unresolved: number;
}

function derive(events: readonly RunEvent[]): Derived {
  const nodes: NodeItem[] = [];
  const edges: EdgeItem[] = [];
  const derivation = new GraphDerivation(events[0]!.clear!.runId, {
    node: (node) => nodes.push(node),
    edge: (edge) => edges.push(edge),
  });
  for (const event of events) derivation.add(event);
  const { unresolved } = derivation.end();
  const place = (id: string): string => {
    const at = events.findIndex(({ clear }) => clear?.eventId === id);
    return at < 0 ? id : String(at);
  };
  return {
    nodes,
    edges: edges.map(({ source, target, type }) => `${place(source)} -${type}-> ${place(target)}`),
    unresolved,
  };
}

function run(...inputs: Partial<EventInput>[]): Derived {
  const log = new ProofLog();
  return derive(inputs.map((input, at) => log.record({ runId: 'r', clientEventId: `c${at}`, ...input })));
}

const between = ({ edges }: Derived): string[] => edges.filter((edge) => /^\d+ .* \d+$/.test(edge));

describe('the graph of a run', () => {
  it('the graph of the documented sample run is derived in a fixed order', () => {
    const log = new ProofLog();
    const { nodes, edges, unresolved } = derive(recordSampleRun(log));
    expect(nodes.map(({ type, id }) => (type === 'event' ? type : `${type} ${id}`))).toEqual([
      'run run:run-1',
      'event',
      'human human:Ada',
      'event',
      'agent agent:planner',
      'model model:model-x',
      'event',
      'tool tool:2670a1f96ca4f74c03fe0b802afd2981',
      'event',
      'event',
      'tool tool:edit',
      'event',
      'event',
      'data data:notes',
      'event',
    ]);
    expect(edges).toEqual([
      'run:run-1 -contains-> 0',
      'human:Ada -produces-> 0',
      '0 -contains-> 1',
      '0 -sequence-> 1',
      'agent:planner -produces-> 1',
      '1 -calls-> model:model-x',
      '1 -contains-> 2',
      '1 -causes-> 2',
      'agent:planner -produces-> 2',
      '2 -calls-> tool:2670a1f96ca4f74c03fe0b802afd2981',
      'run:run-1 -contains-> 3',
      '2 -produces-> 3',
      'agent:planner -produces-> 3',
      '3 -calls-> tool:2670a1f96ca4f74c03fe0b802afd2981',
      '1 -contains-> 4',
      '1 -causes-> 4',
      'agent:planner -produces-> 4',
      '4 -calls-> tool:edit',
      '0 -contains-> 5',
      '3 -causes-> 5',
      '3 -feeds-> 5',
      'agent:planner -produces-> 5',
      '5 -calls-> model:model-x',
      'run:run-1 -contains-> 6',
      '5 -causes-> 6',
      'agent:planner -produces-> 6',
      '6 -produces-> data:notes',
      'run:run-1 -contains-> 7',
      '6 -sequence-> 7',
      'agent:planner -produces-> 7',
    ]);
    expect(unresolved).toBe(0);
  });

  it('the graph binds events to their leaves, and parties to the first event that names them', () => {
    const log = new ProofLog();
    const events = recordSampleRun(log);
    const { nodes } = derive(events);
    const hashes = events.map(({ hash }) => hashText(hash));
    expect(
      nodes
        .filter(({ type }) => type === 'event')
        .map(({ index, dataCommitment }) => [index, dataCommitment]),
    ).toEqual(events.map(({ index }, at) => [index, hashes[at]]));
    const first = (id: string) => nodes.find((node) => node.id === id);
    expect(first('run:run-1')).toMatchObject({ index: null, dataCommitment: hashes[0] });
    expect(first('model:model-x')).toMatchObject({ index: null, dataCommitment: hashes[1] });
    expect(first('data:notes')).toMatchObject({ index: null, dataCommitment: hashes[6] });
  });

  it('the graph separates parties by their ids, and merges one id under different names', () => {
    const log = new ProofLog();
    const nodes: unknown[] = [];
    const derivation = new GraphDerivation('r', {
      node: ({ id, type }, data) => nodes.push(...(type === 'agent' ? [[id, data]] : [])),
      edge: () => {},
    });
    const actors = [
      { id: 'u1', name: 'Kim' },
      { id: 'u2', name: 'Kim' },
      { id: 'u1', name: 'K.' },
      'Kim',
      'u1',
    ];
    for (const actor of [...actors, { id: 'u3' }]) derivation.add(log.record({ runId: 'r', actor }));
    expect(nodes).toEqual([
      ['agent:id:u1', { id: 'u1', name: 'Kim' }],
      ['agent:id:u2', { id: 'u2', name: 'Kim' }],
      ['agent:Kim', { name: 'Kim' }],
      ['agent:u1', { name: 'u1' }],
      ['agent:id:u3', { id: 'u3' }],
    ]);
  });

  it('the graph resolves event ids and client event ids, each cause once', () => {
    const log = new ProofLog();
    const first = log.record({ runId: 'r', clientEventId: 'c0' });
    const id = first.clear!.eventId;
    const second = log.record({ runId: 'r', causedBy: ['c0', id, 'c0'], metadata: { causedBy: [id, 'c0'] } });
    expect(between(derive([first, second]))).toEqual(['0 -causes-> 1']);
  });

  it('the graph counts references to unknown events and keeps the event in the sequence', () => {
    const log = new ProofLog();
    const foreign = log.record({ runId: 'other', clientEventId: 'theirs' });
    const events = [
      log.record({ runId: 'r' }),
      log.record({
        runId: 'r',
        causedBy: ['theirs', foreign.clear!.eventId, 'nobody'],
        metadata: { toolResultIds: ['none'] },
      }),
      log.record({ runId: 'r', eventType: 'tool.result', metadata: { toolCallId: 'none' } }),
    ];
    const derived = derive(events);
    expect(between(derived)).toEqual(['0 -sequence-> 1', '1 -sequence-> 2']);
    expect(derived.unresolved).toBe(5);
  });

  it('the graph draws edges from later events and leaves the verdict to the checks', () => {
    const derived = run({ causedBy: ['c1', 'c2'], metadata: { parentEventId: 'c2' } }, {}, {});
    expect(derived.edges.filter((edge) => edge.endsWith('-> 0'))).toEqual([
      'agent:planner -produces-> 0',
      '1 -causes-> 0',
      '2 -contains-> 0',
      '2 -causes-> 0',
    ]);
    expect(derived.unresolved).toBe(0);
  });

  it('the graph attaches events with a missing parent to the run, after all other edges', () => {
    const derived = run({ metadata: { parentEventId: 'gone' } }, { metadata: { parentEventId: 'gone' } });
    expect(derived.edges.slice(-2)).toEqual(['run:r -contains-> 0', 'run:r -contains-> 1']);
    expect(derived.unresolved).toBe(2);
  });

  it('the graph draws an edge from an event to itself, which the checks refuse', () => {
    expect(between(run({ causedBy: ['c0'], metadata: { parentEventId: 'c0' } }))).toEqual([
      '0 -contains-> 0',
      '0 -causes-> 0',
    ]);
  });

  it('the graph links calls, refused calls and results by id to the nearest earlier event', () => {
    const derived = run(
      { eventType: 'model.invoked', metadata: { toolCallIds: ['t'] } },
      { eventType: 'tool.call', metadata: { toolCallId: 't' } },
      { eventType: 'tool.result', metadata: { toolCallId: 't' } },
      { eventType: 'model.invoked', metadata: { toolCallIds: ['t'], toolResultIds: ['t'] } },
      { eventType: 'tool.call_blocked', metadata: { toolCallId: 't' } },
      { eventType: 'tool.result', metadata: { toolCallId: 't' } },
      { eventType: 'policy.evaluated', metadata: { toolCallId: 't' } },
    );
    expect(between(derived)).toEqual([
      '0 -causes-> 1',
      '1 -produces-> 2',
      '2 -feeds-> 3',
      '3 -causes-> 4',
      '4 -produces-> 5',
      '5 -sequence-> 6',
    ]);
  });

  it('actors have only outgoing and resources only incoming edges, even with equal names', () => {
    const { nodes, edges } = run(
      { actor: 'x', resource: { name: 'x', type: 'agent' } },
      { actor: 'x', resource: { name: 'x', type: 'tool' }, eventType: 'tool.call' },
      { actor: { name: 'x', role: 'user' }, resource: 'x', eventType: 'data.write' },
    );
    const actors = nodes.filter(({ id }) => /^(agent|human):/.test(id)).map(({ id }) => id);
    const resources = nodes.filter(({ id }) => /^(callee|tool|data):/.test(id)).map(({ id }) => id);
    expect([actors.length, resources.length]).toEqual([2, 3]);
    expect(edges.some((edge) => actors.some((id) => edge.endsWith(`> ${id}`)))).toBe(false);
    expect(edges.some((edge) => resources.some((id) => edge.startsWith(`${id} `)))).toBe(false);
  });

  it(`the graph lets ${limits.graphPendingReferences} references wait and counts the others at once`, () => {
    const log = new ProofLog();
    const perEvent = limits.graphReferences;
    const events: RunEvent[] = [];
    const references = (at: number, count: number) => Array.from({ length: count }, (_, k) => `x${at}.${k}`);
    const full = Math.floor(limits.graphPendingReferences / perEvent);
    for (let at = 0; at < full; at++) {
      events.push(log.record({ runId: 'r', metadata: { causedBy: references(at, perEvent) } }));
    }
    const rest = limits.graphPendingReferences - full * perEvent;
    const lasts = ['last', 'over'];
    events.push(
      log.record({ runId: 'r', metadata: { causedBy: [...references(full, rest - 1), ...lasts] } }),
    );
    for (const clientEventId of lasts) events.push(log.record({ runId: 'r', clientEventId }));
    const derived = derive(events);
    expect(derived.edges.filter((edge) => edge.includes('causes'))).toEqual([
      `${full + 1} -causes-> ${full}`,
    ]);
    expect(derived.unresolved).toBe(limits.graphPendingReferences);
  });

  it('the derivation refuses records that are not events of the run', () => {
    const log = new ProofLog();
    const event = log.record({ runId: 'other' });
    const derivation = new GraphDerivation('r', { node: () => {}, edge: () => {} });
    expect(() => derivation.add(event)).toThrow(/check the log with fsck/);
    expect(() => derivation.add(readRunEvent({ ...event, record: '{}' }))).toThrow(/fsck/);
  });
});

describe.skipIf(!hasData)(`recorded OpenHands runs${hasData ? '' : ' (skipped: no data folder)'}`, () => {
  const files = [
    'trajs__basic.json',
    'trajs__basic_gui_mode.json',
    'trajs__basic_interactions.json',
    'trajs__wrong_initial_state.json',
    'multi_swe_bench__output.jsonl',
  ];
  interface Step {
    readonly id: number;
    readonly source?: string;
    readonly cause?: number;
    readonly timestamp: string;
    readonly action?: string;
    readonly observation?: string;
  }

  it.each(files)('the causes edges of %s are exactly the cause pairs of its source', (file) => {
    const text = readFileSync(data(`openhands/${file}`), 'utf8');
    const history = file.endsWith('l')
      ? (JSON.parse(text.split('\n')[0]!) as { history: Step[] }).history
      : JSON.parse(text);
    const steps = history as Step[];
    const log = new ProofLog();
    const events = steps.map(({ id, source, cause, timestamp, action, observation }) =>
      log.record({
        runId: 'r',
        clientEventId: `r:${id}`,
        eventType: `openhands.${observation ?? action ?? 'event'}`,
        actor: { name: source ?? 'environment', role: source ?? 'environment' },
        action: action ?? 'observe',
        timestamp: `${timestamp}Z`,
        ...(cause === undefined ? {} : { causedBy: [`r:${cause}`] }),
      }),
    );
    const derived = derive(events);
    const place = new Map(steps.map(({ id }, at) => [id, at]));
    const pairs = steps.flatMap(({ cause }, at) =>
      cause === undefined ? [] : [`${place.get(cause)} -causes-> ${at}`],
    );
    expect(derived.edges.filter((edge) => edge.includes('-causes->'))).toEqual(pairs);
    expect(derived.unresolved).toBe(0);
    expect(file === 'trajs__basic_interactions.json' || pairs.length > 0).toBe(true);
  });
});
