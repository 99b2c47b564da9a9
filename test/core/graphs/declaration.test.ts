import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { GraphDeclaration } from '../../../src/contract/graphs.ts';
import { limits } from '../../../src/contract/limits.ts';
import { GovError } from '../../../src/contract/problems.ts';
import {
  checkDeclaration,
  declarationHash,
  declarationText,
  declare,
  declaredCommitment,
  readDeclaration,
} from '../../../src/core/graphs/declaration.ts';

const salt = 'AAAAAAAAAAAAAAAAAAAAAA';
const input: GraphDeclaration = {
  nodes: [
    { id: 'plan', type: 'data', data: { step: 1 } },
    { id: 'approver', type: 'human' },
  ],
  edges: [
    { source: 'plan', target: 'evt', type: 'feeds' },
    { source: 'approver', target: 'plan', type: 'approves' },
  ],
};
const event = 'evt_01m7wt317gec485kzzzzzzzzzz';
const known = (id: string): boolean => id === 'evt' || id === event;

function refusal(declaration: GraphDeclaration): GovError {
  try {
    checkDeclaration(declaration, 'r', known);
  } catch (error) {
    if (error instanceof GovError) return error;
  }
  throw new Error('expected a refusal');
}

describe('a declaration', () => {
  it('a declaration is accepted when each edge ends at a declared or known node', () => {
    expect(() => checkDeclaration(input, 'r', known)).not.toThrow();
    expect(() => checkDeclaration({ nodes: [], edges: [] }, 'r', known)).not.toThrow();
  });

  it('a declaration is refused with pointers to unknown nodes and to repeated entries', () => {
    const error = refusal({
      nodes: [...input.nodes, { id: 'plan', type: 'tool' }],
      edges: [
        ...input.edges,
        { source: 'plan', target: 'evt', type: 'feeds' },
        { source: 'x', target: 'y', type: 'z' },
      ],
    });
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR', status: 400 });
    expect(error.errors.map(({ pointer, code }) => `${pointer} ${code}`)).toEqual([
      '/nodes/2/id DUPLICATE_ITEM',
      '/edges/2 DUPLICATE_ITEM',
      '/edges/3/source UNKNOWN_NODE',
      '/edges/3/target UNKNOWN_NODE',
    ]);
    expect(error.extensions).toEqual({});
  });

  it('a declaration may name an event of the run and the run itself with their own types', () => {
    const nodes = [
      { id: event, type: 'event', data: { note: 'seen' } },
      { id: 'run:r', type: 'run' },
    ];
    expect(() => checkDeclaration({ nodes, edges: [] }, 'r', known)).not.toThrow();
  });

  it.each([
    ['the id of no event', 'evt_01m7wt317gec485kzzzzzzzzzy', 'event', '/nodes/0/id'],
    ['such an id under another type', 'evt_01m7wt317gec485kzzzzzzzzzy', 'data', '/nodes/0/id'],
    ['an id that begins like one', 'evt_x', 'data', '/nodes/0/id'],
    ['the type of an event', 'approval', 'event', '/nodes/0/type'],
    ['an event under another type', event, 'data', '/nodes/0/type'],
    ['the run under another type', 'run:r', 'agent', '/nodes/0/type'],
  ])('a declaration is refused when a node claims %s', (_name, id, type, pointer) => {
    const error = refusal({ nodes: [{ id, type, data: { action: 'approved' } }], edges: [] });
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR', status: 400 });
    expect(error.errors.map(({ pointer, code }) => [pointer, code])).toEqual([[pointer, 'NOT_ALLOWED']]);
  });

  it(`a refused declaration names at most ${limits.fieldErrors} faults`, () => {
    const edges = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ source: 'evt', target: `x${at}`, type: 'causes' }));
    const exact = refusal({ nodes: [], edges: edges(limits.fieldErrors) });
    expect([exact.errors.length, exact.extensions]).toEqual([limits.fieldErrors, {}]);
    const more = refusal({ nodes: [], edges: edges(limits.fieldErrors + 1) });
    expect([more.errors.length, more.extensions]).toEqual([limits.fieldErrors, { errorsTruncated: true }]);
  });

  it('a declaration is kept sorted as canonical text, whatever its order', () => {
    const declaration = declare(input, salt);
    const text = declarationText(declaration);
    const turned = { nodes: input.nodes.toReversed(), edges: input.edges.toReversed() };
    expect(declarationText(declare(turned, salt))).toBe(text);
    expect(text).toBe(
      '{"edges":[{"source":"approver","target":"plan","type":"approves"},{"source":"plan","target":"evt","type":"feeds"}],' +
        '"nodes":[{"data":{},"id":"approver","type":"human"},{"data":{"step":1},"id":"plan","type":"data"}],' +
        `"salt":"${salt}"}`,
    );
    expect(readDeclaration(text)).toEqual(declaration);
    expect(declarationHash(text)).toBe(`sha256:${createHash('sha256').update(text).digest('hex')}`);
  });

  it('a declaration is merged with an earlier one, and the newer node wins', () => {
    const first = declare(input, salt);
    const joined = declare(
      { nodes: [{ id: 'plan', type: 'data', data: { step: 2 } }], edges: [...input.edges].slice(1) },
      'BAAAAAAAAAAAAAAAAAAAAA',
      first,
    );
    expect(joined.nodes).toEqual([
      { id: 'approver', type: 'human', data: {} },
      { id: 'plan', type: 'data', data: { step: 2 } },
    ]);
    expect(joined.edges).toEqual(first.edges);
  });

  it('a declaration commits to the data of a node with a salt, in a text for sha256sum', () => {
    const node = { id: 'plan', type: 'data', data: { step: 1 } };
    const text = `gov.node/v1\n{"data":{"step":1},"id":"plan","salt":"${salt}","type":"data"}`;
    expect(declaredCommitment(salt, node)).toBe(`sha256:${createHash('sha256').update(text).digest('hex')}`);
    expect(declaredCommitment('BAAAAAAAAAAAAAAAAAAAAA', node)).not.toBe(declaredCommitment(salt, node));
  });
});
