import { createHash, generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/contract/limits.ts';
import { type Bundle, bundleTlogProof, bundleText, explain } from '../../src/core/bundle.ts';
import { readBundle } from '../../src/core/bundleread.ts';
import { parseTrust, type Trust } from '../../src/core/checkpoint.ts';
import { openStatement } from '../../src/core/dsse.ts';
import { ed25519Signer, parseVerifierKey, signatureLine } from '../../src/core/note.ts';
import { proofPreimage } from '../../src/core/proof.ts';
import { parseTlogProof } from '../../src/core/tlogproof.ts';
import { type CheckId, checkIds, type Verdict, verdictCodes } from '../../src/core/verdict.ts';
import { verifyBundle } from '../../src/core/verify.ts';
import { projectRoot } from '../shared.ts';
import {
  logSigner,
  origin,
  privateKey,
  ProofLog,
  type ProveOptions,
  recordSampleRun,
  trust,
  witnessSigner,
} from './prooflog.ts';

const bytesOf = (bundle: Bundle): Buffer => Buffer.from(bundleText(bundle));
const verify = (bundle: Bundle, by: Trust | null = trust): Verdict => verifyBundle(bytesOf(bundle), by);
const result = (verdict: Verdict, id: CheckId) => verdict.checks.find((check) => check.id === id)!;
const failures = (verdict: Verdict) =>
  verdict.checks.filter(({ result }) => result === 'failed').map(({ id, code }) => `${id}: ${code}`);

function sample(options: ProveOptions = {}): Bundle {
  const log = new ProofLog();
  recordSampleRun(log);
  return log.prove('run-1', { between: 2, ...options });
}

/** A copy with one member replaced, by path. */
function changed(bundle: Bundle, path: readonly (string | number)[], value: unknown): Bundle {
  const copy = structuredClone(bundle) as unknown as Record<string | number, unknown>;
  let at = copy;
  for (const step of path.slice(0, -1)) at = at[step] as Record<string | number, unknown>;
  const last = path.at(-1)!;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy as unknown as Bundle;
}

describe('a bundle of a proved run', () => {
  it('is the golden bundle: every salt and nonce of the test log is fixed', () => {
    const golden = join(projectRoot, 'test/golden/sample.govproof.json');
    const text = bundleText(sample());
    if (!existsSync(golden)) throw new Error(`expected ${golden}`);
    expect(text).toBe(readFileSync(golden, 'utf8').trimEnd());
  });

  it('verifies under the log’s key, and layers that follow from it are computed again', () => {
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

  it('verifies when it was formatted by another tool', () => {
    const pretty = JSON.stringify(sample(), null, 2);
    expect(verifyBundle(Buffer.from(`${pretty}\n`), trust).verified).toBe(true);
  });

  it('verifies with the events’ own paths, without events, and without the graph', () => {
    expect(verify(sample({ events: 'paths' })).layers[0]).toMatchObject({ basis: 'recomputed' });
    const bare = verify(sample({ events: 'none', graph: false }));
    expect(bare.verified).toBe(true);
    expect(bare.layers.map(({ basis }) => basis)).toEqual(['attested', 'attested', 'attested']);
    const withoutPaths = verify(changed(sample(), ['eventsInclusion'], undefined));
    expect(withoutPaths.verified).toBe(true);
    expect(result(withoutPaths, 'events').detail).toContain('without paths');
    expect(withoutPaths.layers[0]).toMatchObject({ basis: 'attested' });
  });

  it('can show single events of the run, each by its own path', () => {
    const bundle = sample({ events: 'paths', disclose: (pointer) => pointer === '/action' });
    const verdict = verify(changed(bundle, ['events'], bundle.events!.slice(2, 4)));
    expect(verdict.verified).toBe(true);
    expect(verdict.notes).toContain('PARTIAL: 2 of the 8 events of the run are enclosed');
    expect(verdict.digests).toMatchObject({ disclosed: 2, missing: 0 });
    const unplaced = changed(bundle, ['events', 1, 'inclusion'], undefined);
    expect(failures(verify(unplaced))).toEqual(['events: NOT_INCLUDED']);
  });

  it('says so when fully disclosed events give the enclosed graph', () => {
    const verdict = verify(sample({ disclose: () => true }));
    expect(result(verdict, 'graph_derivation')).toMatchObject({ result: 'passed' });
    expect(verdict.digests).toEqual({ disclosed: 55, withheld: 0, missing: 0 });
  });
});

describe('trust', () => {
  it('comes from the caller: without a key nothing is verified', () => {
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

  it('refuses another key of the same name, and another origin', () => {
    const other = ed25519Signer(origin, privateKey('other'));
    const strange = verify(sample(), { ...trust, keys: [parseVerifierKey(other.verifierKey)] });
    expect(strange).toMatchObject({ verified: false, code: 'SIGNATURE_INVALID' });
    expect(verify(sample(), { ...trust, origin: 'gov.local/prj_other/audit' }).code).toBe('ORIGIN_MISMATCH');
  });

  it('counts distinct witnesses against the quorum', () => {
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

  it('ignores signature lines of keys that it does not know', () => {
    const bundle = sample();
    const text = bundle.checkpoint.slice(0, bundle.checkpoint.indexOf('\n\n') + 1);
    const line = signatureLine(text, ed25519Signer('stranger', privateKey('stranger')));
    expect(verify(changed(bundle, ['checkpoint'], bundle.checkpoint + line)).verified).toBe(true);
  });
});

describe('an honest negative', () => {
  const bundle = sample({ layers: ['replay_determinism', 'decision_lineage', 'log_inclusion'] });

  it('reads differently from tampering', () => {
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

  it('does not count where only other layers are required', () => {
    const options = { requireLayers: ['event_integrity', 'log_inclusion'] };
    expect(verifyBundle(bytesOf(bundle), trust, options).verified).toBe(true);
    const missing = verifyBundle(bytesOf(bundle), trust, { requireLayers: ['policy_compliance'] });
    expect(failures(missing)).toEqual(['layers_satisfied: LAYER_MISSING']);
    expect(verifyBundle(bytesOf(bundle), trust, { requireLayers: [] }).verified).toBe(false);
  });

  it('is given for effects that were recorded before their causes', () => {
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

  it.each(cases)('%s is seen', (_name, tampered, check, code) => {
    const verdict = verify(tampered);
    expect(verdict.verified).toBe(false);
    expect(failures(verdict)).toContain(`${check}: ${code}`);
    expect(Object.keys(verdictCodes)).toContain(verdict.code);
  });

  it('leaves a layer whose statement was forged without a word', () => {
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

  it('is never verified, wherever it is', { timeout: 120_000 }, () => {
    const flipped = Buffer.from(original);
    const survivors: number[] = [];
    for (let at = 0; at < original.length; at++) {
      flipped[at] = original[at]! ^ (1 << (at % 7));
      if (verifyBundle(flipped, trust).verified) survivors.push(at);
      flipped[at] = original[at]!;
    }
    expect(survivors.map((at) => original.toString('utf8', at - 20, at + 20))).toEqual([]);
  });

  it('matters in a signature of an unknown key only to its form', () => {
    const stranger = ed25519Signer('stranger', privateKey('stranger'));
    const text = bundle.checkpoint.slice(0, bundle.checkpoint.indexOf('\n\n') + 1);
    const line = signatureLine(text, stranger).replace(/.{3}=\n$/, 'AAA=\n');
    expect(verify(changed(bundle, ['checkpoint'], bundle.checkpoint + line)).verified).toBe(true);
    const loose = line.replace('AAA=\n', 'AAB=\n');
    expect(verify(changed(bundle, ['checkpoint'], bundle.checkpoint + loose)).verified).toBe(false);
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

  it('verify, and every enclosed graph follows from its events', () => {
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

describe('hostile input', () => {
  const malformed = (bytes: Uint8Array) =>
    expect(verifyBundle(bytes, trust)).toMatchObject({
      verified: false,
      code: 'MALFORMED_BUNDLE',
      layers: [],
    });

  it('is answered, never thrown', () => {
    malformed(Buffer.alloc(0));
    malformed(Buffer.from('null'));
    malformed(Buffer.from('[]'));
    malformed(Buffer.from('{}'));
    malformed(Buffer.from('['.repeat(100_000)));
    malformed(Buffer.from(`{"a":${'{"a":'.repeat(100)}1${'}'.repeat(101)}`));
    malformed(Buffer.from([0xff, 0xfe, 0x7b]));
    malformed(Buffer.from('{"mediaType":1e999}'));
    malformed(Buffer.from(bundleText(sample()).replace('"proof":', '"proof":0,"proof":')));
    malformed(Buffer.from(bundleText(sample()).replace('"events":', '"__proto__":')));
  });

  it('refuses members of a wrong type, and unknown ones, wherever they stand', () => {
    const bundle = sample({ disclose: () => true });
    const wrong: unknown[] = [null, -1, 1.5, 2 ** 53, 'x', [], {}, [[]], { __proto__: null, a: 1 }];
    const paths: (string | number)[][] = [
      ...Object.keys(bundle).map((member) => [member]),
      ['proof', 'layers', 0],
      ['proof', 'layers', 0, 'verified'],
      ['proof', 'commitment'],
      ['proofLeaf', 'index'],
      ['proofLeaf', 'inclusion'],
      ['events', 0],
      ['events', 0, 'index'],
      ['events', 0, 'record'],
      ['events', 0, 'disclosures'],
      ['graph', 'leaf'],
      ['graph', 'nodes', 0],
      ['graph', 'nodes', 1, 'index'],
      ['graph', 'edges', 0],
      ['graph', 'edges', 0, 0],
      ['graph', 'edges', 0, 2],
      ['layerStatements', 'event_integrity'],
    ];
    for (const path of paths) {
      for (const value of wrong) {
        const verdict = verify(changed(bundle, path, value));
        expect(verdict.verified, `${path.join('.')} = ${JSON.stringify(value)}`).toBe(false);
      }
    }
    expect(verify(changed(bundle, ['proof', 'note'], 'x')).code).toBe('MALFORMED_BUNDLE');
  });

  it('is answered for records, statements and disclosures that are no JSON, or other JSON', () => {
    const bundle = sample({ disclose: () => true });
    const texts = ['', '{', 'null', '"x"', '[1]', '{"a":1}', '\0', 'gov.layer/v1\n{}', '['.repeat(50_000)];
    for (const text of texts) {
      for (const path of [
        ['proofPreimage'],
        ['proofLeaf', 'record'],
        ['checkpoint'],
        ['proofCheckpoint'],
        ['events', 1, 'record'],
        ['graph', 'leaf', 'record'],
        ['layerStatements', 'causal_consistency'],
      ]) {
        expect(verify(changed(bundle, path, text)).verified).toBe(false);
      }
      const encoded = Buffer.from(text).toString('base64url');
      expect(verify(changed(bundle, ['events', 1, 'disclosures', 0], encoded)).verified).toBe(false);
    }
  });

  it('is bounded', () => {
    const bundle = sample();
    const hash = `sha256:${'0'.repeat(64)}`;
    const path = (length: number) => changed(bundle, ['consistency'], Array(length).fill(hash));
    expect(verify(path(limits.proofPathHashes)).code).toBe('NOT_CONSISTENT');
    expect(verify(path(limits.proofPathHashes + 1)).code).toBe('MALFORMED_BUNDLE');
    const long = (length: number) => changed(bundle, ['proofPreimage'], 'x'.repeat(length));
    expect(verify(long(limits.bundleStringBytes)).code).toBe('HASH_MISMATCH');
    expect(verify(long(limits.bundleStringBytes + 1)).code).toBe('MALFORMED_BUNDLE');
    expect(verifyBundle(Buffer.alloc(limits.bundleBytes + 1, 0x20), trust).code).toBe('MALFORMED_BUNDLE');
    const deep = `${'['.repeat(limits.jsonDepth + 1)}${']'.repeat(limits.jsonDepth + 1)}`;
    expect(verifyBundle(Buffer.from(deep), trust).code).toBe('MALFORMED_BUNDLE');
  });
});

/** What an attacker without the log's key can do: change anything, then make every hash fit. */
function rehashed(bundle: Bundle): Bundle {
  const hash = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
  const copy = structuredClone(bundle) as Mutable<Bundle>;
  try {
    for (const layer of copy.proof.layers) layer.hash = hash(copy.layerStatements[layer.name] ?? '');
    const { preimage, hash: proofHash } = proofPreimage(copy.proof);
    copy.proofPreimage = preimage;
    copy.proofLeaf.record = copy.proofLeaf.record.replace(copy.proof.proofHash, proofHash);
    copy.proof.proofHash = proofHash;
  } catch {
    // what was changed is no proof any more
  }
  return copy as Bundle;
}

type Mutable<Value> = { -readonly [Name in keyof Value]: Mutable<Value[Name]> };

describe('a forger who makes every hash fit, but has no key', () => {
  const bundle = sample({ disclose: () => true, layers: ['causal_consistency', 'log_inclusion'] });
  const statements = (edit: (text: string) => string): Bundle =>
    rehashed({
      ...bundle,
      layerStatements: Object.fromEntries(
        Object.entries(bundle.layerStatements).map(([name, text]) => [name, edit(text)]),
      ),
    });

  it('is found out by the signed tree', () => {
    expect(verify(rehashed(bundle)).verified).toBe(true);
    const fewer = statements((text) => text.replace('"runEvents":8', '"runEvents":7'));
    expect(failures(verify(fewer))).toContain('proof_inclusion: NOT_INCLUDED');
    expect(verify(fewer).verified).toBe(false);
  });

  it('may claim a run without events', () => {
    const none = statements((text) =>
      text
        .replace('"runEvents":8', '"runEvents":0')
        .replace(/"runRoot":"[^"]+"/, `"runRoot":"sha256:${createHash('sha256').digest('hex')}"`),
    );
    for (const events of [[], undefined]) {
      const verdict = verify(changed(changed(none, ['events'], events), ['eventsInclusion'], undefined));
      expect(verdict.verified).toBe(false);
    }
  });

  it('is answered whatever was changed, anywhere', () => {
    const paths: (string | number)[][] = [];
    const walk = (value: unknown, path: (string | number)[]): void => {
      if (path.length > 0) paths.push(path);
      if (Array.isArray(value)) value.slice(0, 3).forEach((item, at) => walk(item, [...path, at]));
      else if (typeof value === 'object' && value !== null) {
        for (const [name, member] of Object.entries(value)) walk(member, [...path, name]);
      }
    };
    walk(bundle, []);
    const anything = fc.oneof(
      fc.jsonValue({ maxDepth: 1 }),
      fc.constantFrom(
        0,
        -1,
        2 ** 53 - 1,
        2 ** 31,
        '',
        'sha256:',
        `sha256:${'0'.repeat(64)}`,
        'gov.layer/v1\n{}',
        'evt_',
        'x-',
      ),
    );
    fc.assert(
      fc.property(fc.constantFrom(...paths), anything, (path, value) => {
        const forged = rehashed(changed(bundle, path, value));
        if (bundleText(forged) === bundleText(bundle)) return;
        for (const by of [trust, null]) expect(verifyBundle(bytesOf(forged), by).verified).toBe(false);
      }),
      { numRuns: 2000, seed: 11 },
    );
  });

  it('is answered for statements and records with one character changed, removed or doubled', () => {
    const texts = fc.constantFrom<(string | number)[]>(
      ['layerStatements', 'event_integrity'],
      ['layerStatements', 'causal_consistency'],
      ['events', 2, 'record'],
      ['graph', 'leaf', 'record'],
      ['checkpoint'],
    );
    fc.assert(
      fc.property(texts, fc.nat(), fc.constantFrom('', '"', '{', '9', '\\', '-', 'é'), (path, pick, put) => {
        const text = path.reduce((at: unknown, step) => (at as never)[step], bundle) as string;
        const at = pick % text.length;
        const edited = text.slice(0, at) + put + text.slice(at + 1);
        if (edited === text) return;
        expect(verify(rehashed(changed(bundle, path, edited))).verified).toBe(false);
      }),
      { numRuns: 1500, seed: 12 },
    );
  });
});

describe('what can be checked without us', () => {
  it('sha256 of each explained text is the hash beside it', () => {
    const bundle = readBundle(bytesOf(sample()));
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

  it('the proof is a C2SP tlog-proof', () => {
    const bundle = sample();
    const { index, checkpoint, path } = parseTlogProof(bundleTlogProof(bundle));
    expect(index).toBe(bundle.proofLeaf.index);
    expect(checkpoint).toBe(bundle.proofCheckpoint);
    expect(path).toHaveLength(bundle.proofLeaf.inclusion.length);
  });

  it('the in-toto statement is about proofHash, and an envelope about another proof is refused', () => {
    const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const bundle = sample({ dsseKey: key });
    const statement = openStatement(bundle.dsse, publicKey)!;
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

  it('the trust file of the log verifies it', () => {
    const text = `log ${logSigner.verifierKey}\nquorum none\n`;
    expect(verify(sample(), parseTrust(text)).verified).toBe(true);
  });
});
