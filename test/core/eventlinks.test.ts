import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../src/contract/events.ts';
import { limits } from '../../src/contract/limits.ts';
import { eventLinks, nodeIdPattern, partyId, timestampSource } from '../../src/core/eventlinks.ts';
import { sha256 } from '../../src/core/hash.ts';
import { ProofLog } from './prooflog.ts';

const links = (input: Partial<EventInput>) => eventLinks(new ProofLog().record({ runId: 'r', ...input }));

describe('what an event says about others', () => {
  it('is read from causedBy and metadata', () => {
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

  it('counts references of another type, and those beyond the limit', () => {
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
    ['a name', 'bot', { kind: 'agent', name: 'bot' }],
    ['the word user', 'user', { kind: 'human', name: 'user' }],
    ['name and role', { name: 'Ada', role: 'customer' }, { kind: 'human', name: 'Ada' }],
    ['id and type', { id: 'u1', type: 'human' }, { kind: 'human', name: 'u1' }],
    ['a role only', { role: 'assistant' }, { kind: 'agent', name: 'assistant' }],
    ['a name before an id', { id: 'a1', name: 'planner' }, { kind: 'agent', name: 'planner' }],
    ['nothing that names', { team: 'x' }, null],
  ] as const)('takes an actor from %s', (_name, actor, expected) => {
    expect(links({ actor }).actor).toEqual(expected);
  });

  it.each([
    ['tool', { name: 'grep', type: 'tool' }, 'x.y', { kind: 'tool', name: 'grep' }],
    ['MCP tool', { name: 'grep', type: 'mcp_tool' }, 'x.y', { kind: 'tool', name: 'grep' }],
    ['model', { id: 'm-1', type: 'model' }, 'x.y', { kind: 'model', name: 'm-1' }],
    ['called agent', { name: 'writer', type: 'agent' }, 'x.y', { kind: 'callee', name: 'writer' }],
    ['database', { name: 'crm', type: 'database' }, 'tool.call', { kind: 'data', name: 'crm' }],
    ['named tool', 'grep', 'tool.call', { kind: 'tool', name: 'grep' }],
    ['named model', 'm-1', 'model.invoked', { kind: 'model', name: 'm-1' }],
    ['named thing', 'notes', 'memory.write', { kind: 'data', name: 'notes' }],
    ['type only', { type: 'queue' }, 'x.y', { kind: 'data', name: 'queue' }],
  ] as const)('takes a %s from its resource', (_name, resource, eventType, expected) => {
    expect(links({ resource, eventType }).resource).toEqual(expected);
  });

  it('is nothing where the bodies were erased', () => {
    const event = { ...new ProofLog().record({ runId: 'r', causedBy: ['a'] }), disclosures: null };
    expect(eventLinks(event)).toMatchObject({ actor: null, causes: ['a'], action: '', clientEventId: null });
    expect(timestampSource(null)).toBeNull();
  });
});

describe('timestamp sources', () => {
  it('are those of O2, and the client where an event says nothing that is known', () => {
    const source = (metadata: Record<string, unknown>) =>
      timestampSource(new ProofLog().record({ runId: 'r', metadata }).disclosures);
    expect(['source', 'assumed_utc', 'import'].map((timestampSource) => source({ timestampSource }))).toEqual(
      ['source', 'assumed_utc', 'import'],
    );
    expect(source({})).toBe('client');
    expect(source({ timestampSource: 'sundial' })).toBe('client');
    expect(source({ note: '"/metadata/timestampSource"' })).toBe('client');
  });
});

describe('node ids of parties', () => {
  it('are readable where the name fits, else a hash of it, and always fit contract A2', () => {
    expect(partyId('agent', 'planner-1.2:x')).toBe('agent:planner-1.2:x');
    for (const name of ['a b', 'Größe', 'x'.repeat(123), '', '../../x', '"']) {
      const id = partyId('agent', name);
      expect(id).toMatch(nodeIdPattern);
      if (name !== '') expect(id).toBe(`agent:${sha256(name).toString('hex').slice(0, 32)}`);
    }
    expect(partyId('agent', 'x'.repeat(122))).toHaveLength(limits.identifierChars);
  });
});
