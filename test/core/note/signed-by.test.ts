/**
 * Who signed, and by whose word nothing is missing. The bundles of `evidence/` are real: `noed` and `noml` lack one of two
 * signatures, and the operator of the third left two signed events out of its index with changed software.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseTrust } from '../../../src/core/note/trust.ts';
import { requireStrength } from '../../../src/core/proofs/strength.ts';
import type { ProofVerdict } from '../../../src/core/proofs/verdict.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';

const read = (name: string): Buffer => readFileSync(join(import.meta.dirname, 'evidence', name));

function verdict(name: string, trust: string, require = ''): ProofVerdict {
  const text = read(`${trust}.trust`).toString('utf8');
  return verifyBundle(read(`${name}.govproof.json`), parseTrust(`${require}${text}`));
}

const checkpoints = ({ checks }: ProofVerdict) => checks.find(({ id }) => id === 'checkpoint_signatures');

describe('a bundle with one of two signatures', () => {
  it.each([
    ['noed', 'ml-dsa-44', 'ed25519'],
    ['noml', 'ed25519', 'ml-dsa-44'],
  ])('%s is verified, and names %s and the missing %s', (name, there, missing) => {
    for (const require of ['', 'require any\n']) {
      const found = verdict(name, 'split-view', require);
      expect(found).toMatchObject({
        verified: true,
        signatures: [{ algorithm: there, keyId: expect.stringMatching(/^[0-9a-f]{8}$/) }],
        missingAlgorithms: [missing],
      });
      expect(found.notes).toContain(`SIGNATURE_MISSING: signed by: ${there}; ${missing} missing`);
      expect(checkpoints(found)?.detail).toBe(`by ${there}; ${missing} missing`);
    }
  });

  it.each(['noed', 'noml'])('%s is refused where the trust requires each algorithm', (name) => {
    const found = verdict(name, 'split-view', 'require each-algorithm\n');
    expect(found).toMatchObject({ verified: false, code: 'SIGNATURE_MISSING', signatures: [] });
    expect(found.completeness).toMatchObject({ strength: 'none' });
  });
});

describe('a bundle with both signatures, whose operator left events out of the index', () => {
  it('says that nothing is missing by the index of the operator alone', () => {
    const found = verdict('operator-hidden-events', 'operator-hidden-events', 'require each-algorithm\n');
    const origin = parseTrust(read('operator-hidden-events.trust').toString('utf8')).origin;
    expect(found).toMatchObject({
      verified: true,
      missingAlgorithms: [],
      completeness: { result: 'passed', strength: 'own_index', by: [origin], quorum: 0 },
    });
    expect(found.signatures.map(({ algorithm }) => algorithm)).toEqual(['ed25519', 'ml-dsa-44']);
    expect(requireStrength(found, 'witnessed').code).toBe('COMPLETENESS_TOO_WEAK');
    expect(found.notes.join()).not.toContain('SIGNATURE_MISSING');
  });
});
