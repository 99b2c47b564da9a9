/**
 * An honest data plane that reports to a service over sockets: the metering log of `test/core/planes/log.ts` under keys of its
 * own, enrolled through the interface. Its clock stands in the middle of the month before, so that no period crosses one.
 */
import type {
  AttestationProof,
  Challenge,
  EnrolmentRequest,
  UsageReport,
} from '../../src/contract/telemetry.ts';
import { signCheckpoint } from '../../src/core/note/checkpoint.ts';
import { attestationText } from '../../src/core/planes/attestation.ts';
import { enrolmentRequest, enrolmentSecret } from '../../src/core/planes/enrolment-request.ts';
import { canonicalize, type Json } from '../../src/core/json/parse.ts';
import { ed25519Signer, signNote, type NoteSigner } from '../../src/core/note/signed.ts';
import { parseSigningSecret, signTelemetry } from '../../src/core/planes/signature.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import { possessionText, type PlaneIdentity } from '../../src/core/planes/usage-report.ts';
import { auditOrigin, TestPlane, type Tree } from '../core/planes/log.ts';
import { privateKey } from '../core/proofs/log.ts';
import type { CallOptions } from './serving.ts';
import type { Answer } from './answer.ts';

export type Call = (method: string, path: string, options?: CallOptions) => Promise<Answer>;

/** Of which project it is. */
export interface Home {
  readonly dataPlaneId: string;
  readonly projectId: string;
  readonly environment: 'production' | 'sandbox';
}

/** 09:00 on the 15th of the month before. */
export function midLastMonth(nowMs = Date.now()): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 15, 9);
}

export interface PlaneOptions {
  /** Tells its keys and its log from those of others. */
  readonly name: string;
  /** Of its origins; its name. */
  readonly log?: string;
  readonly epoch?: number;
  readonly beganMs?: number;
}

/** As `TestPlane`, under its own names and keys. */
export class ReportingPlane extends TestPlane {
  identity: PlaneIdentity;
  home: Home;
  #signerOf: (name: string) => NoteSigner;
  readonly #beganMs: number;

  constructor({ name, log = name, epoch = 0, beganMs = midLastMonth() }: PlaneOptions, home: Home) {
    super({ seed: name, epoch, empty: true });
    this.#signerOf = signersOf(name);
    const [origin, audit] = [`gov.local/${log}/metering`, `gov.local/${log}/audit`];
    this.identity = {
      origin,
      auditOrigin: audit,
      verifierKey: this.#signerOf(`${origin}/0`).verifierKey,
      auditVerifierKey: this.#signerOf(audit).verifierKey,
    };
    this.home = home;
    this.#beganMs = beganMs;
    this.nowMs = beganMs;
    this.append({ op: 'none', units: 0, leaves: 1 });
  }

  /** Its logs go on under other keys. */
  rekey(name: string): void {
    this.#signerOf = signersOf(name);
    const { origin, auditOrigin: audit } = this.identity;
    this.identity = {
      ...this.identity,
      verifierKey: this.#signerOf(`${origin}/0`).verifierKey,
      auditVerifierKey: this.#signerOf(audit).verifierKey,
    };
  }

  override get origin(): string {
    return `${this.identity.origin}/${this.epoch}`;
  }

  override checkpoint(tree: Tree, name: string, size = tree.size): string {
    const origin = name.startsWith(auditOrigin) ? name.replace(auditOrigin, this.identity.auditOrigin) : name;
    const checkpoint = { origin, size, root: tree.root(size), extensions: [] };
    return signCheckpoint(checkpoint, [this.#signerOf(origin)]);
  }

  override report(members: Partial<UsageReport> = {}): UsageReport {
    const made = super.report();
    const began = made.sequence === 1 ? { periodStart: formatTimestamp(this.#beganMs) } : {};
    const report = { ...made, ...this.home, ...began, ...members };
    this.reports.splice(-1, 1, report);
    return report;
  }

  override signed(challenge: Challenge, proof: AttestationProof): AttestationProof {
    const signers = [this.#signerOf(this.origin)];
    return { ...proof, signature: signNote(attestationText(challenge, proof), signers) };
  }

  /** The note by which it shows that it holds its key. */
  possession(token: string): string {
    return signNote(possessionText(token, this.identity.origin), [
      this.#signerOf(`${this.identity.origin}/0`),
    ]);
  }

  /** What it asks where it is enrolled by file; `sealTo`: 32 bytes, the public half of what opens the answer. */
  requestByFile(token: string, sealTo: Uint8Array): EnrolmentRequest {
    const signer = this.#signerOf(`${this.identity.origin}/0`);
    return enrolmentRequest(this.identity, { secret: enrolmentSecret(token), sealTo, signer });
  }
}

function signersOf(name: string): (origin: string) => NoteSigner {
  const key = privateKey(`plane ${name}`);
  return (origin) => ed25519Signer(origin, key);
}

export interface Credentials {
  readonly key: string;
  readonly signingSecret: string;
}

export interface Signed {
  /** Unix seconds; now. */
  readonly timestamp?: string;
  readonly headers?: Record<string, string>;
  /** What is sent instead of what is signed. */
  readonly raw?: string | Buffer;
  readonly key?: string;
  readonly secret?: string;
}

export const seconds = (ms = Date.now()): string => String(Math.floor(ms / 1000));
export const canonical = (body: unknown): string => canonicalize(body as Json);

/** The headers of a signed body. */
export const signatureOf = (secret: string, body: string, timestamp: string): Record<string, string> => ({
  'x-telemetry-signature': signTelemetry(parseSigningSecret(secret), timestamp, body),
  'x-telemetry-timestamp': timestamp,
});

/** A plane with its credentials, and the way to its service. */
export class Sender {
  readonly plane: ReportingPlane;
  credentials: Credentials;
  readonly #call: Call;

  constructor(plane: ReportingPlane, credentials: Credentials, call: Call) {
    this.plane = plane;
    this.credentials = credentials;
    this.#call = call;
  }

  /** Signs a body, and returns what posts it. */
  signed(body: unknown, options: Signed = {}) {
    const { timestamp = seconds(), headers = {}, key, secret } = options;
    const text = canonical(body);
    const signed = signatureOf(secret ?? this.credentials.signingSecret, text, timestamp);
    return {
      raw: options.raw ?? text,
      key: key ?? this.credentials.key,
      headers: { ...signed, ...headers },
    };
  }

  /** Signs and posts a body. */
  post(path: string, body: unknown, options: Signed = {}): Promise<Answer> {
    return this.#call('POST', path, this.signed(body, options));
  }

  /** Asks, signed over no body. */
  get(path: string, { timestamp = seconds(), headers = {}, key, secret }: Signed = {}): Promise<Answer> {
    const signed = signatureOf(secret ?? this.credentials.signingSecret, '', timestamp);
    return this.#call('GET', path, {
      key: key ?? this.credentials.key,
      headers: { ...signed, ...headers },
    });
  }

  /** What the service holds. */
  newest(query = '', options: Signed = {}): Promise<Answer> {
    return this.get(`/telemetry/reports/newest${query}`, options);
  }

  send(report: unknown, options: Signed = {}): Promise<Answer> {
    return this.post('/telemetry/usage', report, options);
  }

  /** Works, and reports it. */
  async work(operations = 5): Promise<Answer> {
    return this.send(this.plane.work(operations).report());
  }

  attest(
    challenge: Challenge,
    proof: unknown = this.plane.answer(challenge),
    options: Signed = {},
  ): Promise<Answer> {
    return this.post(`/telemetry/attestations/${challenge.challengeId}`, proof, options);
  }
}

/** Registers a plane of the project that `call` is of, and enrols it there. */
export async function enrolledPlane(
  call: Call,
  {
    projectId,
    environment = 'production',
    ...options
  }: PlaneOptions & { projectId: string; environment?: Home['environment'] },
): Promise<Sender> {
  const created = await call('POST', '/telemetry/planes', { body: { name: options.name } });
  if (created.status !== 201) throw new Error(`no plane: ${created.text}`);
  const { enrolmentToken, dataPlane } = created.body;
  const plane = new ReportingPlane(options, { dataPlaneId: dataPlane.dataPlaneId, projectId, environment });
  const enrolled = await enroll(call, plane, enrolmentToken);
  if (enrolled.status !== 201) throw new Error(`not enrolled: ${enrolled.text}`);
  return new Sender(plane, enrolled.body, call);
}

export const enroll = (call: Call, plane: ReportingPlane, token: string): Promise<Answer> =>
  call('POST', '/telemetry/planes/enroll', {
    body: { token, ...plane.identity, possession: plane.possession(token) },
  });
