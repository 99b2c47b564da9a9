/** Data planes and their reports as store tests make them. */
import { sha256 } from '../../../src/core/hash.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { zeroTotals } from '../../../src/core/planes/metering.ts';
import type { Store, StoredPlane, StoredReport } from '../../../src/store/port/store.ts';
import type { Effect } from '../../../src/store/port/store.ts';
import { startMs } from './fixture.ts';
import { unmetered } from './governance.ts';
import { digestOf } from './tenants.ts';

export const plane = (id: string, more: Partial<StoredPlane> = {}): StoredPlane => ({
  planeId: `dpl_${id}`,
  projectId: 'prj_a',
  name: `plane \0 ${id}`,
  createdMs: startMs,
  createdBy: 'key_1',
  tokenDigest: digestOf(`enrolment ${id}`),
  tokenExpiresMs: startMs + 1000,
  tokenUsedMs: null,
  enrolled: null,
  revokedMs: null,
  revision: 1,
  ...more,
});

export type Enrolled = NonNullable<StoredPlane['enrolled']>;

export const enrolled = (id: string, more: Partial<Enrolled> = {}): Enrolled => ({
  atMs: startMs + 1,
  origin: `test/${id}/metering`,
  auditOrigin: `test/${id}/audit`,
  verifierKey: `test/${id}/metering/0+key`,
  auditVerifierKey: `test/${id}/audit+key`,
  formerKeys: [],
  keyPrefix: 'gov_hyb_abcd',
  keyLast4: 'wxyz',
  current: secrets(id),
  previous: null,
  ...more,
});

export const secrets = (name: string) => ({
  keyDigest: digestOf(`hybrid ${name}`),
  sealedSecret: `s ${name}`,
});

export const save = (saved: StoredPlane): Effect => ({ kind: 'savePlane', plane: saved });

export const totals = (events: number, proofs = 0) => ({
  ...zeroTotals,
  audit_event: events,
  compliance_proof: proofs,
});

/** Report `sequence` of epoch 0, of January, as a service keeps it: with the body that fsck compares it with. */
export function report(
  id: string,
  sequence: number,
  more: Partial<Omit<StoredReport, 'body' | 'digest'>> & { readonly projectId?: string } = {},
): StoredReport {
  const { projectId = 'prj_a', ...rest } = more;
  const made = {
    planeId: `dpl_${id}`,
    epoch: 0,
    sequence,
    reportId: `urp_${more.epoch ?? 0}_${sequence}`,
    receivedMs: startMs + sequence,
    month: '2026-01',
    treeSize: sequence * 10,
    totals: totals(sequence * 5),
    link: sequence === 1 ? ('linked' as const) : ('unknown' as const),
    cosignature: '— service abc',
    attestation: 'not_sampled' as const,
    challenge: null,
    answer: null,
    ...rest,
  };
  const body = canonicalize({
    reportId: made.reportId,
    dataPlaneId: made.planeId,
    projectId,
    sequence,
    periodStart: `${made.month}-02T00:00:00.000Z`,
    periodEnd: `${made.month}-03T00:00:00.000Z`,
    totals: made.totals,
    log: { epoch: made.epoch, treeSize: made.treeSize },
  });
  return { ...made, body, digest: sha256(body) };
}

export const challenge = (id: string) => ({
  challengeId: `chl_${id}`,
  text: JSON.stringify({ challengeId: `chl_${id}` }),
  expiresMs: startMs + 1000,
});

export const answer = (text: string): NonNullable<StoredReport['answer']> => ({
  digest: digestOf(text),
  status: 200,
  result: JSON.stringify({ text }),
  atMs: startMs + 9,
});

export const saveReport = (saved: StoredReport): Effect => ({ kind: 'saveReport', report: saved });

/** Effects alone, as a service keeps what planes report. */
export const keep = (store: Store, effects: readonly Effect[], projectId = 'prj_a') =>
  store.append(unmetered([], effects, { projectId }));
