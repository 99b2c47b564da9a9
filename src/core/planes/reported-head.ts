/**
 * The signed log heads in a usage report, and paths and leaves in them.
 * Proven by `test/core/planes/usage-report.test.ts`.
 */
import type { UsageReport } from '../../contract/telemetry.ts';
import { decodeBase64 } from '../json/base64.ts';
import { type Checkpoint, unverifiedHead } from '../note/checkpoint.ts';
import { type Fault, faultAt } from './identity.ts';

/** Returns the reported head of the metering log, of a report that `checkReport` accepted. */
export const reportedHead = ({ log }: Pick<UsageReport, 'log'>): Checkpoint => unverifiedHead(log.checkpoint);

/** Returns the reported head of the audit log, likewise. */
export const reportedAuditHead = ({ auditLog }: Pick<UsageReport, 'auditLog'>): Checkpoint =>
  unverifiedHead(auditLog.checkpoint);

/** Returns the hashes of a path; null if one is not canonical base64. */
export function decodePath(path: readonly string[]): Buffer[] | null {
  const hashes = path.map(decodeBase64).filter((hash) => hash !== null);
  return hashes.length === path.length ? hashes : null;
}

/** The fault of a leaf that is in the tree but not a valid leaf of a metering log. */
export const malformedRecord = (pointer: string): Fault =>
  faultAt(
    'op_type_invalid',
    pointer,
    'expected the canonical record of a metering leaf with a metered type or none, got another text',
  );
