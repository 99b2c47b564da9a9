/**
 * What a usage report shows of the logs of its plane: their signed heads, and paths and leaves in them.
 * Proven by `test/core/plane/usage-report.test.ts`.
 */
import type { UsageReport } from '../../contract/telemetry.ts';
import { decodeBase64 } from '../json/base64.ts';
import { type Checkpoint, parseCheckpoint } from '../note/checkpoint.ts';
import { splitNote } from '../note/signed.ts';
import { type Fault, faultAt } from './identity.ts';

/** The reported head of the metering log. Only of a report that `checkReport` accepted: no signature is looked at. */
export const reportedHead = ({ log }: Pick<UsageReport, 'log'>): Checkpoint =>
  parseCheckpoint(splitNote(log.checkpoint).text);

/** The same of the audit log. */
export const reportedAuditHead = ({ auditLog }: Pick<UsageReport, 'auditLog'>): Checkpoint =>
  parseCheckpoint(splitNote(auditLog.checkpoint).text);

/** The hashes of a path, null where one is not in canonical base64. */
export function decodePath(path: readonly string[]): Buffer[] | null {
  const hashes = path.map(decodeBase64).filter((hash) => hash !== null);
  return hashes.length === path.length ? hashes : null;
}

/** A leaf that is in the tree, but is none that a metering log can have. */
export const malformedRecord = (pointer: string): Fault =>
  faultAt(
    'op_type_invalid',
    pointer,
    'expected the canonical record of a metering leaf with a metered type or none, got another text',
  );
