import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { draftErasure } from '../../../src/core/decided/erasure.ts';
import { digestOf, disclosureTexts, storedDigests } from '../../../src/core/events/disclosure.ts';
import { eraseDigests } from '../../../src/core/events/erased.ts';
import { exportHead } from '../../../src/core/exports/artifact.ts';
import { verifyExport } from '../../../src/core/exports/verify.ts';
import { artifactOf, erasure, events, faults, inChunks, verifyText } from './log.ts';
import { logSigner, type ProofLog, trust, witnessSigner } from '../proofs/log.ts';
import { parseVerifierKey } from '../../../src/core/note/signed.ts';

const hash = Buffer.alloc(32, 1).toString('base64');
const withGap = (line: string, hashes: number): string =>
  line.replace('"record":', `"gap":[${Array<string>(hashes).fill(`"${hash}"`).join(',')}],"record":`);

/** The artifact with one line changed. */
const withLine = (text: string, at: number, change: (line: string) => string): string =>
  text
    .split('\n')
    .map((line, number) => (number === at ? change(line) : line))
    .join('\n');

describe('an export with proof', () => {
  it('an export with proof is verified from its bytes alone, in chunks of any size', async () => {
    const text = artifactOf(events(), { later: 3 });
    for (const chunk of [1, 7, 64 * 1024]) {
      const verdict = await verifyText(text, chunk);
      expect(faults(verdict)).toEqual([]);
      expect(verdict).toMatchObject({
        verified: true,
        code: null,
        exportId: 'exp_01kfn3v5k8hf7wb3c9x2m4n6p8',
        requestedBy: 'key_1',
        manifest: { treeSize: 6, rowCount: 4, firstSequence: 1, lastSequence: 5 },
      });
    }
  });

  it('an export with proof is one JSON document with the members of the contract', () => {
    const value = JSON.parse(artifactOf(events())) as Record<string, unknown>;
    expect(Object.keys(value)).toEqual([
      'schemaVersion',
      'resource',
      'generatedAt',
      'filters',
      'data',
      'manifest',
      'proof',
    ]);
    expect((value['data'] as { sequence: number }[]).map(({ sequence }) => sequence)).toEqual([1, 3, 4, 5]);
  });

  it('an export with proof is verified with no rows, one row, or any rows', async () => {
    const filters = { runId: 'r' };
    await fc.assert(
      fc.asyncProperty(fc.subarray([1, 3, 4, 5]), fc.nat(20), async (rows, later) => {
        const verdict = await verifyText(artifactOf(events(), { rows, later }));
        expect(faults(verdict)).toEqual([]);
        expect(verdict.verified).toBe(true);
      }),
      { numRuns: 40 },
    );
    expect((await verifyText(artifactOf(events(), { rows: [1, 4], filters }))).verified).toBe(true);
  });

  it('the verification of an export notes that its completeness is not proved', async () => {
    const { notes } = await verifyText(artifactOf(events()));
    expect(notes).toEqual([
      expect.stringMatching(/^NOT PROVED COMPLETE: .* 2 of its 6 leaves/),
      expect.stringMatching(/^UNWITNESSED/),
    ]);
  });

  it('the verification of an export counts the witnesses that the trust asks for', async () => {
    const asking = { ...trust, witnesses: [parseVerifierKey(witnessSigner.verifierKey)], quorum: 1 };
    const alone = await verifyText(artifactOf(events()), undefined, asking);
    expect(faults(alone)).toEqual(['witnesses: WITNESS_QUORUM_NOT_MET']);
    const both = await verifyText(
      artifactOf(events(), { signers: [logSigner, witnessSigner] }),
      undefined,
      asking,
    );
    expect(both.verified).toBe(true);
  });

  it('an export is not verified without trust, although all its checks run', async () => {
    const text = artifactOf(events());
    const verdict = await verifyExport(inChunks(Buffer.from(text)), null);
    expect(verdict).toMatchObject({ verified: false, code: 'NO_TRUSTED_KEY' });
    const altered = await verifyExport(
      inChunks(Buffer.from(withLine(text, 2, (line) => line.replace('"db"', '"dc"')))),
      null,
    );
    expect(altered.code).toBe('ROW_MISMATCH');
  });

  it.each<[string, string]>([
    ['another member', '"do","sequence":9'],
    ['more than a value', '"do","x"'],
    ['a name twice', '{"a":1,"a":2}'],
    ['another spelling', '"\\u0064o"'],
    ['a space', '"do" '],
    ['nothing', ''],
  ])('an export is refused when the log itself committed to %s in place of a value', async (_what, value) => {
    const log = events();
    const { record, disclosures } = log.leaves[log.record({ runId: 'r', metadata: { n: 'do' } }).index]!;
    const pointer = ',"/metadata/n",';
    const field = disclosureTexts(disclosures!)!.find((text) => text.includes(pointer))!;
    const forged = `${field.slice(0, field.indexOf(pointer) + pointer.length)}${value}]`;
    const index = log.append({
      kind: 'other',
      type: 'gov.genesis/1',
      runId: null,
      id: null,
      record: record.replace(digestOf(field), digestOf(forged)),
      disclosures: disclosures!.replace(field, forged),
    });
    const verdict = await verifyText(artifactOf(log, { rows: [index] }));
    expect(faults(verdict)).toContain('rows: ROW_MISMATCH');
    expect(verdict.verified).toBe(false);
  });

  it('an export is not verified for the log of another project', async () => {
    const other = { ...trust, origin: 'gov.local/prj_other/audit' };
    expect((await verifyText(artifactOf(events()), undefined, other)).verified).toBe(false);
  });

  it('an export without proof is reported as such', async () => {
    const verdict = await verifyText(artifactOf(events(), { isProved: false }));
    expect(verdict).toMatchObject({ verified: false, code: 'EXPORT_WITHOUT_PROOF' });
  });
});

describe('a tampered export', () => {
  const text = artifactOf(events(), { later: 2 });
  const empty = artifactOf(events(), { rows: [] });

  it('an export with one changed byte is never verified', { timeout: 120_000 }, async () => {
    for (const [original, step] of [
      [Buffer.from(text), 1],
      [Buffer.from(empty), 3],
    ] as const) {
      const survivors: string[] = [];
      const changed = Buffer.from(original);
      for (let at = 0; at < original.length; at += step) {
        changed[at] = original[at]! ^ (1 << (at % 8));
        if ((await verifyText(changed)).verified) survivors.push(original.toString('utf8', at - 20, at + 20));
        changed[at] = original[at]!;
      }
      expect(survivors).toEqual([]);
    }
  });

  it(
    'an export with an added or missing byte, or with a cut end, is never verified',
    { timeout: 120_000 },
    async () => {
      const original = Buffer.from(text);
      await fc.assert(
        fc.asyncProperty(fc.nat(original.length - 1), fc.integer({ min: 0, max: 255 }), async (at, byte) => {
          const more = Buffer.concat([original.subarray(0, at), Buffer.of(byte), original.subarray(at)]);
          const less = Buffer.concat([original.subarray(0, at), original.subarray(at + 1)]);
          if (!more.equals(original)) expect((await verifyText(more)).verified).toBe(false);
          expect((await verifyText(less)).verified).toBe(false);
          expect((await verifyText(original.subarray(0, at))).verified).toBe(false);
        }),
        { numRuns: 400 },
      );
      expect((await verifyText(`${text}\n`)).verified).toBe(false);
      expect((await verifyText(`\ufeff${text}`)).verified).toBe(false);
      expect((await verifyText('')).code).toBe('MALFORMED_EXPORT');
    },
  );

  const lines = text.split('\n');
  const cases: [string, string, string][] = [
    ['a row left out', lines.toSpliced(2, 1).join('\n'), 'manifest: MANIFEST_MISMATCH'],
    ['a row twice', lines.toSpliced(2, 0, lines[2]!).join('\n'), 'manifest: MANIFEST_MISMATCH'],
    ['rows exchanged', lines.with(2, lines[3]!).with(3, lines[2]!).join('\n'), 'manifest: NOT_INCLUDED'],
    ['another value', text.replace('"cost":0.1', '"cost":0.2'), 'rows: ROW_MISMATCH'],
    [
      'another value with its disclosure',
      text.replaceAll(/"(\/metadata\/)?cost"([:,])0.1/g, '"$1cost"$20.2'),
      'rows: ROW_MISMATCH',
    ],
    ['another index', text.replace('"index":5', '"index":4'), 'rows: ROW_MISMATCH'],
    ['another filter', text.replace('"filters":{}', '"filters":{"runId":"r"}'), 'rows: ROW_MISMATCH'],
    ['another time', text.replace(/"generatedAt":"2026/, '"generatedAt":"2027'), 'request: EXPORT_MISMATCH'],
    [
      'another resource',
      text.replace('"resource":"audit_events"', '"resource":"replays"'),
      'rows: ROW_MISMATCH',
    ],
    ['of jobs', text.replace('"resource":"audit_events"', '"resource":"jobs"'), 'rows: ROW_MISMATCH'],
    [
      'a gap of 200,000 hashes',
      withLine(text, 1, (line) => withGap(line, 200_000)),
      'format: MALFORMED_EXPORT',
    ],
    ['a gap of 200 hashes', withLine(text, 1, (line) => withGap(line, 200)), 'format: MALFORMED_EXPORT'],
    [
      'a path of 100,000 hashes',
      text.replace('"consistency":[', `"consistency":[${`"${hash}",`.repeat(100_000)}`),
      'format: MALFORMED_EXPORT',
    ],
    ['spaces', text.replace('"data":[', '"data": ['), 'format: MALFORMED_EXPORT'],
    ['a comma too many', withLine(text, 4, (line) => `${line},`), 'format: MALFORMED_EXPORT'],
    ['a comma too few', withLine(text, 2, (line) => line.slice(0, -1)), 'format: MALFORMED_EXPORT'],
    [
      'a member twice',
      text.replace('"schemaVersion":"1.0",', '"schemaVersion":"1.0","schemaVersion":"1.0",'),
      'format: MALFORMED_EXPORT',
    ],
    [
      'a row without evidence',
      withLine(text, 2, (line) => line.replace(/"evidence":\{.*\},"eventId"/, '"eventId"')),
      'rows: EXPORT_WITHOUT_PROOF',
    ],
    ['a tree that is smaller', text.replace('"treeSize":6', '"treeSize":5'), 'manifest: NOT_INCLUDED'],
    ['no hashes between', text.replace(/"gap":\["[^\]]*\],"record"/, '"record"'), 'manifest: NOT_INCLUDED'],
    [
      'a disclosure left out',
      withLine(text, 4, (line) => line.replace(/"disclosures":\[\[[^\]]*\],/, '"disclosures":[')),
      'rows: ROW_MISMATCH',
    ],
  ];
  it.each(cases)('the verification of an export detects %s', async (_name, tampered, fault) => {
    expect(tampered).not.toBe(text);
    const verdict = await verifyText(tampered);
    expect(verdict.verified).toBe(false);
    expect(faults(verdict)).toContain(fault);
  });

  it('an export with a head that another key signed is not verified', async () => {
    const verdict = await verifyText(artifactOf(events(), { signers: [witnessSigner] }));
    expect(verdict.code).toBe('SIGNATURE_INVALID');
  });

  it.each([
    ['of another export', { filters: { runId: 'r' } }],
    ['without proof', { includeProof: false }],
    ['at another size', { treeSize: 5 }],
    ['with more', { more: 1 }],
  ])('an export with a request %s is not verified', async (_name, request) => {
    const verdict = await verifyText(artifactOf(events(), { request }));
    expect(faults(verdict)).toEqual(['request: EXPORT_MISMATCH']);
  });

  it('an export with a line over the limit is refused, and a line of the limit is checked', async () => {
    const long = (bytes: number) => Buffer.alloc(bytes, 'x');
    const over = await verifyText(
      Buffer.concat([Buffer.from(`${lines[0]}\n`), long(limits.exportLineBytes + 1)]),
    );
    expect(over.checks[0]?.detail).toContain('at most');
    const at = await verifyText(
      Buffer.concat([Buffer.from(`${lines[0]}\n`), long(limits.exportLineBytes), Buffer.from('\n')]),
    );
    expect(at.checks[0]?.detail).toContain('expected a row');
  });

  it('an export whose bytes cannot be read gives an error and no verdict', async () => {
    const broken = async function* () {
      yield Buffer.from(text.slice(0, 100));
      throw new Error('the disk is gone');
    };
    await expect(verifyExport(broken(), trust)).rejects.toThrow('the disk is gone');
  });
});

describe('an export of events with erased fields', () => {
  /** The third leaf without one of its fields, or without all; the erasure stands behind it. */
  function erasedLog(which: 'one' | 'all'): ProofLog {
    const log = events();
    const leaf = log.leaves[3]!;
    const all = storedDigests(leaf.disclosures!)!;
    const digests = which === 'one' ? all.slice(0, 1) : all;
    const at = log.append(draftErasure(erasure([{ index: 3, digests }])));
    const after = eraseDigests({ disclosures: leaf.disclosures!, erased: null }, { digests, leaf: at })!;
    log.leaves[3] = { ...leaf, disclosures: after.body.disclosures, erased: after.body.erased! };
    log.record({ runId: 'r' });
    return log;
  }

  it.each(['one', 'all'] as const)(
    'an export is verified by the leaf that erased %s of the fields',
    async (which) => {
      const verdict = await verifyText(artifactOf(erasedLog(which)));
      expect(faults(verdict)).toEqual([]);
      expect(verdict.digests?.erased).toBeGreaterThan(0);
    },
  );

  it('an export with missing fields is not verified when no leaf erased them', async () => {
    const text = artifactOf(erasedLog('one'));
    const without = text.replace(/"erasures":\[\{.*?\}\](?=,"gap")/, '"erasures":[]');
    expect(faults(await verifyText(without))).toEqual(['disclosures: DISCLOSURE_MISSING']);
    const silent = text.replace(/,"erased":\[\[6,"[^"]*"\]\]\}/, '}').replace(/,"erased":\[\{[^\]]*\]/, '');
    expect((await verifyText(silent)).verified).toBe(false);
    const log = erasedLog('one');
    log.leaves[3] = { ...log.leaves[3]!, erased: log.leaves[3]!.erased!.replace('[[6', '[[2') };
    expect(faults(await verifyText(artifactOf(log)))).toEqual(['disclosures: NOT_INCLUDED']);
  });

  it(
    'an export with erased fields is never verified with one changed byte',
    { timeout: 120_000 },
    async () => {
      const original = Buffer.from(artifactOf(erasedLog('one')));
      const changed = Buffer.from(original);
      for (let at = 0; at < original.length; at += 3) {
        changed[at] = original[at]! ^ (1 << (at % 7));
        if ((await verifyText(changed)).verified)
          expect(original.toString('utf8', at - 20, at + 20)).toBe('seen');
        changed[at] = original[at]!;
      }
    },
  );
});

it('the beginning of an export has the members that the contract defines', () => {
  const head = { resource: 'jobs', generatedAt: '2026-01-05T09:00:00.000Z', filters: '{}' } as const;
  expect(exportHead(head)).toBe(
    '{"schemaVersion":"1.0","resource":"jobs","generatedAt":"2026-01-05T09:00:00.000Z","filters":{},"data":[\n',
  );
});
