/** Bundles of a run that was written to: the graph covers the events below S, or those that it was sealed with. */
import { describe, expect, it } from 'vitest';
import { declare } from '../../../src/core/graphs/declaration.ts';
import { type Bundle, mediaTypeOf } from '../../../src/core/proofs/bundle.ts';
import { changed, failures, ProofLog, recordSampleRun, result, verify, type ProveOptions } from './log.ts';

const made = (writtenTo: ProveOptions['writtenTo'], options: ProveOptions = {}) => {
  const log = new ProofLog();
  recordSampleRun(log);
  return log.prove('run-1', { ...options, ...(writtenTo === undefined ? {} : { writtenTo }) });
};
const third = 'application/vnd.gov.proof.v3+json';
const both = ['proved', 'sealed'] as const;
const refused = (bundle: Bundle): string[] => failures(verify(bundle));
const graphDetail = (bundle: Bundle): string => result(verify(bundle), 'graph').detail ?? '';

describe.each(both)('a bundle of a run that was written to when it was %s', (writtenTo) => {
  it('verifies as a bundle of version 3, and its graph is recomputed', () => {
    const bundle = made(writtenTo);
    expect(bundle.mediaType).toBe(third);
    expect(bundle.graph!.leaf === undefined).toBe(writtenTo === 'proved');
    const verdict = verify(bundle);
    expect(verdict).toMatchObject({ verified: true, code: null });
    expect(verdict.layers[1]).toEqual({ name: 'causal_consistency', passed: true, basis: 'recomputed' });
  });

  it('verifies with every field disclosed, and with a declaration', () => {
    const declaration = declare({ nodes: [{ id: 'n1', type: 'data' }], edges: [] }, 'salt');
    const bundle = made(writtenTo, { disclose: () => true, declaration });
    const verdict = verify(bundle);
    expect(verdict.verified).toBe(true);
    expect(result(verdict, 'graph_derivation').result).toBe('passed');
  });

  it('is refused under the media type of an earlier version', () => {
    for (const version of [1, 2]) {
      const type = third.replace('v3', `v${version}`);
      expect(refused(changed(made(writtenTo), ['mediaType'], type))).toEqual(['format: MALFORMED_BUNDLE']);
    }
  });

  it('is refused with another node, edge or extent than the proof commits to', () => {
    const bundle = made(writtenTo);
    const { nodes, edges } = bundle.graph!;
    expect(refused(changed(bundle, ['graph', 'nodes'], nodes.slice(0, -1)))).toContain(
      'graph: GRAPH_MISMATCH',
    );
    expect(refused(changed(bundle, ['graph', 'edges'], edges.slice(0, -1)))).toContain(
      'graph: GRAPH_MISMATCH',
    );
    const text = bundle.layerStatements['causal_consistency']!;
    const through = /"through":(\d+)/.exec(text)![1]!;
    const other = text.replace(`"through":${through}`, `"through":${Number(through) - 1}`);
    expect(refused(changed(bundle, ['layerStatements', 'causal_consistency'], other))).not.toEqual([]);
  });
});

describe('the graph of a run at S', () => {
  it('has no leaf in S, and no other bundle may leave it out', () => {
    const { leaf: _leaf, ...bare } = made(undefined).graph!;
    expect(refused(changed(made(undefined), ['graph'], bare))).toEqual(['format: MALFORMED_BUNDLE']);
    expect(graphDetail(made('proved'))).toMatch(/^\d+ nodes, \d+ edges of the run$/);
    expect(graphDetail(made('sealed'))).toMatch(/of leaf \d+, its first \d+ events$/);
  });

  it('makes a bundle of version 3 only where the bundle has it', () => {
    const { layerStatements } = made('proved');
    const typeOf = (hasGraph: boolean, hasCompleteness: boolean): string =>
      mediaTypeOf({ hasGraph, hasCompleteness, layerStatements });
    expect([typeOf(false, false), typeOf(false, true), typeOf(true, true)]).toEqual([
      third.replace('v3', 'v1'),
      third.replace('v3', 'v2'),
      third,
    ]);
  });
});
