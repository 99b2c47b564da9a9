/** What a plane shows at its enrolment: its keys, named after its logs, and that it holds the first one. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { TelemetryFault } from '../../../src/contract/telemetry.ts';
import { ed25519Cosigner, ed25519Signer, signNote } from '../../../src/core/note/signed.ts';
import { meteringKey } from '../../../src/core/planes/identity.ts';
import {
  checkPossession,
  epochOrigin,
  type PlaneIdentity,
  possessionText,
} from '../../../src/core/planes/usage-report.ts';
import { auditOrigin, origin, plane, signerOf } from './log.ts';
import { privateKey } from '../proofs/log.ts';

const token = 'gov_enr_12345678901234567890123456789012345678';
const claim = { token, ...plane };
const signer = signerOf(`${origin}/0`);
const note = signNote(possessionText(token, origin), [signer]);

describe('the key of a metering log', () => {
  it('a metering key keeps its public key in every epoch, under the origin of that epoch', () => {
    expect(epochOrigin(origin, 3)).toBe(`${origin}/3`);
    expect(meteringKey(plane, 0).text).toBe(plane.verifierKey);
    expect(meteringKey(plane, 3).text).toBe(signerOf(`${origin}/3`).verifierKey);
  });
});

describe('the proof of possession', () => {
  it('a proof of possession is a note over the label, the hash of the token and the origin', () => {
    const hash = createHash('sha256').update(token).digest('hex');
    expect(possessionText(token, origin)).toBe(`gov.enrol/v1\n${hash}\n${origin}\n`);
    expect(note).not.toContain(token);
    expect(checkPossession(note, claim)).toBeNull();
  });

  const stranger = ed25519Signer(`${origin}/0`, privateKey('stranger'));
  const of = (changes: Partial<PlaneIdentity>): PlaneIdentity & { token: string } => ({
    ...claim,
    ...changes,
  });
  const unsigned = 'checkpoint_signature_invalid';
  const cases: [what: string, note: string, claim: typeof claim, fault: TelemetryFault, pointer: string][] = [
    ['another token', note, { ...claim, token: `${token}0` }, 'origin_mismatch', '/possession'],
    ['another origin', note, of({ origin: `${origin}x` }), 'origin_mismatch', '/verifierKey'],
    ['another key', note, of({ verifierKey: stranger.verifierKey }), unsigned, '/possession'],
    [
      'a key of epoch 1',
      note,
      of({ verifierKey: signerOf(`${origin}/1`).verifierKey }),
      'origin_mismatch',
      '/verifierKey',
    ],
    [
      'the key of a witness',
      note,
      of({ verifierKey: ed25519Cosigner(`${origin}/0`, privateKey('plane')).verifierKey }),
      unsigned,
      '/verifierKey',
    ],
    ['no key', note, of({ verifierKey: '' }), unsigned, '/verifierKey'],
    ['no audit key', note, of({ auditVerifierKey: 'x+00000000+x' }), unsigned, '/auditVerifierKey'],
    [
      'an audit key of another log',
      note,
      of({ auditVerifierKey: plane.verifierKey }),
      'origin_mismatch',
      '/auditVerifierKey',
    ],
    [
      'an origin that no key can have',
      note,
      of({ origin: `${origin}+1` }),
      'origin_mismatch',
      '/verifierKey',
    ],
    ['no note', '', claim, unsigned, '/possession'],
    ['a note without a signature', possessionText(token, origin), claim, unsigned, '/possession'],
    [
      'the note of a stranger',
      signNote(possessionText(token, origin), [stranger]),
      claim,
      unsigned,
      '/possession',
    ],
    [
      'a note by the audit key',
      signNote(possessionText(token, origin), [signerOf(auditOrigin)]),
      claim,
      unsigned,
      '/possession',
    ],
    [
      'a note over another text',
      signNote(`${possessionText(token, origin)}more\n`, [signer]),
      claim,
      'origin_mismatch',
      '/possession',
    ],
  ];
  it.each(cases)('a proof of possession is refused for %s', (_what, text, claimed, fault, pointer) => {
    expect(checkPossession(text, claimed)).toMatchObject({
      fault,
      pointer,
      detail: expect.stringMatching(/expected|match/),
    });
  });
});
