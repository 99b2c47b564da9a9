import { createHash, generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bundleTlogProof, bundleText, explain } from '../../../src/core/proofs/bundle.ts';
import { readFrame } from '../../../src/core/proofs/read-bundle.ts';
import { parseTrust, type Trust } from '../../../src/core/note/checkpoint.ts';
import { type Declaration, declare } from '../../../src/core/graphs/declaration.ts';
import type { Statement } from '../../../src/core/note/dsse.ts';
import { ed25519Signer, parseVerifierKey, signatureLine } from '../../../src/core/note/signed.ts';
import { parseTlogProof } from '../../../src/core/note/tlog-proof.ts';
import { checkIds } from '../../../src/core/proofs/verdict.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { shownOf } from '../../../src/verify-page/words.ts';
import { projectRoot } from '../../paths.ts';
import {
  bytesOf,
  changed,
  failures,
  logSigner,
  noteText,
  origin,
  privateKey,
  ProofLog,
  recordSampleRun,
  result,
  sample,
  trust,
  verify,
  witnessSigner,
} from './log.ts';

describe('a bundle of a proved run', () => {
  it('the sample bundle equals the golden bundle, with fixed salts and nonces', () => {
    const golden = join(projectRoot, 'test/golden/sample.govproof.json');
    const text = bundleText(sample());
    expect(text).toBe(readFileSync(golden, 'utf8').trimEnd());
  });

  it('a bundle from an older log, whose records commit to each field alone, verifies', () => {
    const older = readFileSync(join(projectRoot, 'test/golden/fields-alone.govproof.json'));
    expect(older.includes('_sd_hash')).toBe(false);
    const verdict = verifyBundle(older, trust);
    expect(verdict).toMatchObject({ verified: true, code: null });
    expect(verdict.layers[0]).toEqual({ name: 'event_integrity', passed: true, basis: 'recomputed' });
  });

  it('a bundle verifies under the key of its log, and derived layers are recomputed', () => {
    const verdict = verify(sample());
    expect(verdict).toMatchObject({ verified: true, code: null, runId: 'run-1' });
    expect(verdict.layers).toEqual([
      { name: 'event_integrity', passed: true, basis: 'recomputed' },
      { name: 'causal_consistency', passed: true, basis: 'recomputed' },
      { name: 'policy_compliance', passed: true, basis: 'attested', code: 'NO_POLICY_ACTIVE' },
    ]);
    expect(verdict.notes.join('\n')).toMatch(/no policy was active[^]*UNWITNESSED/);
    expect(verdict.checks.map(({ id }) => id)).toEqual(checkIds);
  });

  it('a bundle verifies after another tool formatted it', () => {
    const pretty = JSON.stringify(sample(), null, 2);
    expect(verifyBundle(Buffer.from(`${pretty}\n`), trust).verified).toBe(true);
  });

  it('a bundle verifies with the path of each event, without events, and without the graph', () => {
    expect(verify(sample({ events: 'paths' })).layers[0]).toMatchObject({ basis: 'recomputed' });
    const bare = verify(sample({ events: 'none', graph: false }));
    expect(bare.verified).toBe(true);
    expect(bare.layers.map(({ basis }) => basis)).toEqual(['attested', 'attested', 'attested']);
    const withoutPaths = verify(changed(sample(), ['eventsInclusion'], undefined));
    expect(withoutPaths.verified).toBe(true);
    expect(result(withoutPaths, 'events').detail).toContain('without paths');
    expect(withoutPaths.layers[0]).toMatchObject({ basis: 'attested' });
  });

  it.each([
    ['seven times as large', (index: number) => index * 7],
    ['shifted by one', (index: number) => index + 1],
    ['one less, as far as that goes', (index: number) => Math.max(0, index - 1)],
  ])(
    'a bundle is refused when the indexes of its events are %s, even without a contradicting path',
    (_, forge) => {
      const bare = changed(sample(), ['eventsInclusion'], undefined);
      const events = bare.events!.map((event) => ({ ...event, index: forge(event.index) }));
      const verdict = verify(changed(bare, ['events'], events));
      expect(failures(verdict)).toEqual(['events: EVENTS_MISMATCH']);
      expect(verdict.verified).toBe(false);
    },
  );

  it('nothing that rests on a failed check is shown as passed: neither a layer nor another check', () => {
    const records = sample().events!.map((event, at) =>
      at === 0 ? { ...event, record: event.record.replace('run.started', 'run.stopped') } : event,
    );
    const forged = changed(sample(), ['events'], records);
    const verdict = verify(forged);
    expect(failures(verdict)).toEqual(['events: EVENTS_MISMATCH']);
    expect(verdict.layers.map(({ name, passed, basis, code }) => [name, passed, basis, code])).toEqual([
      ['event_integrity', false, 'not_checked', 'EVENTS_MISMATCH'],
      ['causal_consistency', false, 'not_checked', 'EVENTS_MISMATCH'],
      ['policy_compliance', false, 'not_checked', 'EVENTS_MISMATCH'],
    ]);
    for (const id of ['completeness', 'disclosures', 'graph_derivation', 'layers_satisfied'] as const)
      expect([id, result(verdict, id).result]).toEqual([id, 'not_checked']);
    expect(result(verdict, 'layers_satisfied').detail).toBe('it rests on events, which failed');
    expect(result(verdict, 'checkpoint_signatures').result).toBe('passed');
    const { layers, checks } = shownOf({ ...verdict, kind: 'proof' }, 'a.json');
    const passed = [...layers, ...checks].filter(({ word }) => word === 'Passed').map(({ text }) => text);
    expect(passed.join(' ')).not.toMatch(/numbered without a gap|Every statement holds|no more entries/);
  });

  it('no layer passes, and nobody signed, where the proof or a checkpoint is another one', () => {
    const bundle = sample();
    const other = { ...bundle.proof, schemaVersion: '9' };
    const { layers } = verify(changed(bundle, ['proof'], other));
    expect(new Set(layers.map(({ basis, code }) => [basis, code].join()))).toEqual(
      new Set(['not_checked,HASH_MISMATCH']),
    );
    const note = bundle.checkpoint.replace(/.{4}\n$/, 'AAA=\n');
    const { code, signatures } = verify(
      changed(bundle, ['checkpoint'], note.replace(/^(.*\n)[0-9]+/, '$11')),
    );
    expect([code, signatures]).toEqual(['SIGNATURE_INVALID', []]);
  });

  it('a bundle can show single events of the run, each with its own path', () => {
    const bundle = sample({ events: 'paths', disclose: (pointer) => pointer === '/action' });
    const verdict = verify(changed(bundle, ['events'], bundle.events!.slice(2, 4)));
    expect(verdict.verified).toBe(true);
    expect(verdict.notes).toContain('PARTIAL: 2 of the 8 events of the run are in the bundle');
    expect(verdict.digests).toMatchObject({ disclosed: 2, missing: 0 });
    const unplaced = changed(bundle, ['events', 1, 'inclusion'], undefined);
    expect(failures(verify(unplaced))).toEqual(['events: NOT_INCLUDED']);
  });

  it('a bundle with full disclosures reports that its events give the enclosed graph', () => {
    const verdict = verify(sample({ disclose: () => true }));
    expect(result(verdict, 'graph_derivation')).toMatchObject({ result: 'passed' });
    expect(verdict.digests).toEqual({ disclosed: 55, withheld: 0, erased: 0, missing: 0 });
  });
});

describe('a graph with a node that poses as an event', () => {
  const posing = (): [ProofLog, Declaration] => {
    const log = new ProofLog();
    const [first] = recordSampleRun(log);
    const id = 'evt_01m7wt317gec485kzzzzzzzzzz';
    const nodes = [{ id, type: 'event', data: { action: 'approved' } }];
    const edges = [{ source: id, target: first!.clear!.eventId, type: 'causes' }];
    return [log, declare({ nodes, edges }, 'AAAAAAAAAAAAAAAAAAAAAA')];
  };

  it('a graph with a node that poses as an event is logged as a failed layer', () => {
    const [log, declaration] = posing();
    const verdict = verify(log.prove('run-1', { declaration }));
    expect(failures(verdict)).toEqual(['layers_satisfied: LAYER_NOT_SATISFIED']);
    expect(verdict.layers[1]).toMatchObject({ passed: false, basis: 'recomputed' });
  });

  it.each([
    ['and the events', 'records' as const, 'layers_recomputed: LAYER_MISMATCH'],
    ['alone', 'none' as const, 'graph: GRAPH_MISMATCH'],
  ])(
    'a bundle does not verify when its log wrongly passed a posing node: the graph %s',
    (_name, events, failure) => {
      const [log, declaration] = posing();
      const bundle = log.prove('run-1', { declaration, events, blindToPosing: true });
      expect(bundle.proof.layers[1]).toMatchObject({ name: 'causal_consistency', verified: true });
      const verdict = verify(bundle);
      expect(verdict.verified).toBe(false);
      expect(failures(verdict)).toContain(failure);
    },
  );
});

describe('trust', () => {
  it('trust comes from the caller, and nothing is verified without a key', () => {
    for (const none of [null, { ...trust, keys: [] }]) {
      const verdict = verify(sample(), none);
      expect(verdict).toMatchObject({ verified: false, code: 'NO_TRUSTED_KEY' });
      expect(failures(verdict)).toEqual([
        'checkpoint_signatures: NO_TRUSTED_KEY',
        'layers_satisfied: LAYER_NOT_SATISFIED',
      ]);
      expect(verdict.layers.every(({ passed, basis }) => !passed && basis === 'not_checked')).toBe(true);
    }
  });

  it('verification refuses another key with the same name, and another origin', () => {
    const other = ed25519Signer(origin, privateKey('other'));
    const strange = verify(sample(), { ...trust, keys: [parseVerifierKey(other.verifierKey)] });
    expect(strange).toMatchObject({ verified: false, code: 'SIGNATURE_INVALID' });
    expect(verify(sample(), { ...trust, origin: 'gov.local/prj_other/audit' }).code).toBe('ORIGIN_MISMATCH');
  });

  it('verification counts distinct witnesses for the quorum', () => {
    const key = parseVerifierKey(witnessSigner.verifierKey);
    const witnessed = sample({ signers: [logSigner, witnessSigner] });
    const asked: Trust = { ...trust, witnesses: [key], quorum: 1 };
    const verdict = verify(witnessed, asked);
    expect(verdict.verified).toBe(true);
    expect(verdict.notes.join()).not.toContain('UNWITNESSED');
    expect(failures(verify(sample(), asked))).toEqual(['witnesses: WITNESS_QUORUM_NOT_MET']);
    expect(failures(verify(witnessed, { ...asked, quorum: 2 }))).toEqual([
      'witnesses: WITNESS_QUORUM_NOT_MET',
    ]);
  });

  it('verification ignores signature lines of unknown keys', () => {
    const bundle = sample();
    const text = noteText(bundle.checkpoint);
    const line = signatureLine(text, ed25519Signer('stranger', privateKey('stranger')));
    expect(verify(changed(bundle, ['checkpoint'], bundle.checkpoint + line)).verified).toBe(true);
  });
});

describe('an honest negative', () => {
  const bundle = sample({ layers: ['replay_determinism', 'decision_lineage', 'log_inclusion'] });

  it('an honest negative verdict differs from a verdict of tampering', () => {
    const verdict = verify(bundle);
    expect(verdict).toMatchObject({ verified: false, code: 'LAYER_NOT_SATISFIED' });
    expect(failures(verdict)).toEqual(['layers_satisfied: LAYER_NOT_SATISFIED']);
    expect(verdict.layers).toEqual([
      { name: 'event_integrity', passed: true, basis: 'recomputed' },
      { name: 'decision_lineage', passed: false, basis: 'attested', code: 'DECISION_NOT_RUN' },
      { name: 'replay_determinism', passed: false, basis: 'attested', code: 'REPLAY_NOT_RUN' },
      { name: 'log_inclusion', passed: true, basis: 'attested' },
    ]);
  });

  it('a failed layer does not count when only other layers are required', () => {
    const options = { requireLayers: ['event_integrity', 'log_inclusion'] };
    expect(verifyBundle(bytesOf(bundle), trust, options).verified).toBe(true);
    const missing = verifyBundle(bytesOf(bundle), trust, { requireLayers: ['policy_compliance'] });
    expect(failures(missing)).toEqual(['layers_satisfied: LAYER_MISSING']);
    expect(verifyBundle(bytesOf(bundle), trust, { requireLayers: [] }).verified).toBe(false);
  });

  it('a run with effects recorded before their causes gets an honest negative verdict', () => {
    const log = new ProofLog();
    log.record({ runId: 'run-1', clientEventId: 'a', causedBy: ['b'] });
    log.record({ runId: 'run-1', clientEventId: 'b' });
    const verdict = verify(log.prove('run-1'));
    expect(failures(verdict)).toEqual(['layers_satisfied: LAYER_NOT_SATISFIED']);
    expect(verdict.layers[1]).toMatchObject({
      passed: false,
      basis: 'recomputed',
      code: 'LAYER_NOT_SATISFIED',
    });
  });
});

describe('random runs', () => {
  const name = fc.constantFrom('planner', 'Größe ✓', 'x'.repeat(200), 'a b', 'callee:1');
  const step = fc.record(
    {
      eventType: fc.constantFrom('agent.step', 'tool.call', 'tool.result', 'model.invoked', 'memory.write'),
      actor: fc.oneof(name, fc.record({ name, role: fc.constantFrom('agent', 'user') })),
      resource: fc.record({ name, type: fc.constantFrom('tool', 'model', 'agent', 'database') }),
      causedBy: fc.array(
        fc.nat(30).map((at) => `run:${at}`),
        { maxLength: 3 },
      ),
      metadata: fc.record(
        {
          parentEventId: fc.nat(30).map((at) => `run:${at}`),
          toolCallId: fc.constantFrom('c1', 'c2'),
          toolCallIds: fc.array(fc.constantFrom('c1', 'c2'), { maxLength: 2 }),
          toolResultIds: fc.array(fc.constantFrom('c1', 'c3'), { maxLength: 2 }),
          free: fc.jsonValue({ maxDepth: 2, noUnicodeString: true }),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['eventType', 'actor'] },
  );

  it('bundles of random runs verify, and their graphs follow from their events', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 25 }), fc.nat(3), (steps, between) => {
        const log = new ProofLog();
        for (const [at, input] of steps.entries()) {
          if (at % 4 === between) log.record({ runId: 'another' });
          log.record({ runId: 'run', clientEventId: `run:${at}`, ...input } as never);
        }
        const bundle = log.prove('run', { disclose: () => true, between });
        const verdict = verify(bundle);
        const judged = failures(verdict);
        const honest = bundle.proof.layers[1]!.verified ? [] : ['layers_satisfied: LAYER_NOT_SATISFIED'];
        expect(judged).toEqual(honest);
        expect(result(verdict, 'graph_derivation').result).toBe('passed');
        expect(verdict.layers.slice(0, 2).map(({ basis }) => basis)).toEqual(['recomputed', 'recomputed']);
      }),
      { numRuns: 60, seed: 20260105 },
    );
  });
});

describe('checks with other tools', () => {
  it('the sha256 of each explained text is the hash next to it', () => {
    const bundle = readFrame(bytesOf(sample()));
    const explained = explain(bundle);
    expect(explained.map(({ name }) => name)).toEqual([
      'layer event_integrity',
      'layer causal_consistency',
      'layer policy_compliance',
      'proofHash',
      `leaf ${bundle.proofLeaf.index}`,
    ]);
    for (const { name, preimage, hash } of explained) {
      const text = name.startsWith('leaf') ? `\0${preimage}` : preimage;
      expect(`sha256:${createHash('sha256').update(text).digest('hex')}`).toBe(hash);
    }
  });

  it('the proof in a bundle is a C2SP tlog-proof', () => {
    const bundle = sample();
    const { index, checkpoint, path } = parseTlogProof(bundleTlogProof(bundle));
    expect(index).toBe(bundle.proofLeaf.index);
    expect(checkpoint).toBe(bundle.proofCheckpoint);
    expect(path).toHaveLength(bundle.proofLeaf.inclusion.length);
  });

  it('the in-toto statement names proofHash, and an envelope about another proof is refused', () => {
    const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const bundle = sample({ dsseKey: key });
    const statement = JSON.parse(Buffer.from(bundle.dsse!.payload, 'base64').toString()) as Statement;
    expect(`sha256:${statement.subject[0]!.digest['sha256']}`).toBe(bundle.proof.proofHash);
    expect(statement.predicate).toEqual({ proof: bundle.proof });
    const verdict = verify(bundle);
    expect(verdict.verified).toBe(true);
    expect(result(verdict, 'attestation')).toMatchObject({ result: 'not_checked' });
    const other = sample({ dsseKey: key, schemaVersion: 'v1' });
    expect(failures(verify(changed(bundle, ['dsse'], other.dsse)))).toEqual([
      'attestation: SUBJECT_MISMATCH',
    ]);
  });

  it('the trust file of the log verifies its bundle', () => {
    const text = `log ${logSigner.verifierKey}\nquorum none\n`;
    expect(verify(sample(), parseTrust(text)).verified).toBe(true);
  });
});
