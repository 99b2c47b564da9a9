/**
 * Handlers of hybrid telemetry (contract B9-B13, J1-J8): messages of data planes, over the wire or by file.
 * Proven by `test/http/telemetry.test.ts` and `test/service/planes/reports.test.ts`.
 */
import type { Receipt } from '../../contract/telemetry.ts';
import { planeSupport } from '../../core/planes/version.ts';
import type { Handlers } from '../port/handler.ts';
import { takeAttestation } from './attest.ts';
import { callingPlane, enrolment } from './enrol.ts';
import { enrolmentByFile } from './enrol-by-file.ts';
import { receiptOf, addNewest } from './import.ts';
import { planes } from './registry.ts';
import { newest } from './newest.ts';
import { takeOwnReport } from './report.ts';

export const telemetry: Pick<
  Handlers,
  | 'reportUsage'
  | 'attestUsage'
  | 'importTelemetry'
  | keyof typeof planes
  | keyof typeof enrolment
  | keyof typeof enrolmentByFile
  | keyof typeof newest
> = {
  async reportUsage({ body, caller, canonical }, services) {
    const plane = callingPlane(caller).stored;
    const sent = { caller, plane, report: body, canonical: signed(canonical), byFile: false };
    const support = planeSupport(body.runtime.planeVersion, services.version);
    const headers = support === 'supported' ? {} : { 'gov-plane-support': support };
    return { status: 202, body: await takeOwnReport(services, sent), headers };
  },

  async attestUsage({ params, body, caller, canonical }, services) {
    const { challengeId } = params;
    const { organizationId } = caller.project;
    const sent = { organizationId, challengeId, proof: body, canonical: signed(canonical) };
    const plane = callingPlane(caller).stored;
    return { status: 200, body: await takeAttestation(services, { plane, ...sent }) };
  },

  /** Takes messages one after the other, because the reports of a plane have an order. */
  async importTelemetry({ body, caller }, services) {
    const receipts: Receipt[] = [];
    for (const message of body.messages) receipts.push(await receiptOf(services, caller, message));
    await addNewest(services, caller, { messages: body.messages, receipts });
    return { status: 200, body: { receipts } };
  },

  ...planes,
  ...enrolment,
  ...enrolmentByFile,
  ...newest,
};

function signed(canonical: string | null): string {
  if (canonical === null) throw new Error('expected a signed operation, got one without a signature');
  return canonical;
}
