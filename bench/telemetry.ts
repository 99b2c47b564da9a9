/**
 * Benchmark of the work of a service for one usage report and one 64-sample attestation of a metering log of
 * ten million leaves: strict JSON, JCS, HMAC, signatures and paths, without store and network. The floor is
 * bare Ed25519 verifications of node:crypto. The trees are sparse: all leaves that no proof shows are equal, so
 * that a tree is created at once. Paths have their real length.
 */
import { createPublicKey, generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto';
import {
  attestationText,
  challengeId,
  crossIndexes,
  sampledUnits,
  verifyAttestation,
} from '../src/core/planes/attestation.ts';
import type { AttestationProof, Challenge, UsageReport } from '../src/contract/telemetry.ts';
import { signCheckpoint } from '../src/core/note/checkpoint.ts';
import { canonicalize, parseJson, type Json } from '../src/core/json/parse.ts';
import { meterRecord, meterRef } from '../src/core/planes/metering.ts';
import { leafHash, nodeHash } from '../src/core/merkle/tree.ts';
import { ed25519Signer, signNote } from '../src/core/note/signed.ts';
import { signTelemetry, verifyTelemetry } from '../src/core/planes/signature.ts';
import { checkReport, checkSuccession, reportedHead, reportHash } from '../src/core/planes/usage-report.ts';
import { alternate, report as print } from './support/harness.ts';

const leaves = Number(process.argv[2] ?? 10_000_000);
/** Audit leaves, and units, of each metering leaf. */
const batch = 8;

class SparseTree {
  readonly #shown: readonly number[];
  readonly #leafOf: (index: number) => Buffer;
  readonly #alike = new Map<number, Buffer>([[1, leafHash('alike')]]);
  readonly #roots = new Map<string, Buffer>();

  constructor(shown: Iterable<number>, leafOf: (index: number) => Buffer) {
    this.#shown = [...new Set(shown)].toSorted((a, b) => a - b);
    this.#leafOf = leafOf;
  }

  root = (size: number): Buffer => this.#range(0, size);

  path(index: number, size: number): string[] {
    const hashes: Buffer[] = [];
    for (let [start, end] = [0, size]; end - start > 1;) {
      const middle = start + split(end - start);
      hashes.push(index < middle ? this.#range(middle, end) : this.#range(start, middle));
      if (index < middle) end = middle;
      else start = middle;
    }
    return texts(hashes.toReversed());
  }

  consistency(first: number, size: number): string[] {
    const hashes: Buffer[] = [];
    let [start, end] = [0, size];
    while (end !== first) {
      const middle = start + split(end - start);
      hashes.push(first <= middle ? this.#range(middle, end) : this.#range(start, middle));
      if (first <= middle) end = middle;
      else start = middle;
    }
    return texts([...(start === 0 ? [] : [this.#range(start, end)]), ...hashes.toReversed()]);
  }

  #range(start: number, end: number): Buffer {
    if (!this.#shown.some((index) => index >= start && index < end)) return this.#rootOfAlike(end - start);
    if (end - start === 1) return this.#leafOf(start);
    const key = `${start} ${end}`;
    const middle = start + split(end - start);
    const known = this.#roots.get(key) ?? nodeHash(this.#range(start, middle), this.#range(middle, end));
    this.#roots.set(key, known);
    return known;
  }

  #rootOfAlike(count: number): Buffer {
    const known =
      this.#alike.get(count) ??
      nodeHash(this.#rootOfAlike(split(count)), this.#rootOfAlike(count - split(count)));
    this.#alike.set(count, known);
    return known;
  }
}

const split = (size: number): number => 2 ** Math.ceil(Math.log2(size) - 1);
const texts = (hashes: readonly Buffer[]): string[] => hashes.map((hash) => hash.toString('base64'));

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const [base, auditOrigin] = ['gov.local/prj_x/metering', 'gov.local/prj_x/audit'];
const origin = `${base}/0`;
const [signer, auditSigner] = [ed25519Signer(origin, privateKey), ed25519Signer(auditOrigin, privateKey)];
const plane = {
  origin: base,
  auditOrigin,
  verifierKey: signer.verifierKey,
  auditVerifierKey: auditSigner.verifierKey,
};
const id = (prefix: string, n: number): string => `${prefix}_${String(n).padStart(26, '0')}`;
const at = '2026-11-20T09:00:00.000Z';

const auditLeaf = (index: number): Buffer => leafHash(`audit ${index}`);
const nonce = Buffer.alloc(16, 7);
const totalsAt = (size: number) => ({
  audit_event: size * batch,
  compliance_proof: 0,
  risk_decision: 0,
  replay_verification: 0,
});
const covered = (index: number): Buffer[] =>
  Array.from({ length: batch }, (_, n) => auditLeaf(index * batch + n));
const recordOf = (index: number): string => {
  const ref = meterRef(nonce, index * batch, covered(index));
  return meterRecord({ op: 'audit_event', units: batch, at, ref, totals: totalsAt(index + 1) });
};

const auditSize = leaves * batch;
const fromSize = Math.floor(leaves * 0.99);
const sizes = [fromSize, ...[0.8, 0.6, 0.4, 0.2, 0.1, 0.05, 0.01].map((part) => Math.floor(leaves * part))];
const asked = {
  challengeId: challengeId(randomBytes(32)),
  reportId: id('urp', 2),
  dataPlaneId: id('dpl', 1),
  origin,
  epoch: 0,
  treeSize: leaves,
  seed: randomBytes(32).toString('hex'),
  sampleSize: 64,
  unitRange: { from: fromSize * batch, to: leaves * batch },
  consistencySizes: sizes,
  auditTreeSize: auditSize,
  crossSampleSize: 8,
  issuedAt: at,
  expiresAt: at,
};
const units = sampledUnits(asked as Challenge);
const cross = crossIndexes(asked as Challenge);
const leafAt = (unit: number): number => Math.ceil(unit / batch) - 1;
const shown = [
  ...units.flatMap((unit) => [leafAt(unit), leafAt(unit) - 1]),
  ...cross.map((n) => Math.floor(n / batch)),
];
const meter = new SparseTree([...shown, fromSize - 1, leaves - 1], (index) => leafHash(recordOf(index)));
const audit = new SparseTree(cross, auditLeaf);

function reportAt(treeSize: number, previous: UsageReport | null): UsageReport {
  const before = previous?.log.treeSize ?? 0;
  const auditRoot = audit.root(treeSize * batch);
  const auditHead = { origin: auditOrigin, size: treeSize * batch, root: auditRoot, extensions: [] };
  const head = { origin, size: treeSize, root: meter.root(treeSize), extensions: [] };
  const index = treeSize - 1;
  return {
    schemaVersion: 'gov.usage/1',
    reportId: id('urp', previous === null ? 1 : 2),
    dataPlaneId: id('dpl', 1),
    projectId: id('prj', 1),
    environment: 'production',
    sequence: previous === null ? 1 : 2,
    periodStart: at,
    periodEnd: at,
    operations: totalsAt(treeSize - before),
    totals: totalsAt(treeSize),
    unmetered: 0,
    log: {
      origin,
      epoch: 0,
      fromSize: before,
      treeSize,
      checkpoint: signCheckpoint(head, [signer]),
      consistency: previous === null ? [] : meter.consistency(before, treeSize),
    },
    lastLeaf: { index, record: recordOf(index), inclusion: meter.path(index, treeSize) },
    auditLog: { treeSize: treeSize * batch, checkpoint: signCheckpoint(auditHead, [auditSigner]) },
    previousReportHash: previous === null ? null : reportHash(canonicalize(previous as unknown as Json)),
    runtime: { planeVersion: '0.1.0', nodeVersion: process.version },
    sentAt: at,
  };
}

const previous = reportAt(fromSize, null);
const report = reportAt(leaves, previous);
const challenge: Challenge = { ...asked, rootHash: meter.root(leaves).toString('base64') };
const leafShown = (index: number) => ({ record: recordOf(index), inclusion: meter.path(index, leaves) });
const answered: AttestationProof = {
  schemaVersion: 'gov.attest/1',
  challengeId: challenge.challengeId,
  reportId: challenge.reportId,
  dataPlaneId: challenge.dataPlaneId,
  log: { origin, epoch: 0, treeSize: leaves, checkpoint: report.log.checkpoint },
  samples: units.map((unit) => {
    const index = leafAt(unit);
    return { unit, index, ...leafShown(index), previous: leafShown(index - 1) };
  }),
  consistency: sizes.map((size) => ({
    fromSize: size,
    toSize: leaves,
    path: meter.consistency(size, leaves),
  })),
  cross: cross.map((auditIndex) => {
    const meterIndex = Math.floor(auditIndex / batch);
    const { record: meterRecordText, inclusion: meterInclusion } = leafShown(meterIndex);
    const firstAuditIndex = meterIndex * batch;
    const tree = new SparseTree(
      Array.from({ length: batch }, (_, n) => n),
      (n) => auditLeaf(firstAuditIndex + n),
    );
    return {
      auditIndex,
      auditLeafHash: auditLeaf(auditIndex).toString('base64'),
      auditInclusion: audit.path(auditIndex, auditSize),
      meterIndex,
      meterRecord: meterRecordText,
      meterInclusion,
      refNonce: nonce.toString('base64url'),
      firstAuditIndex,
      count: batch,
      batchInclusion: tree.path(auditIndex - firstAuditIndex, batch),
    };
  }),
  generatedAt: at,
  signature: '',
};
const proof = { ...answered, signature: signNote(attestationText(challenge, answered), [signer]) };
const earlier = sizes.map((size) => ({ size, root: meter.root(size) }));

const secret = randomBytes(32);
const timestamp = '1764000000';
const message = (body: unknown) => {
  const canonical = canonicalize(body as Json);
  return { bytes: Buffer.from(canonical), signature: signTelemetry(secret, timestamp, canonical) };
};
function received<Body>({ bytes, signature }: ReturnType<typeof message>): { body: Body; canonical: string } {
  const body = parseJson(bytes);
  const canonical = canonicalize(body);
  if (!verifyTelemetry({ secrets: [secret], timestamp, signature, canonical })) throw new Error('not signed');
  return { body: body as Body, canonical };
}

const [reportMessage, proofMessage] = [message(report), message(proof)];
const previousHash = reportHash(canonicalize(previous as unknown as Json));
const good = (fault: unknown): void => {
  if (fault !== null) throw new Error(`expected no fault, got ${JSON.stringify(fault)}`);
};
const note = Buffer.from(report.log.checkpoint);
const signature = sign(null, note, privateKey);
const key = createPublicKey(publicKey.export({ format: 'pem', type: 'spki' }));

const each = (repeat: number, work: () => unknown) => () => {
  const start = performance.now();
  for (let n = 0; n < repeat; n += 1) work();
  return (performance.now() - start) / repeat;
};
const checkedReport = (body: UsageReport): void => {
  good(checkReport(body, plane));
  good(checkSuccession(previous, previousHash, body));
};
const figures = await alternate(
  {
    floor: each(400, () => verify(null, note, key, signature)),
    report: each(200, () => checkedReport(report)),
    reportMessage: each(200, () => checkedReport(received<UsageReport>(reportMessage).body)),
    attestation: each(20, () => good(verifyAttestation({ challenge, report, proof, plane, earlier }).fault)),
    attestationMessage: each(20, () => {
      const { body } = received<AttestationProof>(proofMessage);
      good(verifyAttestation({ challenge, report, proof: body, plane, earlier }).fault);
    }),
  },
  15,
);
if (reportedHead(report).size !== leaves) throw new Error('the report is of another tree');
const row = (figure: number, floor: number, what: string) => ({
  ratio: floor === 0 ? '' : `${(figure / floor).toFixed(1)} x`,
  figure: `${figure.toFixed(3)} ms`,
  what,
});
const kilobytes = ({ bytes }: { bytes: Buffer }): string => `${(bytes.length / 1024).toFixed(1)} KiB`;
print(`telemetry of a metering log of ${leaves} leaves (reach: 2 ms a report, 20 ms an attestation)`, [
  row(figures.floor, 0, 'floor: one bare Ed25519 verification'),
  row(figures.report, 2 * figures.floor, 'report and succession; ratio to its two signatures'),
  row(
    figures.reportMessage,
    2 * figures.floor,
    `the same from ${kilobytes(reportMessage)} with JSON, JCS and HMAC`,
  ),
  row(
    figures.attestation,
    figures.floor,
    `attestation of ${units.length} units, ${cross.length} cross samples, ${sizes.length} sizes`,
  ),
  row(
    figures.attestationMessage,
    figures.floor,
    `the same from ${kilobytes(proofMessage)} with JSON, JCS and HMAC`,
  ),
]);
