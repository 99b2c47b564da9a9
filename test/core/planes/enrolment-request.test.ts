/** Requests and answers that are carried by hand: neither is of use to who carries it, and neither can be changed. */
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { EnrolmentAnswer, EnrolmentRequest } from '../../../src/contract/telemetry.ts';
import {
  answerSchema,
  checkEnrolmentRequest,
  enrolmentAnswer,
  enrolmentSecret,
  openEnrolmentAnswer,
} from '../../../src/core/planes/enrolment-request.ts';
import { hpkePublicKey } from '../../../src/core/note/hpke.ts';
import { canonicalize, type Json } from '../../../src/core/json/canonical.ts';
import { sha256 } from '../../../src/core/hash.ts';
import { openNote, parseVerifierKey } from '../../../src/core/note/signed.ts';
import { fits } from '../../../src/service/call/explain.ts';
import { ReportingPlane } from '../../support/telemetry-plane.ts';
import { mutations } from '../json/mutate.ts';

const home = { dataPlaneId: 'dpl_x', projectId: 'prj_x', environment: 'production' } as const;
const plane = new ReportingPlane({ name: 'ward' }, home);
const token = `gov_enr_${'a'.repeat(38)}`;
const secret = enrolmentSecret(token);
const sealingKey = sha256('sealing key');
const asked = plane.requestByFile(token, hpkePublicKey(sealingKey));
const credentials = { key: `gov_hyb_${'k'.repeat(38)}`, signingSecret: `whsec_${'s'.repeat(43)}=` };
const open = {
  schemaVersion: answerSchema,
  dataPlaneId: 'dpl_01jq3v5k8hf7wb3c9x2m4n6p8r',
  projectId: 'prj_01jq3v5k8hf7wb3c9x2m4n6p8r',
  environment: 'production',
  cosignerKey: 'cosigner',
  configKey: 'config',
  reportIntervalSeconds: 3600,
  newest: { epoch: 0, nextSequence: 1, report: null, cosignature: '' },
  serverTime: '2026-11-21T03:00:00Z',
  sealTo: asked.sealTo,
} as const;
const answer = enrolmentAnswer(open, credentials, { secret, ephemeral: sha256('ephemeral') });
/** JSON by their types. */
const changes = (value: object) => mutations(value as Json);

describe('an enrolment request by file', () => {
  it('an enrolment request has the documented text in a note signed by the plane', () => {
    expect(fits(EnrolmentRequest, asked)).toBe(true);
    const { possession, ...said } = asked;
    const proof = createHmac('sha256', sha256(token)).update(`gov.enrolrequest/1\n${canonicalize(said)}`);
    const { text } = openNote(possession, [parseVerifierKey(plane.identity.verifierKey)]);
    expect(text).toBe(`gov.enrolrequest/1\n${proof.digest('hex')}\n${plane.identity.origin}\n`);
    expect(checkEnrolmentRequest(asked, secret)).toBeNull();
  });

  it('an enrolment request contains no token, secret or sealing key', () => {
    const text = JSON.stringify(asked);
    for (const hidden of [Buffer.from(token), secret, sealingKey, sha256(secret)]) {
      for (const spelling of ['latin1', 'hex', 'base64'] as const)
        expect(text).not.toContain(hidden.toString(spelling));
    }
  });

  it('an enrolment request is refused with another token or any change', () => {
    expect(checkEnrolmentRequest(asked, enrolmentSecret(`gov_enr_${'b'.repeat(38)}`))).toMatchObject({
      pointer: '/possession',
    });
    let tried = 0;
    for (const { pointer, what, value } of changes(asked)) {
      if (!fits(EnrolmentRequest, value) || canonicalize(value as Json) === canonicalize(asked)) continue;
      tried += 1;
      expect([pointer, what, checkEnrolmentRequest(value, secret)]).not.toEqual([pointer, what, null]);
    }
    expect(tried).toBeGreaterThan(10);
  });

  it('an enrolment request of a plane without the token is refused, whatever it copies', () => {
    const other = new ReportingPlane({ name: 'other' }, home);
    const forged = other.requestByFile('guess', hpkePublicKey(sealingKey));
    expect(checkEnrolmentRequest(forged, secret)).toMatchObject({ pointer: '/possession' });
    const copied = { ...asked, sealTo: hpkePublicKey(sha256('own')).toString('base64') };
    expect(checkEnrolmentRequest(copied, secret)).toMatchObject({ pointer: '/possession' });
  });
});

describe('the enrolment answer', () => {
  it('the enrolment answer opens for its plane and contains no clear secret', () => {
    expect(fits(EnrolmentAnswer, answer)).toBe(true);
    expect(openEnrolmentAnswer(answer, { secret, sealingKey })).toEqual(credentials);
    const text = JSON.stringify(answer);
    for (const hidden of [credentials.key, credentials.signingSecret, token]) {
      expect(text).not.toContain(hidden.slice(8, 30));
      expect(Buffer.from(answer.sealed, 'base64').toString('latin1')).not.toContain(hidden.slice(8, 30));
    }
  });

  it('the enrolment answer does not open with another token or key, or after any change', () => {
    expect(openEnrolmentAnswer(answer, { secret: sha256('x'), sealingKey })).toBeNull();
    expect(openEnrolmentAnswer(answer, { secret, sealingKey: sha256('x') })).toBeNull();
    let tried = 0;
    for (const { pointer, what, value } of changes(answer)) {
      if (!fits(EnrolmentAnswer, value) || canonicalize(value as Json) === canonicalize(answer)) continue;
      tried += 1;
      const opened = openEnrolmentAnswer(value, { secret, sealingKey });
      expect([pointer, what, opened]).toEqual([pointer, what, null]);
    }
    expect(tried).toBeGreaterThan(15);
  });
});
