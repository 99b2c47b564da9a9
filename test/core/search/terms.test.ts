import { describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../../src/contract/events.ts';
import { limits } from '../../../src/contract/limits.ts';
import { draftEvaluation, type Evaluation } from '../../../src/core/decided/evaluation.ts';
import {
  eventTerms,
  everyTerm,
  leafTerms,
  searchTerms,
  type EventSearch,
  type SearchQuery,
} from '../../../src/core/search/terms.ts';

const event = (members: Partial<AuditEvent> = {}): AuditEvent => ({
  eventId: 'evt_1',
  runId: 'run-1',
  eventType: 'tool.evaluated',
  actor: { id: 'a-1', name: 'billing-agent' },
  resource: { name: 'pay', type: 'tool' },
  action: 'evaluate',
  timestamp: '2026-01-01T00:00:00Z',
  serverTimestamp: '2026-01-01T00:00:00Z',
  metadata: { decision: 'deny' },
  causedBy: null,
  aiSystemId: 'system-1',
  clientEventId: null,
  sequence: 1,
  leafHash: '',
  ...members,
});
const finds = (search: EventSearch, members?: Partial<AuditEvent>): boolean =>
  searchTerms({ kind: 'event', search }).every((term) => eventTerms(event(members)).has(term));

describe('terms of an event', () => {
  it('find it by run, type, system, actor, resource, tool and decision', () => {
    const searches: EventSearch[] = [
      {},
      { runId: 'run-1' },
      { eventType: 'tool.evaluated' },
      { aiSystemId: 'system-1' },
      { actor: 'a-1' },
      { actor: 'billing-agent' },
      { resource: 'pay' },
      { tool: 'pay' },
      { decision: 'deny' },
      { runId: 'run-1', tool: 'pay', decision: 'deny', actor: 'a-1' },
    ];
    expect(searches.map((search) => finds(search))).toEqual(searches.map(() => true));
  });

  it('do not find it by the value of another member, or if one of several differs', () => {
    const searches: EventSearch[] = [
      { runId: 'pay' },
      { actor: 'pay' },
      { tool: 'billing-agent' },
      { decision: 'allow' },
      { runId: 'run-1', decision: 'allow' },
      { tool: 'PAY' },
    ];
    expect(searches.map((search) => finds(search))).toEqual(searches.map(() => false));
  });

  it('take actors and resources that are names, and tools from the metadata', () => {
    expect(finds({ actor: 'me' }, { actor: 'me' })).toBe(true);
    expect(finds({ resource: 'ledger' }, { resource: 'ledger' })).toBe(true);
    expect(finds({ tool: 'ledger' }, { resource: 'ledger' })).toBe(false);
    expect(finds({ tool: 'read_file' }, { resource: { name: 'read_file', type: 'mcp_tool' } })).toBe(true);
    expect(finds({ tool: 'sh' }, { metadata: { toolName: 'sh' } })).toBe(true);
    expect(finds({ tool: 'sh' }, { metadata: { tool: 'sh' } })).toBe(true);
  });

  it('find it by those for whom the actor acts, up to the limit of a delegation chain', () => {
    const chain = Array.from({ length: limits.delegationSearched + 1 }, (_, at) => `agent-${at}`);
    const actor = { name: 'sub-agent-4', onBehalfOf: { id: 'u-1', name: 'user-u' }, delegationChain: chain };
    for (const name of ['u-1', 'user-u', 'agent-0', chain.at(-2)!])
      expect(finds({ onBehalfOf: name }, { actor })).toBe(true);
    expect(finds({ onBehalfOf: chain.at(-1)! }, { actor })).toBe(false);
    expect(finds({ onBehalfOf: 'sub-agent-4' }, { actor })).toBe(false);
    expect(finds({ actor: 'user-u' }, { actor })).toBe(false);
    for (const odd of ['x', { onBehalfOf: 7, delegationChain: 'x' }, { delegationChain: [null, ['x']] }])
      expect(finds({ onBehalfOf: 'x' }, { actor: odd as never })).toBe(false);
  });

  it('leave out what only looks like a decision, a party or a tool', () => {
    const odd = { decision: 'maybe', toolName: 7, tool: { name: 'x' } };
    const terms = [...eventTerms(event({ actor: { id: null }, resource: null, metadata: odd }))];
    expect(terms.filter((term) => /^(actor|resource|tool|decision)\0/.test(term))).toEqual([]);
    expect(terms).toContain(everyTerm);
  });
});

describe('terms of an evaluation', () => {
  const evaluation: Evaluation = {
    id: 'pev_1',
    runId: 'run-1',
    policySource: 'tool',
    policyCount: 1,
    policyIds: null,
    policySetHash: 'sha256:0',
    policyIndex: null,
    combined: 'deny',
    approval: null,
    evaluatedAt: '2026-01-01T00:00:00Z',
    decisions: [],
    shadow: [],
    checkpoint: { context: { tool: { name: 'pay' } } },
    readSet: null,
  };
  const termsOf = (members: Partial<Evaluation>) => {
    const draft = draftEvaluation({ ...evaluation, ...members }, () => 'AAAAAAAAAAAAAAAAAAAAAA');
    return leafTerms({ index: 3, record: draft.record, disclosures: draft.disclosures });
  };

  it('find it by run, tool and decision, and never as an event', () => {
    const found = termsOf({});
    const has = (wanted: SearchQuery): boolean =>
      searchTerms(wanted).every((term) => found?.terms.has(term) === true);
    const search = { runId: 'run-1', tool: 'pay', decision: 'deny' };
    expect(has({ kind: 'evaluation', search })).toBe(true);
    expect(has({ kind: 'evaluation', search: {} })).toBe(true);
    expect(has({ kind: 'evaluation', search: { decision: 'allow' } })).toBe(false);
    expect(has({ kind: 'event', search })).toBe(false);
    expect(has({ kind: 'event', search: {} })).toBe(false);
    expect(found?.atMs).toBe(Date.parse('2026-01-01T00:00:00Z'));
  });

  it('name the tool that is left after the whole policy input is erased, and none without a tool', () => {
    const left = termsOf({ checkpoint: null, readSet: { context: { tool: { name: 'mail' } } } });
    expect([...(left?.terms ?? [])]).toContain('evaluation.tool\0mail');
    const without = termsOf({ checkpoint: { context: { amount: 1 } } });
    expect([...(without?.terms ?? [])].filter((term) => term.startsWith('evaluation.tool'))).toEqual([]);
  });
});
