/** Races about data planes, their credentials and messages, and about a sign-in: each of them counts once. */
import { randomBytes } from 'node:crypto';
import type { Message } from '../../../src/contract/telemetry.ts';
import { hpkePublicKey } from '../../../src/core/note/hpke.ts';
import { enrolmentSecret, openEnrolmentAnswer } from '../../../src/core/planes/enrolment-request.ts';
import type { Answer } from '../../support/answer.ts';
import {
  canonical,
  enrolledPlane,
  ReportingPlane,
  seconds,
  Sender,
  signatureOf,
  type Credentials,
} from '../../support/telemetry-plane.ts';
import { failWith, fresh, raceFor, requestOf, type Contender, type Race, type Racing } from './racing.ts';
import { begin, idTokenOf, pageOf } from './signing-in.ts';
import { told } from './tenants.ts';

const expectEqual = (what: string, got: unknown, expected: unknown): void => {
  const [is, should] = [canonical(got), canonical(expected)];
  if (is !== should) failWith(`expected ${should} as ${what}, got ${is}`);
};

const newSender = ({ call, projectId }: Racing): Promise<Sender> =>
  enrolledPlane(call, { name: fresh('plane'), projectId });

const sentBy = (sender: Sender, path: string, body: unknown): Contender => ({
  method: 'POST',
  path,
  ...sender.signed(body),
});

/** Units by type that the service counts for all data planes in the month of a plane's reports. */
async function unitsOf({ plane }: Sender, { call }: Racing): Promise<Record<string, number>> {
  const period = plane.reports.at(-1)?.periodEnd.slice(0, 7);
  const { items } = (await call('GET', `/metering/usage?period=${period}`)).body;
  return Object.fromEntries((items as Answer['body'][]).map(({ type, hybrid }) => [type, hybrid]));
}

/** The service has each report of a plane once, and counts its units once; `before`: what it counted without them. */
async function expectReports(sender: Sender, racing: Racing, before: Record<string, number>): Promise<void> {
  const { plane } = sender;
  const path = `/telemetry/planes/${plane.home.dataPlaneId}/reports?limit=200`;
  const { data } = (await racing.call('GET', path)).body;
  const stored = (data as Answer['body'][]).map(({ reportId, totals }) => [reportId, totals]);
  const sent = plane.reports.map(({ reportId, totals }) => [reportId, totals]);
  expectEqual('reports', stored, sent.toReversed());
  const added = Object.entries(await unitsOf(sender, racing)).map(([type, units]) => [
    type,
    units - (before[type] ?? 0),
  ]);
  expectEqual('counted units', Object.fromEntries(added), plane.totals);
}

/** How many of these credentials the first process accepts. */
async function working(
  plane: ReportingPlane,
  all: readonly Credentials[],
  { call }: Racing,
): Promise<number> {
  const answers = await Promise.all(all.map((each) => new Sender(plane, each, call).newest()));
  return answers.filter(({ status }) => status === 200).length;
}

const newlyRegistered = async ({ made, projectId }: Racing) => {
  const name = fresh('plane');
  const { dataPlane, enrolmentToken } = await made('POST', '/telemetry/planes', { name });
  const home = { dataPlaneId: dataPlane.dataPlaneId, projectId, environment: 'production' } as const;
  return { plane: new ReportingPlane({ name }, home), token: enrolmentToken as string };
};

const sealingKey = randomBytes(32);

export const planeRaces: Readonly<
  Record<
    | 'reportUsage'
    | 'attestUsage'
    | 'importTelemetry'
    | 'enrollDataPlane'
    | 'enrollDataPlaneByFile'
    | 'rotatePlaneCredentials'
    | 'finishSignIn',
    Race
  >
> = {
  // two reports, each sent by both processes
  reportUsage: raceFor({
    statuses: [202],
    make: async (racing) => {
      const sender = await newSender(racing);
      const reports = [sender.plane.work(3).report(), sender.plane.work(4).report()];
      return { sender, reports, before: await unitsOf(sender, racing) };
    },
    contender: ({ sender, reports }, at) =>
      sentBy(sender, '/telemetry/usage', reports[Math.floor(at / 2) % reports.length]),
    after: async ({ sender, reports, before }, racing, answers) => {
      const accepted = answers.filter(({ body }) => body.status === 'accepted');
      expectEqual('accepted reports', accepted.length, reports.length);
      await expectReports(sender, racing, before);
    },
  }),
  // two answers to one challenge: the first is final
  attestUsage: raceFor({
    statuses: [200, 422],
    make: async (racing) => {
      const sender = await newSender(racing);
      const { challenge } = (await sender.work(3)).body.attestation;
      const proof = sender.plane.answer(challenge);
      return { sender, challenge, proofs: [proof, { ...proof, generatedAt: '2026-01-01T00:00:00Z' }] };
    },
    contender: ({ sender, challenge, proofs }, at) =>
      sentBy(sender, `/telemetry/attestations/${challenge.challengeId}`, proofs[Math.floor(at / 2) % 2]),
    after: async ({ sender, challenge }, { call }, answers) => {
      const won = answers.filter(({ status }) => status === 200);
      expectEqual(
        'winners',
        [won.length, new Set(won.map(({ text }) => text)).size],
        [answers.length / 2, 1],
      );
      const reasons = answers.filter(({ status }) => status === 422).map(({ body }) => body.reason);
      expectEqual('reasons', [...new Set(reasons)], ['already_answered']);
      const { lastReport } = (await call('GET', `/telemetry/planes/${sender.plane.home.dataPlaneId}`)).body;
      expectEqual(
        'attestation',
        [lastReport.reportId, lastReport.attestation],
        [challenge.reportId, 'verified'],
      );
      const events = (await told(call, 'attestation.contradicted')).filter(
        ({ metadata }) => metadata['challengeId'] === challenge.challengeId,
      );
      expectEqual('contradictions', events.length, 1);
    },
  }),
  importTelemetry: raceFor({
    statuses: [200],
    make: async (racing) => {
      const sender = await newSender(racing);
      const timestamp = seconds();
      const messages = Array.from({ length: 3 }, (): Message => {
        const body = canonical(sender.plane.work(2).report());
        const signed = signatureOf(sender.credentials.signingSecret, body, timestamp);
        const signature = signed['x-telemetry-signature'] ?? '';
        return { kind: 'usage', dataPlaneId: sender.plane.home.dataPlaneId, timestamp, signature, body };
      });
      return { sender, messages, before: await unitsOf(sender, racing) };
    },
    contender: ({ messages }) => ({ method: 'POST', path: '/telemetry/import', body: { messages } }),
    after: async ({ sender, messages, before }, racing, answers) => {
      const receipts = answers.flatMap(({ body }) => body.receipts as Answer['body'][]);
      const isStatus = (status: string) => receipts.filter(({ answer }) => answer.status === status).length;
      const { length } = messages;
      const expected = [length, (answers.length - 1) * length];
      expectEqual('accepted and repeated reports', [isStatus('accepted'), isStatus('duplicate')], expected);
      await expectReports(sender, racing, before);
    },
  }),
  // each gets credentials, because an answer can be lost; the last ones alone work
  enrollDataPlane: raceFor({
    statuses: [201],
    make: newlyRegistered,
    contender: ({ plane, token }) => ({
      method: 'POST',
      path: '/telemetry/planes/enroll',
      key: null,
      body: { token, ...plane.identity, possession: plane.possession(token) },
    }),
    after: async ({ plane }, racing, answers) => {
      const all = answers.map(({ body }): Credentials => body);
      expectEqual('working credentials', await working(plane, all, racing), 1);
    },
  }),
  enrollDataPlaneByFile: raceFor({
    statuses: [201],
    make: newlyRegistered,
    contender: ({ plane, token }) => ({
      method: 'POST',
      path: `/telemetry/planes/${plane.home.dataPlaneId}/enroll`,
      body: plane.requestByFile(token, hpkePublicKey(sealingKey)),
    }),
    after: async ({ plane, token }, racing, answers) => {
      const secret = enrolmentSecret(token);
      const all = answers.flatMap(({ body }) => openEnrolmentAnswer(body, { secret, sealingKey }) ?? []);
      expectEqual('opened answers', all.length, answers.length);
      expectEqual('working credentials', await working(plane, all, racing), 1);
    },
  }),
  // the credentials of the call go on working for the overlap
  rotatePlaneCredentials: raceFor({
    statuses: [201],
    make: newSender,
    contender: (sender) => sentBy(sender, '/telemetry/credentials/rotate', {}),
    after: async ({ plane, credentials }, racing, answers) => {
      const fresh = answers.map(({ body }): Credentials => body);
      const count = [await working(plane, fresh, racing), await working(plane, [credentials], racing)];
      expectEqual('working credentials, new and old', count, [1, 1]);
    },
  }),
  finishSignIn: raceFor({
    statuses: [200, 401],
    won: 'one',
    make: async ({ service }) => {
      const begun = await begin(service);
      idTokenOf(service, await service.idToken('ada', { nonce: begun.nonce }));
      return { service, ...begun };
    },
    contender: ({ service, cookie, state }) => ({
      ...requestOf('finishSignIn', {}),
      key: null,
      headers: pageOf(service, [cookie]),
      body: { state, code: 'c', iss: service.issuer.url },
    }),
    after: async ({ service }, _, answers) => {
      service.issuer.answers.delete('/token');
      const cookies = answers.filter(({ headers }) => headers['set-cookie'] !== undefined);
      expectEqual('answers with a session', cookies.length, 1);
    },
  }),
};
