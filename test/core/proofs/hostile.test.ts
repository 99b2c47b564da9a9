/** Bundles made by an attacker: each is answered, none is verified, nothing is thrown. */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { type Bundle, bundleText } from '../../../src/core/proofs/bundle.ts';
import { proofPreimage } from '../../../src/core/proofs/binding.ts';
import { verifyBundle, verifyBundleFile } from '../../../src/core/proofs/verify.ts';
import { bytesOf, changed, failures, sample, trust, verify } from './log.ts';
import { disclosed as original, inEvents, withBytes } from './padded.ts';

describe('hostile input', () => {
  const malformed = (bytes: Uint8Array) =>
    expect(verifyBundle(bytes, trust)).toMatchObject({
      verified: false,
      code: 'MALFORMED_BUNDLE',
      layers: [],
    });

  it('a hostile bundle gets a verdict and never an exception', () => {
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

  it('a bundle with a member of a wrong type, or an unknown member, is refused at any place', () => {
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

  it('a bundle with invalid JSON in records, statements or disclosures gets a verdict', () => {
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

  it('the size of each part of a bundle is limited', () => {
    const bundle = sample();
    const hash = `sha256:${'0'.repeat(64)}`;
    const path = (length: number) => changed(bundle, ['consistency'], Array(length).fill(hash));
    expect(verify(path(limits.proofPathHashes)).code).toBe('NOT_CONSISTENT');
    expect(verify(path(limits.proofPathHashes + 1)).code).toBe('MALFORMED_BUNDLE');
    const long = (length: number) => changed(bundle, ['proofPreimage'], 'x'.repeat(length));
    expect(verify(long(limits.bundleStringBytes)).code).toBe('HASH_MISMATCH');
    expect(verify(long(limits.bundleStringBytes + 1)).code).toBe('MALFORMED_BUNDLE');
    const deep = `${'['.repeat(limits.jsonDepth + 1)}${']'.repeat(limits.jsonDepth + 1)}`;
    expect(verifyBundle(Buffer.from(deep), trust).code).toBe('MALFORMED_BUNDLE');
  });
});

describe('a large file', () => {
  it('one event has a limit, so that no string of 100 MB is kept', async () => {
    const padding = Buffer.alloc(1024 * 1024, 0x61);
    const inRecord = original.indexOf('"record":"', inEvents) + '"record":"'.length;
    const string = withBytes(inRecord, 100 * 1024 * 1024, padding);
    expect((await string.verdict()).code).toBe('MALFORMED_BUNDLE');
    expect(string.pieces()).toBeLessThan(4);
    const first = sample({ disclose: () => true }).events![0]!;
    const most = limits.bundleEventBytes - Buffer.byteLength(bundleText(first as never));
    expect((await withBytes(inEvents + 1, most).verdict()).code).toBeNull();
    expect((await withBytes(inEvents + 1, most + 1).verdict()).code).toBe('MALFORMED_BUNDLE');
  });

  it('a file that is cut is refused, wherever that is', async () => {
    for (let at = 0; at < original.length; at += 97) {
      const read = async function* () {
        yield original.subarray(0, at);
      };
      expect((await verifyBundleFile(read, trust)).code).toBe('MALFORMED_BUNDLE');
    }
  });

  it('the members of a bundle may have any order, and chunks may end anywhere', async () => {
    const members = Object.entries(JSON.parse(original.toString()) as Record<string, unknown>);
    const events = members.findIndex(([name]) => name === 'events');
    for (const to of [0, 3, members.length - 1]) {
      const moved = members.toSpliced(events, 1).toSpliced(to, 0, members[events]!);
      const bytes = Buffer.from(JSON.stringify(Object.fromEntries(moved)));
      for (const size of [1, 1000]) {
        const read = async function* () {
          for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
        };
        expect(await verifyBundleFile(read, trust)).toEqual(verifyBundle(original, trust));
      }
    }
  });

  it('a second list of events is refused, before and after the first', async () => {
    const text = original.toString();
    const twice = [
      text.replace('{', '{"events":[],'),
      text.replace(/\}$/, ',"events":[]}'),
      text.replace(/\}$/, ',"\\u0065vents":[{"index":1,"record":"x"}]}'),
      text.replace('"nodes":', '"nodes":[],"nodes":'),
    ];
    for (const each of twice) {
      expect(verifyBundle(Buffer.from(each), trust).code, each.slice(-60)).toBe('MALFORMED_BUNDLE');
    }
  });

  it('a file that changes between the two passes is never verified by what was not read', async () => {
    const altered = bytesOf(changed(sample({ disclose: () => true }), ['events', 1, 'index'], 0));
    for (const [first, second] of [
      [original, altered],
      [original, Buffer.from('{}')],
      [original, original.subarray(0, inEvents + 10)],
      [altered.subarray(0, 100), original],
    ] as const) {
      let pass = 0;
      const read = async function* () {
        yield pass++ === 0 ? first : second;
      };
      expect((await verifyBundleFile(read, trust)).verified).toBe(false);
    }
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

describe('a forged bundle with matching hashes but without the key', () => {
  const bundle = sample({ disclose: () => true, layers: ['causal_consistency', 'log_inclusion'] });
  const statements = (edit: (text: string) => string): Bundle =>
    rehashed({
      ...bundle,
      layerStatements: Object.fromEntries(
        Object.entries(bundle.layerStatements).map(([name, text]) => [name, edit(text)]),
      ),
    });

  it('the signed tree exposes a bundle forged with matching hashes but without the key', () => {
    expect(verify(rehashed(bundle)).verified).toBe(true);
    const fewer = statements((text) => text.replace('"runEvents":8', '"runEvents":7'));
    expect(failures(verify(fewer))).toContain('proof_inclusion: NOT_INCLUDED');
    expect(verify(fewer).verified).toBe(false);
  });

  it('a forged bundle that claims a run without events is not verified', () => {
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

  it('a forged bundle gets a verdict after any change at any place', { timeout: 60_000 }, () => {
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

  it('a bundle gets a verdict after any changed, removed or doubled character', { timeout: 60_000 }, () => {
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
      { numRuns: 1000, seed: 12 },
    );
  });
});
