/** Bundles made by an attacker: each is answered, none is verified, nothing is thrown. */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { type Bundle, bundleText } from '../../../src/core/proof/bundle.ts';
import { proofPreimage } from '../../../src/core/proof/binding.ts';
import { verifyBundle } from '../../../src/core/proof/verify.ts';
import { bytesOf, changed, failures, sample, trust, verify } from './log.ts';

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
    const padded = (length: number) =>
      Buffer.concat([bytesOf(bundle)], length).fill(0x20, bytesOf(bundle).length);
    expect(verifyBundle(padded(limits.bundleBytes), trust).code).toBe(verify(bundle).code);
    expect(verifyBundle(padded(limits.bundleBytes + 1), trust).code).toBe('TOO_LARGE');
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

  it('is answered whatever was changed, anywhere', { timeout: 60_000 }, () => {
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
      { numRuns: 1000, seed: 11 },
    );
  });

  it(
    'is answered for statements and records with one character changed, removed or doubled',
    { timeout: 60_000 },
    () => {
      const texts = fc.constantFrom<(string | number)[]>(
        ['layerStatements', 'event_integrity'],
        ['layerStatements', 'causal_consistency'],
        ['events', 2, 'record'],
        ['graph', 'leaf', 'record'],
        ['checkpoint'],
      );
      fc.assert(
        fc.property(
          texts,
          fc.nat(),
          fc.constantFrom('', '"', '{', '9', '\\', '-', 'é'),
          (path, pick, put) => {
            const text = path.reduce((at: unknown, step) => (at as never)[step], bundle) as string;
            const at = pick % text.length;
            const edited = text.slice(0, at) + put + text.slice(at + 1);
            if (edited === text) return;
            expect(verify(rehashed(changed(bundle, path, edited))).verified).toBe(false);
          },
        ),
        { numRuns: 1000, seed: 12 },
      );
    },
  );
});
