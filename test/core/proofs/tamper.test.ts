/** What is done to a bundle by someone who does not hold the log's key; all of it is seen. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Bundle } from '../../../src/core/proofs/bundle.ts';
import { ed25519Signer, signatureLine } from '../../../src/core/note/signed.ts';
import { type CheckId, verdictCodes } from '../../../src/core/proofs/verdict.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { bytesOf, changed, failures, noteText, privateKey, ProofLog, sample, trust, verify } from './log.ts';

describe('tampering', () => {
  const bundle = sample({ disclose: (pointer) => pointer !== '/action' });
  const hash = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
  const statement = bundle.layerStatements['event_integrity']!;
  const forged = statement.replace('"runEvents":8', '"runEvents":7');
  const cases: [string, Bundle, CheckId, string][] = [
    ['another run', changed(bundle, ['proof', 'runId'], 'run-2'), 'commitment', 'COMMITMENT_MISMATCH'],
    [
      'another time',
      changed(bundle, ['proof', 'createdAt'], '2026-01-05T09:00:00.000Z'),
      'commitment',
      'COMMITMENT_MISMATCH',
    ],
    [
      'an unknown layer',
      changed(bundle, ['proof', 'layers', 2, 'name'], 'x-mine'),
      'commitment',
      'LAYERS_INVALID',
    ],
    [
      'layers out of order',
      changed(bundle, ['proof', 'layers'], bundle.proof.layers.toReversed()),
      'commitment',
      'LAYERS_INVALID',
    ],
    ['no layers', changed(bundle, ['proof', 'layers'], []), 'commitment', 'LAYERS_INVALID'],
    [
      'a verdict turned',
      changed(bundle, ['proof', 'layers', 0, 'verified'], false),
      'proof_hash',
      'HASH_MISMATCH',
    ],
    [
      'a preimage of another proof',
      changed(bundle, ['proofPreimage'], `${bundle.proofPreimage} `),
      'proof_hash',
      'HASH_MISMATCH',
    ],
    [
      'a forged statement',
      changed(bundle, ['layerStatements', 'event_integrity'], forged),
      'layer_statements',
      'HASH_MISMATCH',
    ],
    [
      'a forged statement with its hash',
      changed(
        changed(bundle, ['layerStatements', 'event_integrity'], forged),
        ['proof', 'layers', 0, 'hash'],
        hash(forged),
      ),
      'layer_statements',
      'EVIDENCE_MISMATCH',
    ],
    [
      'a statement too many',
      changed(bundle, ['layerStatements', 'log_inclusion'], statement),
      'layer_statements',
      'STATEMENT_INVALID',
    ],
    [
      'another leaf index',
      changed(bundle, ['proofLeaf', 'index'], bundle.proofLeaf.index - 1),
      'proof_inclusion',
      'NOT_INCLUDED',
    ],
    [
      'a leaf of another proof',
      changed(bundle, ['proofLeaf', 'record'], bundle.proofLeaf.record.replace('run-1', 'run-2')),
      'proof_inclusion',
      'HASH_MISMATCH',
    ],
    ['no consistency', changed(bundle, ['consistency'], []), 'consistency', 'NOT_CONSISTENT'],
    [
      'checkpoints exchanged',
      changed(bundle, ['checkpoint'], bundle.proofCheckpoint),
      'tree_root',
      'ROOT_MISMATCH',
    ],
    [
      'an altered event',
      changed(
        bundle,
        ['events', 3, 'record'],
        bundle.events![3]!.record.replace('tool.result', 'tool.called'),
      ),
      'events',
      'EVENTS_MISMATCH',
    ],
    [
      'events exchanged',
      changed(bundle, ['events'], bundle.events!.toReversed()),
      'events',
      'EVENTS_MISMATCH',
    ],
    ['an event left out', changed(bundle, ['events'], bundle.events!.slice(1)), 'events', 'NOT_INCLUDED'],
    [
      'a path too short',
      changed(bundle, ['eventsInclusion'], bundle.eventsInclusion!.slice(1)),
      'events',
      'NOT_INCLUDED',
    ],
    [
      'a disclosure left out',
      changed(bundle, ['events', 0, 'disclosures'], bundle.events![0]!.disclosures!.slice(1)),
      'disclosures',
      'DISCLOSURE_MISSING',
    ],
    [
      'a disclosure of another event',
      changed(bundle, ['events', 0, 'disclosures'], bundle.events![1]!.disclosures),
      'disclosures',
      'DISCLOSURE_MISMATCH',
    ],
    [
      'a withheld digest that is none',
      changed(bundle, ['events', 0, 'withheld'], ['A'.repeat(43)]),
      'disclosures',
      'DISCLOSURE_MISMATCH',
    ],
    [
      'a node too many',
      changed(bundle, ['graph', 'nodes'], [...bundle.graph!.nodes, { ...bundle.graph!.nodes[0], id: 'zzz' }]),
      'graph',
      'GRAPH_MISMATCH',
    ],
    [
      'an edge left out',
      changed(bundle, ['graph', 'edges'], bundle.graph!.edges.slice(1)),
      'graph',
      'GRAPH_MISMATCH',
    ],
    ['a graph leaf elsewhere', changed(bundle, ['graph', 'leaf', 'index'], 1), 'graph', 'NOT_INCLUDED'],
  ];

  it.each(cases)('the verification of a bundle detects %s', (_name, tampered, check, code) => {
    const verdict = verify(tampered);
    expect(verdict.verified).toBe(false);
    expect(failures(verdict)).toContain(`${check}: ${code}`);
    expect(Object.keys(verdictCodes)).toContain(verdict.code);
  });

  it('a layer with a forged statement is reported without the content of the statement', () => {
    const verdict = verify(changed(bundle, ['layerStatements', 'event_integrity'], forged));
    expect(verdict.layers[0]).toEqual({
      name: 'event_integrity',
      passed: false,
      basis: 'not_checked',
      code: 'HASH_MISMATCH',
    });
  });
});

describe('one flipped bit', () => {
  const log = new ProofLog();
  log.record({ runId: 'r', metadata: { toolCallIds: ['c'] } });
  log.record({ runId: 'r', eventType: 'tool.call', resource: 'x', metadata: { toolCallId: 'c' } });
  const bundle = log.prove('r', { disclose: (pointer) => pointer.startsWith('/metadata'), between: 1 });
  const original = bytesOf(bundle);

  it('a bundle with one flipped bit is never verified', { timeout: 120_000 }, () => {
    const flipped = Buffer.from(original);
    const survivors: number[] = [];
    for (let at = 0; at < original.length; at++) {
      flipped[at] = original[at]! ^ (1 << (at % 7));
      if (verifyBundle(flipped, trust).verified) survivors.push(at);
      flipped[at] = original[at]!;
    }
    expect(survivors.map((at) => original.toString('utf8', at - 20, at + 20))).toEqual([]);
  });

  it('a signature of an unknown key matters only by its form', () => {
    const stranger = ed25519Signer('stranger', privateKey('stranger'));
    const text = noteText(bundle.checkpoint);
    const line = signatureLine(text, stranger).replace(/.{3}=\n$/, 'AAA=\n');
    expect(verify(changed(bundle, ['checkpoint'], bundle.checkpoint + line)).verified).toBe(true);
    const loose = line.replace('AAA=\n', 'AAB=\n');
    expect(verify(changed(bundle, ['checkpoint'], bundle.checkpoint + loose)).verified).toBe(false);
  });
});
