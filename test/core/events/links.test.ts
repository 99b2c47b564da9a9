import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../src/contract/events.ts';
import { limits } from '../../../src/contract/limits.ts';
import {
  eventLinks,
  nodeIdPattern,
  partyId,
  partyNodeId,
  timestampSource,
} from '../../../src/core/events/links.ts';
import { sha256 } from '../../../src/core/hash.ts';
import { ProofLog } from '../proofs/log.ts';

const links = (input: Partial<EventInput>) => eventLinks(new ProofLog().record({ runId: 'r', ...input }));

describe('the links of an event', () => {
  it('the links of an event are read from causedBy and metadata', () => {
    expect(
      links({
        clientEventId: 'c',
        causedBy: ['a', 'b'],
        metadata: {
          causedBy: 'd',
          parentEventId: 'p',
          toolCallId: 't',
          toolCallIds: ['t1', 't2'],
          toolResultIds: ['t3'],
        },
      }),
    ).toMatchObject({
      action: 'execute',
      clientEventId: 'c',
      parent: 'p',
      causes: ['a', 'b', 'd'],
      toolCallId: 't',
      toolCallIds: ['t1', 't2'],
      toolResultIds: ['t3'],
      unusable: 0,
    });
  });

  it('the links of an event count references of a wrong type and beyond the limit', () => {
    const many = Array.from({ length: limits.graphReferences }, (_, at) => `r${at}`);
    expect(links({ metadata: { causedBy: many } })).toMatchObject({ unusable: 0, causes: many });
    expect(links({ metadata: { causedBy: [...many, 'one more'] } })).toMatchObject({
      unusable: 1,
      causes: many,
    });
    const odd = { causedBy: [1, null, {}], parentEventId: 7, toolCallId: 5, toolCallIds: { a: 1 } };
    expect(links({ metadata: odd })).toMatchObject({
      unusable: 5,
      parent: null,
      causes: [],
      toolCallId: null,
    });
  });

  it.each([
    ['a name', 'bot', { kind: 'agent', id: null, name: 'bot' }],
    ['the word user', 'user', { kind: 'human', id: null, name: 'user' }],
    ['name and role', { name: 'Ada', role: 'customer' }, { kind: 'human', id: null, name: 'Ada' }],
    ['id and type', { id: 'u1', type: 'human' }, { kind: 'human', id: 'u1', name: null }],
    ['a role only', { role: 'assistant' }, { kind: 'agent', id: null, name: 'assistant' }],
    ['an id and a name', { id: 'a1', name: 'planner' }, { kind: 'agent', id: 'a1', name: 'planner' }],
    ['an id and a role', { id: 'a1', role: 'user' }, { kind: 'human', id: 'a1', name: null }],
    ['an id that names nothing', { id: '', name: 'Kim' }, { kind: 'agent', id: null, name: 'Kim' }],
    ['nothing that names', { team: 'x' }, null],
  ] as const)('the links of an event take the actor from %s', (_name, actor, expected) => {
    expect(links({ actor }).actor).toEqual(expected);
  });

  it.each([
    ['tool', { name: 'grep', type: 'tool' }, 'x.y', { kind: 'tool', id: null, name: 'grep' }],
    ['MCP tool', { name: 'grep', type: 'mcp_tool' }, 'x.y', { kind: 'tool', id: null, name: 'grep' }],
    ['model', { id: 'm-1', type: 'model' }, 'x.y', { kind: 'model', id: 'm-1', name: null }],
    ['called agent', { name: 'writer', type: 'agent' }, 'x.y', { kind: 'callee', id: null, name: 'writer' }],
    ['database', { name: 'crm', type: 'database' }, 'tool.call', { kind: 'data', id: null, name: 'crm' }],
    ['named tool', 'grep', 'tool.call', { kind: 'tool', id: null, name: 'grep' }],
    ['named model', 'm-1', 'model.invoked', { kind: 'model', id: null, name: 'm-1' }],
    ['named thing', 'notes', 'memory.write', { kind: 'data', id: null, name: 'notes' }],
    ['type only', { type: 'queue' }, 'x.y', { kind: 'data', id: null, name: 'queue' }],
  ] as const)('the links of an event take a %s from its resource', (_name, resource, eventType, expected) => {
    expect(links({ resource, eventType }).resource).toEqual(expected);
  });

  it('an event whose body was erased has only the links of its clear members', () => {
    const event = { ...new ProofLog().record({ runId: 'r', causedBy: ['a'] }), disclosures: null };
    expect(eventLinks(event)).toMatchObject({ actor: null, causes: ['a'], action: '', clientEventId: null });
    expect(timestampSource({ disclosures: null })).toBeNull();
  });
});

describe('timestamp sources', () => {
  it('a timestamp source is one of the known words, otherwise client', () => {
    const source = (metadata: Record<string, unknown>) =>
      timestampSource(new ProofLog().record({ runId: 'r', metadata }));
    expect(['source', 'assumed_utc', 'import'].map((timestampSource) => source({ timestampSource }))).toEqual(
      ['source', 'assumed_utc', 'import'],
    );
    expect(source({})).toBe('client');
    expect(source({ timestampSource: 'sundial' })).toBe('client');
    expect(source({ note: '"/metadata/timestampSource"' })).toBe('client');
  });
});

describe('node ids of parties', () => {
  it('the node id of a party is readable when the name fits, else a hash, and always valid', () => {
    expect(partyId('agent', 'planner-1.2:x')).toBe('agent:planner-1.2:x');
    for (const name of ['a b', 'Größe', 'x'.repeat(123), '', '../../x', '"']) {
      const id = partyId('agent', name);
      expect(id).toMatch(nodeIdPattern);
      if (name !== '') expect(id).toBe(`agent:${sha256(name).toString('hex').slice(0, 32)}`);
    }
    expect(partyId('agent', 'x'.repeat(122))).toHaveLength(limits.identifierChars);
  });

  it('the node id of a party uses its id when it has one, else its name', () => {
    const id = (id: string | null, name: string | null) => partyNodeId({ kind: 'human', id, name });
    expect(id('u1', 'Kim')).toBe('human:id:u1');
    expect(id('u1', null)).toBe('human:id:u1');
    expect(id(null, 'Kim')).toBe('human:Kim');
    expect(id('a b', 'Kim')).toBe(`human:id:${sha256('a b').toString('hex').slice(0, 32)}`);
    expect(id(null, 'id:u1')).toBe(`human:${sha256('id:u1').toString('hex').slice(0, 32)}`);
  });

  it('the node ids differ for parties with different ids, or different names without ids', () => {
    const word = fc.string({
      unit: fc.constantFrom('i', 'd', ':', ' ', 'x', 'ß'),
      minLength: 1,
      maxLength: 6,
    });
    const party = fc.record({ id: fc.option(word), name: word });
    fc.assert(
      fc.property(party, party, (a, b) => {
        const same = a.id === b.id && (a.id !== null || a.name === b.name);
        const [left, right] = [a, b].map((each) => partyNodeId({ kind: 'agent', ...each }));
        expect(left === right).toBe(same);
        expect(left).toMatch(nodeIdPattern);
      }),
      { seed: 6, numRuns: 2000 },
    );
  });
});
