import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManifestChain, readManifest } from '../../../src/core/forwards/chain.ts';
import { manifestSchema, manifestText, type ForwardManifest } from '../../../src/core/forwards/manifest.ts';

const digits = (value: number): string => String(value).padStart(16, '0');

const manifestOf = (
  sequence: number,
  previous: string | null,
  more: Partial<ForwardManifest> = {},
): ForwardManifest => ({
  schema: manifestSchema,
  projectId: 'prj_1',
  origin: 'example.com/log/audit',
  sequence,
  previous,
  leaves: { from: sequence * 10, to: sequence * 10 + 10 },
  object: {
    key: `siem/prj_1/records/${digits(sequence * 10)}-${digits(sequence * 10 + 9)}.ndjson.gz`,
    bytes: 5,
    sha256: `sha256:${'a'.repeat(64)}`,
    records: 10,
  },
  ...more,
});

function texts(count: number, change: (sequence: number) => Partial<ForwardManifest> = () => ({})): string[] {
  const made: string[] = [];
  let previous: string | null = null;
  for (let sequence = 0; sequence < count; sequence++) {
    const { text, hash } = manifestText(manifestOf(sequence, previous, change(sequence)));
    made.push(text);
    previous = hash;
  }
  return made;
}

const faultOf = (written: readonly string[]): string | null => {
  const chain = new ManifestChain();
  try {
    for (const text of written) chain.add(text);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};

describe('a chain of manifests', () => {
  it('accepts the manifests of a target in order, and knows the last one', () => {
    const chain = new ManifestChain();
    expect(chain.head).toBeNull();
    const written = texts(3);
    for (const text of written) chain.add(text);
    expect(chain.head).toMatchObject({ manifest: { sequence: 2, leaves: { from: 20, to: 30 } } });
    expect(chain.head!.hash).toBe(manifestText(readManifest(written[2]!)).hash);
  });

  it.each<[string, string[], string]>([
    ['a missing manifest', texts(3).toSpliced(1, 1), '/sequence: expected 1'],
    ['a missing first manifest', texts(2).slice(1), '/sequence: expected 0'],
    ['another order', [texts(3)[0]!, texts(3)[2]!, texts(3)[1]!], '/sequence: expected 1'],
    ['a repeated manifest', [texts(1)[0]!, texts(1)[0]!], '/sequence: expected 1'],
    [
      'a changed manifest',
      texts(3).with(1, texts(3)[1]!.replace('"records":10', '"records":9')),
      '/previous: expected the hash',
    ],
    [
      'a gap between leaves',
      texts(2, (at) => (at === 1 ? { leaves: { from: 11, to: 20 }, object: null } : {})),
      '/leaves: expected leaves from 10',
    ],
    ['another log', texts(2, (at) => ({ origin: `log-${at}` })), '/origin: expected the log log-0'],
    [
      'another project',
      texts(2, (at) => ({ projectId: `prj_${at}`, object: null })),
      '/projectId: expected prj_0',
    ],
    ['a key of another range', texts(1, () => ({ leaves: { from: 0, to: 11 } })), '/key: expected a key'],
    ['another schema', texts(1, () => ({ schema: 'gov.forward-manifest/2' as never })), '/schema'],
    ['a member more', texts(1, () => ({ more: 1 }) as never), 'no such member'],
    ['another spelling', [texts(1)[0]!.replace(',', ', ')], 'canonical JSON'],
    ['no JSON', ['{'], 'end of the text'],
    ['nothing', [''], 'JSON'],
  ])('refuses %s', (_, written, fault) => {
    expect(faultOf(written)).toContain(fault);
  });

  it('refuses a chain with any changed bit', () => {
    const written = texts(3);
    fc.assert(
      fc.property(fc.nat(1), fc.nat(), (which, bit) => {
        const bytes = Buffer.from(written[which]!);
        bytes[Math.floor(bit / 8) % bytes.length]! ^= 1 << (bit % 8);
        expect(faultOf(written.with(which, bytes.toString('utf8')))).not.toBeNull();
      }),
    );
  });

  it('refuses a key that leads out of its folder', () => {
    const key = 'prj_1/records/../../0000000000000000-0000000000000009.ndjson.gz';
    const object = { ...manifestOf(0, null).object!, key };
    expect(faultOf(texts(1, () => ({ object })))).toContain('/key: expected a key');
  });
});
