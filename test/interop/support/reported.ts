/** What a plane reported to a real service and answered it, as an auditor gets it: `telemetry.ndjson` and `trust`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shownMessages } from '../../../plane/telemetry/by-file.ts';
import { readEnrolment } from '../../../plane/service/enrolment.ts';
import { ed25519Of } from '../../../plane/telemetry/report.ts';
import type { AttestationProof, UsageResult } from '../../../src/contract/telemetry.ts';
import { attestationText } from '../../../src/core/planes/attestation.ts';
import { signNote } from '../../../src/core/note/signed.ts';
import { readKeys } from '../../../src/host/keys/disk.ts';
import { startService, type TestService } from '../../support/hosted.ts';
import {
  register,
  setClock,
  startTelemetryPlane,
  type TestTelemetryPlane,
} from '../../plane/support/enrolled.ts';

export interface Reported {
  readonly dataDir: string;
  readonly lines: readonly string[];
  /** Verifier keys as the trust file and the enrolment have them. */
  readonly auditKey: string;
  readonly serviceKey: string;
  /** Where the service is. */
  readonly service: string;
  /** The answer with the signature that a plane which lies would make. */
  signed(proof: AttestationProof): AttestationProof;
  /** A file with these lines in place of the genuine ones. */
  write(name: string, lines: readonly string[]): string;
  end(): Promise<void>;
}

const reports = 5;
const mostPlanes = 60;
const hourMs = 3_600_000;

/**
 * Five reports with answers about the first one, which is always asked for, and about a later one, with consistency with
 * those before: one in twenty is asked about, so there are planes until one was.
 */
export async function reportToService(): Promise<Reported> {
  setClock(Date.UTC(2026, 8, 2, 9));
  const service = await startService();
  const ada = await service.signUp('ada');
  for (let tried = 0; tried < mostPlanes; tried++) {
    const plane = await startTelemetryPlane();
    const { token } = await register(ada);
    await plane.enrol({ service: `http://127.0.0.1:${service.port}`, token });
    for (let report = 0; report < reports; report++) {
      await plane.record(3);
      await plane.record(1, 'compliance_proof');
      await plane.record(2, 'none');
      await plane.sign();
      await plane.telemetry.look();
      setClock(Date.now() + hourMs);
    }
    const lines = [...shownMessages(plane.dataDir, 'all')];
    if (lines.filter((line) => line.includes('"schemaVersion":"gov.attest/1"')).length > 1)
      return reported(plane, lines, service);
    await plane.end();
  }
  throw new Error(`expected a challenge about a later report of one of ${mostPlanes} planes`);
}

function reported(plane: TestTelemetryPlane, lines: readonly string[], service: TestService): Reported {
  const [, auditKey = ''] = /^log (\S+)$/m.exec(readFileSync(join(plane.dataDir, 'trust'), 'utf8')) ?? [];
  return {
    dataDir: plane.dataDir,
    lines,
    auditKey,
    serviceKey: readEnrolment(plane.dataDir)?.cosignerKey ?? '',
    service: service.origin,
    signed: (proof) => {
      const of = lines.find((line) => line.includes(`"challenge":{`) && line.includes(proof.challengeId));
      const { challenge } = (JSON.parse(of ?? '') as UsageResult).attestation;
      if (challenge === undefined) throw new Error('expected the challenge in the receipt');
      const signer = ed25519Of(readKeys(plane.dataDir).signers(proof.log.origin));
      return { ...proof, signature: signNote(attestationText(challenge, proof), [signer]) };
    },
    write: (name, changed) => {
      const file = join(plane.dataDir, name);
      writeFileSync(file, `${changed.join('\n')}\n`);
      return file;
    },
    end: async () => {
      await plane.end();
      await service.end();
    },
  };
}

type Path = readonly (string | number)[];
type Json = Record<string | number, never>;

export interface Change {
  readonly name: string;
  /** Whether the line at this place is the one. */
  readonly of: 'report' | 'answer';
  /** Which of them, from the last one. */
  readonly nth?: number;
  readonly path: Path;
  readonly to: (value: never) => unknown;
}

/** Another character of its alphabet, `from` the end. */
const spoiled =
  (from: number) =>
  (text: string): string => {
    const at = text.length - from;
    return `${text.slice(0, at)}${text[at] === '4' ? '5' : '4'}${text.slice(at + 1)}`;
  };
const raised = (value: number): number => value + 1;

/** Each must be seen by whoever checks. */
export const changes: readonly Change[] = [
  { name: 'a total', of: 'report', path: ['totals', 'audit_event'], to: raised },
  { name: 'a count of the period', of: 'report', path: ['operations', 'audit_event'], to: raised },
  { name: 'the last leaf', of: 'report', path: ['lastLeaf', 'record'], to: spoiled(4) },
  { name: 'the path of the last leaf', of: 'report', path: ['lastLeaf', 'inclusion', 0], to: spoiled(9) },
  { name: 'the consistency path', of: 'report', path: ['log', 'consistency', 0], to: spoiled(9) },
  { name: 'the checkpoint', of: 'report', path: ['log', 'checkpoint'], to: spoiled(30) },
  { name: 'the head of the audit log', of: 'report', path: ['auditLog', 'checkpoint'], to: spoiled(30) },
  { name: 'the report before', of: 'report', nth: 1, path: ['runtime', 'nodeVersion'], to: spoiled(1) },
  { name: 'the sequence', of: 'report', path: ['sequence'], to: raised },
  { name: 'a sampled leaf', of: 'answer', path: ['samples', 0, 'record'], to: spoiled(4) },
  { name: 'the path of a sample', of: 'answer', path: ['samples', 1, 'inclusion', 0], to: spoiled(9) },
  { name: 'the leaf before', of: 'answer', path: ['samples', 1, 'previous', 'record'], to: spoiled(4) },
  { name: 'the unit of a sample', of: 'answer', path: ['samples', 1, 'unit'], to: raised },
  { name: 'an earlier tree', of: 'answer', path: ['consistency', 0, 'path', 0], to: spoiled(9) },
  { name: 'an audit leaf', of: 'answer', path: ['cross', 0, 'auditLeafHash'], to: spoiled(9) },
  { name: 'the nonce of a batch', of: 'answer', path: ['cross', 0, 'refNonce'], to: spoiled(9) },
  { name: 'the place of a batch', of: 'answer', path: ['cross', 0, 'firstAuditIndex'], to: raised },
  { name: 'the signature of the answer', of: 'answer', path: ['signature'], to: spoiled(30) },
];

/** The genuine lines with one change, signed anew where the plane's key can sign for it. */
export function changed({ lines, signed }: Reported, { of, nth = 0, path, to }: Change): string[] {
  const schema = of === 'report' ? '"schemaVersion":"gov.usage/1"' : '"schemaVersion":"gov.attest/1"';
  const places = lines.flatMap((line, at) => (line.includes(schema) ? [at] : []));
  const place = places.at(-1 - nth) ?? -1;
  const message = JSON.parse(lines[place] ?? '') as Json;
  let at = message;
  for (const step of path.slice(0, -1)) at = at[step] ?? {};
  const last = path.at(-1) ?? '';
  if (at[last] === undefined) throw new Error(`expected ${path.join('/')} in the ${of}`);
  at[last] = to(at[last]) as never;
  const isSignable = of === 'answer' && last !== 'signature';
  return lines.with(place, JSON.stringify(isSignable ? signed(message as never) : message));
}
