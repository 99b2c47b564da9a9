/**
 * The inputs of usage reports and answers, and the identity of the plane at its service.
 * Proven by `test/plane/telemetry/report.test.ts`.
 */
import { limits } from '../../src/contract/limits.ts';
import { GovError } from '../../src/contract/problems.ts';
import type { CheckpointSigner } from '../../src/core/note/checkpoint.ts';
import type { PlaneIdentity } from '../../src/core/planes/usage-report.ts';
import type { Project } from '../../src/store/port/store.ts';
import type { TreeName } from '../../src/store/port/store.ts';
import type { Enrolment } from '../service/enrolment.ts';
import type { LogReader } from './meter-log.ts';
import type { Outbox } from './outbox.ts';

/** The inputs of reports and answers. */
export interface Maker {
  readonly enrolment: Enrolment;
  readonly outbox: Outbox;
  readonly project: Project;
  readonly reader: LogReader;
  /** Signers of the log with this origin, Ed25519 first. */
  readonly signers: (origin: string) => readonly CheckpointSigner[];
  /** Size of a signed head of a log. No later head is smaller. */
  readonly signedSize: (tree: TreeName) => Promise<number>;
  readonly now: () => number;
  readonly randomBytes: (size: number) => Buffer;
  /** How far this clock is ahead of the service's. Null before the first response. */
  readonly clockAheadMs?: () => number | null;
  /** Ed25519 public keys that signed the logs earlier. */
  readonly formerKeys?: () => readonly Buffer[];
}

/** Returns the time for a report. It is never later than the service's clock, which limits reports. */
export function reportTime({ now, clockAheadMs }: Pick<Maker, 'now' | 'clockAheadMs'>): number {
  const ahead = clockAheadMs?.() ?? 0;
  return now() - (ahead > limits.telemetrySkewSeconds * 1000 ? ahead : 0);
}

/** The metering log of a plane by its origin, `<host>/<id>/metering/<epoch>`. */
export function meteringLog({ meteringOrigin }: Pick<Project, 'meteringOrigin'>): {
  readonly origin: string;
  readonly epoch: number;
} {
  const [, origin, digits] = /^(.+)\/(0|[1-9][0-9]{0,8})$/.exec(meteringOrigin) ?? [];
  if (origin !== undefined) return { origin, epoch: Number(digits) };
  throw new GovError(
    'STORAGE_FAULT',
    `expected a metering origin that ends in an epoch, got ${meteringOrigin}`,
  );
}

/** The Ed25519 signer of a log: services know planes by that key. */
export function ed25519Of(signers: readonly CheckpointSigner[]): CheckpointSigner {
  const signer = signers.find(({ algorithm }) => algorithm === 'ed25519');
  if (signer === undefined) throw new Error('a plane has an Ed25519 key');
  return signer;
}

/** Returns the identity of the plane at its service. */
export function identityOf({ project, signers }: Pick<Maker, 'project' | 'signers'>): PlaneIdentity {
  const { origin } = meteringLog(project);
  const keyOf = (name: string): string => ed25519Of(signers(name)).verifierKey;
  const auditOrigin = firstAuditOrigin(project);
  return { origin, auditOrigin, verifierKey: keyOf(`${origin}/0`), auditVerifierKey: keyOf(auditOrigin) };
}

/** Returns the origin that the plane's audit log had in epoch 0. */
export function firstAuditOrigin(project: Pick<Project, 'auditOrigin' | 'meteringOrigin'>): string {
  const { auditOrigin } = project;
  const { epoch } = meteringLog(project);
  return epoch > 0 && auditOrigin.endsWith(`/${epoch}`)
    ? auditOrigin.slice(0, -`/${epoch}`.length)
    : auditOrigin;
}
