/**
 * Challenges and their answers (contract J4-J7): drawn by chance, answered once, judged for good; whatever is changed of an
 * answer has its status and word, and changes nothing of what is billed.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { telemetryFaults, type AttestationProof, type Challenge } from '../../../src/contract/telemetry.ts';
import type { Json } from '../../../src/core/json/parse.ts';
import { mutations, type Mutation } from '../../core/json/mutate.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { canonical, enrolledPlane, type Sender } from '../../support/telemetry-plane.ts';
import { told } from '../support/tenants.ts';

describe.each(engines)('challenges of a service on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let projectId: string;
  let planes = 0;
  let random: (size: number) => Buffer;
  beforeAll(async () => {
    service = await startService({ engine });
    random = service.services.randomBytes;
    tenant = await service.signUp('tenant');
    projectId = (await tenant.call('GET', '/auth/identity')).body.projectId;
  });
  afterAll(() => service.end());

  const newPlane = (of = tenant, project = projectId): Promise<Sender> =>
    enrolledPlane(of.call, { name: `ward-${(planes += 1)}`, projectId: project });

  /** What is drawn where a report is sampled or not: 0 is, as nothing else of four bytes is drawn. */
  const drawing = async <Value>(sample: number, work: () => Promise<Value>): Promise<Value> => {
    const four = Buffer.alloc(4);
    four.writeUInt32BE(sample);
    Object.assign(service.services, { randomBytes: (size: number) => (size === 4 ? four : random(size)) });
    try {
      return await work();
    } finally {
      Object.assign(service.services, { randomBytes: random });
    }
  };

  const attestation = async ({ plane }: Sender, reportId: string): Promise<string> => {
    const path = `/telemetry/planes/${plane.home.dataPlaneId}/reports?limit=200`;
    const { data } = (await tenant.call('GET', path)).body;
    return data.find((each: { reportId: string }) => each.reportId === reportId).attestation;
  };

  /** A new report that is asked about. */
  const challenged = async (sender: Sender, operations = 4): Promise<Challenge> => {
    const { body } = await drawing(0, () => sender.work(operations));
    return body.attestation.challenge;
  };

  it('are drawn for the first report of an epoch, and for one in twenty by chance', async () => {
    const sender = await newPlane();
    const draw = async (sample: number) =>
      (await drawing(sample, () => sender.work(2))).body.attestation.status;
    expect(await draw(7)).toBe('pending');
    expect([await draw(7), await draw(1), await draw(19), await draw(20), await draw(0)]).toEqual([
      'not_sampled',
      'not_sampled',
      'not_sampled',
      'pending',
      'pending',
    ]);
  });

  it('are fresh, of what was reported, and come again with the report until they are answered', async () => {
    const sender = await newPlane();
    const first = await challenged(sender);
    const report = sender.plane.work(9).report();
    const { body } = await drawing(0, () => sender.send(report));
    const challenge: Challenge = body.attestation.challenge;
    expect(challenge).toMatchObject({
      reportId: report.reportId,
      dataPlaneId: sender.plane.home.dataPlaneId,
      origin: report.log.origin,
      treeSize: report.log.treeSize,
      consistencySizes: [first.treeSize],
      auditTreeSize: report.auditLog.treeSize,
      sampleSize: 64,
      crossSampleSize: 8,
    });
    expect(Date.parse(challenge.expiresAt) - Date.parse(challenge.issuedAt)).toBe(24 * 3_600_000);
    expect([challenge.seed, challenge.challengeId]).not.toEqual([first.seed, first.challengeId]);
    expect((await sender.send(report)).body.attestation).toEqual({
      status: 'pending',
      challengeId: challenge.challengeId,
      challenge,
    });
    const answer = await sender.attest(challenge);
    expect([answer.status, answer.body.status, answer.body.cosignature]).toEqual([
      200,
      'verified',
      body.cosignature,
    ]);
    expect((await sender.send(report)).body.attestation).toEqual({
      status: 'verified',
      challengeId: challenge.challengeId,
    });
  });

  it('are answered once: the same answer gets the same result, another one is refused and told', async () => {
    const sender = await newPlane();
    const challenge = await challenged(sender);
    const proof = sender.plane.answer(challenge);
    const [one, other] = await Promise.all([
      sender.attest(challenge, proof),
      sender.attest(challenge, proof),
    ]);
    const again = await sender.attest(challenge, proof);
    expect([one.status, other.text, again.text]).toEqual([200, one.text, one.text]);
    for (let time = 0; time < 3; time++) {
      const later = { ...proof, generatedAt: `2026-01-0${time + 1}T00:00:00Z` };
      const { status, body } = await sender.attest(challenge, later);
      expect([status, body.code, body.reason]).toEqual([422, 'ATTESTATION_FAILED', 'already_answered']);
    }
    const { dataPlaneId } = sender.plane.home;
    const events = (await told(tenant.call, 'attestation.contradicted')).filter(
      ({ actor }) => actor.id === dataPlaneId,
    );
    expect(events).toMatchObject([
      { metadata: { reportId: challenge.reportId, challengeId: challenge.challengeId } },
    ]);
    expect(await attestation(sender, challenge.reportId)).toBe('verified');
  });

  it('that were answered wrongly stay failed, whatever comes then', async () => {
    const sender = await newPlane();
    const challenge = await challenged(sender, 9);
    const honest = sender.plane.answer(challenge);
    const wrong = sender.plane.signed(challenge, { ...honest, samples: honest.samples.slice(1) });
    const failed = await sender.attest(challenge, wrong);
    expect([failed.status, failed.body.reason, failed.body.errors]).toMatchObject([
      422,
      'sample_set_mismatch',
      [{ pointer: '/samples/0' }],
    ]);
    const again = await sender.attest(challenge, wrong);
    expect([again.status, again.body.reason, again.body.detail]).toEqual([
      422,
      'sample_set_mismatch',
      failed.body.detail,
    ]);
    expect((await sender.attest(challenge, honest)).body.reason).toBe('already_answered');
    // the next report is asked about for sure, and the one after it as any other
    const next = await drawing(1, () => sender.work(2));
    const other = await drawing(1, () => sender.work(2));
    expect([next.body.attestation.status, other.body.attestation.status]).toEqual(['pending', 'not_sampled']);
    expect(await attestation(sender, challenge.reportId)).toBe('failed');
    const { dataPlaneId } = sender.plane.home;
    const events = (await told(tenant.call, 'attestation.failed')).filter(
      ({ actor }) => actor.id === dataPlaneId,
    );
    expect(events).toMatchObject([
      { metadata: { reason: 'sample_set_mismatch', reportId: challenge.reportId } },
    ]);
  });

  it('expire to the millisecond, and what was answered before does not', async () => {
    const sender = await newPlane();
    const [answered, open] = [await challenged(sender), await challenged(sender)];
    const proof = sender.plane.answer(answered);
    expect((await sender.attest(answered, proof)).status).toBe(200);
    const { now } = service.services;
    const at = async (ms: number, challenge: Challenge) => {
      Object.assign(service.services, { now: () => ms });
      return sender.attest(challenge, sender.plane.answer(challenge), {
        timestamp: String(Math.floor(ms / 1000)),
      });
    };
    try {
      const end = Date.parse(open.expiresAt);
      const late = await at(end, open);
      expect([late.status, late.body.code, late.body.reason]).toEqual([
        422,
        'CHALLENGE_EXPIRED',
        'challenge_expired',
      ]);
      expect(await attestation(sender, open.reportId)).toBe('expired');
      expect((await at(end - 1, open)).status).toBe(200);
      expect(
        (await sender.attest(answered, proof, { timestamp: String(Math.floor(end / 1000)) })).status,
      ).toBe(200);
    } finally {
      Object.assign(service.services, { now });
    }
  });

  it('are answered with at most so many bytes', async () => {
    const sender = await newPlane();
    const challenge = await challenged(sender);
    const proof = sender.plane.answer(challenge);
    const text = canonical(proof);
    const padded = (bytes: number) => ({ raw: `${' '.repeat(bytes - Buffer.byteLength(text))}${text}` });
    expect((await sender.attest(challenge, proof, padded(limits.attestationBytes + 1))).status).toBe(413);
    expect((await sender.attest(challenge, proof, padded(limits.attestationBytes))).status).toBe(200);
  });

  it('are of one plane: another one of the organization is refused, others find none', async () => {
    const sender = await newPlane();
    const challenge = await challenged(sender);
    const proof = sender.plane.answer(challenge);
    const sibling = await newPlane();
    const other = await service.signUp(`other-${engine}`);
    const theirs = (await other.call('GET', '/auth/identity')).body.projectId;
    const stranger = await newPlane(other, theirs);
    const nobodys = { ...challenge, challengeId: `chl_${'z'.repeat(52)}` };
    const answers = [
      await sibling.attest(challenge, proof),
      await stranger.attest(challenge, proof),
      await stranger.attest(nobodys, { ...proof, challengeId: nobodys.challengeId }),
      await sender.attest(nobodys, { ...proof, challengeId: nobodys.challengeId }),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [403, 'FORBIDDEN'],
      [404, 'NOT_FOUND'],
      [404, 'NOT_FOUND'],
      [404, 'NOT_FOUND'],
    ]);
    expect(answers[1]?.body.detail).toBe(answers[2]?.body.detail);
    for (const members of [
      { challengeId: nobodys.challengeId },
      { reportId: 'urp_00000000000000000000000099' },
      { dataPlaneId: sibling.plane.home.dataPlaneId },
    ]) {
      const { status, body } = await sender.attest(challenge, { ...proof, ...members });
      const pointer = `/${Object.keys(members)[0]}`;
      expect([status, body.errors]).toMatchObject([400, [{ pointer, code: 'NOT_ALLOWED' }]]);
    }
    expect((await sender.attest(challenge, proof)).status).toBe(200);
  });

  it('are refused with any member of the answer changed, each by its word', async () => {
    const sender = await newPlane();
    const seen = new Set<string>();
    const places = placesOf(sender.plane.answer(await challenged(sender, 3)));
    expect(places.length).toBeGreaterThan(30);
    for (const [at, place] of [...places, ...places].entries()) {
      if (engine !== 'sqlite' && at % 4 > 0) continue;
      const challenge = await challenged(sender, 3);
      const honest = sender.plane.answer(challenge);
      const change = changeAt(honest, place, at);
      // a shorter answer may have no such place
      if (change === null) continue;
      const isSigned = at < places.length && canBeSigned(change.value);
      const value = isSigned ? sender.plane.signed(challenge, change.value as never) : change.value;
      const { status, body } = await sender.attest(challenge, value);
      const what = `${change.pointer} ${change.what}: ${status} ${body.code} ${body.reason}`;
      expect(isFree(change.pointer, isSigned) ? [200, 400, 422] : [400, 422], what).toContain(status);
      if (status === 422) {
        expect(telemetryFaults, what).toContain(body.reason);
        seen.add(body.reason);
      }
      const state = (await tenant.call('GET', `/telemetry/planes/${challenge.dataPlaneId}`)).body.lastReport
        .attestation;
      expect(state, what).toBe(status === 400 ? 'pending' : status === 422 ? 'failed' : 'verified');
    }
    expect(seen.size).toBeGreaterThan(engine === 'sqlite' ? 3 : 1);
    const { data } = (
      await tenant.call('GET', `/telemetry/planes/${sender.plane.home.dataPlaneId}/reports?limit=1`)
    ).body;
    expect(data[0].totals).toEqual(sender.plane.totals);
  }, 120_000);
});

/** Nothing is signed of when an answer was made, and what is signed anew has a signature of its own. */
const isFree = (pointer: string, isSigned: boolean): boolean =>
  pointer === '/generatedAt' || (isSigned && pointer === '/signature');

const canBeSigned = (value: Json): boolean => {
  const members = (value ?? {}) as Readonly<Record<string, unknown>>;
  return ['samples', 'consistency', 'cross'].every((name) => Array.isArray(members[name]));
};

/** Places of an answer that can be changed, of one sample for all. */
const placesOf = (proof: AttestationProof): string[] => [
  ...new Set(Array.from(mutations(proof as unknown as Json), ({ pointer }) => placeOf(pointer))),
];
const placeOf = (pointer: string): string => pointer.replace(/\/\d+/g, '/n');

/** One of the last changes at a place that make another text: of its value, not of its type. */
function changeAt(proof: AttestationProof, place: string, at: number): Mutation | null {
  const text = canonical(proof);
  const found = [...mutations(proof as unknown as Json)].filter(({ pointer }) => placeOf(pointer) === place);
  for (let back = 1 + (at % 4); back <= found.length; back++) {
    const change = found.at(-back);
    if (change !== undefined && canonical(change.value) !== text) return change;
  }
  return null;
}
