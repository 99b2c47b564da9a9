/** `gov/verify` in Node: the built file judges as the verifier of `gov proofs verify` does. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import * as source from '../../src/client/verify.ts';
import { bytesOf, logSigner, sample, trust } from '../core/proofs/log.ts';
import { formatTrust } from '../../src/core/note/trust.ts';
import { projectRoot } from '../paths.ts';
import { cases } from './web/evidence.ts';

const all = await cases();
const load = async (file: string): Promise<typeof source> =>
  (await import(/* @vite-ignore */ pathToFileURL(join(projectRoot, 'dist', file)).href)) as typeof source;

it.each(['verify.js', 'verify-web.js'])(
  'the built file %s gives every sound and every changed file the verdict of the verifier',
  async (file) => {
    const { verify, readTrust } = await load(file);
    const kinds = new Set<string>();
    let verified = 0;
    for (const { name, kind, bytes, trust: text, verdict } of all) {
      const got = await verify(bytes, { trust: text === null ? null : readTrust(text) });
      expect(got, `${kind}, ${name}`).toEqual({ kind, ...verdict });
      kinds.add(got.kind);
      verified += got.verified ? 1 : 0;
    }
    expect([...kinds].sort()).toEqual(['answer', 'export', 'proof', 'report']);
    expect(verified).toBeGreaterThan(3);
    expect(all.length - verified).toBeGreaterThan(200);
  },
);

describe('the verifier of the library', () => {
  const bundle = bytesOf(sample());
  const { verify, readTrust } = source;
  const by = { trust: readTrust(logSigner.verifierKey) };

  it('takes text, bytes, a buffer and a blob in pieces', async () => {
    const inputs = [
      bundle.toString(),
      bundle,
      Uint8Array.from(bundle).buffer,
      new Blob([Uint8Array.from(bundle)]),
    ];
    for (const evidence of inputs) expect(await verify(evidence, by)).toMatchObject({ verified: true });
  });

  it('verifies nothing if a required layer is missing', async () => {
    expect(await verify(bundle, { ...by, requireLayers: ['x-none'] })).toMatchObject({
      verified: false,
      code: 'LAYER_MISSING',
    });
  });

  it('verifies nothing without trust, and says so', async () => {
    expect(await verify(bundle, { trust: null })).toMatchObject({ verified: false, code: 'NO_TRUSTED_KEY' });
  });

  it('reads a trust file, a key, and several keys of one log with comments', () => {
    expect(readTrust(formatTrust(trust))).toMatchObject({ origin: trust.origin, quorum: trust.quorum });
    const twice = `# the log\n${logSigner.verifierKey}\n\n`;
    expect(readTrust(twice)).toMatchObject({ origin: trust.origin, quorum: 0, witnesses: [] });
  });

  it('refuses a key that it cannot read, and keys of two logs', () => {
    const other = logSigner.verifierKey.replace(/^[^+]+/, 'other.example');
    for (const text of ['', 'x', other, `${logSigner.verifierKey}\n${other}`]) {
      expect(() => readTrust(text)).toThrow(source.GovTrustError);
    }
  });
});
