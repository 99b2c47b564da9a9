/** Schema parts that `telemetry.ts` and `data-planes.ts` share. */
import { Type } from 'typebox';
import { limits } from './limits.ts';
import { meteredTypes, type MeteredType } from './operation.ts';
import { exact, serviceId } from './shapes.ts';

export const count = (description?: string) =>
  Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    ...(description === undefined ? {} : { description }),
  });
export const counts = exact(
  Object.fromEntries(meteredTypes.map((type) => [type, count()])) as Record<
    MeteredType,
    ReturnType<typeof count>
  >,
);
/** A 32-byte hash in base64, as in C2SP texts. */
export const treeHash = Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$', maxLength: 44 });
export const path = Type.Array(treeHash, { maxItems: limits.proofPathHashes });
export const record = (description: string) =>
  Type.String({ maxLength: limits.meterRecordChars, description });
export const note = (description: string) =>
  Type.String({ maxLength: limits.checkpointNoteChars, description });
export const origin = (description: string) =>
  Type.String({ pattern: '^[!-~]+$', maxLength: limits.originChars, description });
export const base64Key = (description: string) =>
  Type.String({ maxLength: limits.verifierKeyChars, description });
export const dataPlaneId = serviceId('dpl');
export const reportId = serviceId('urp');
export const challengeId = Type.String({
  pattern: '^chl_[0-9a-hjkmnp-tv-z]{52}$',
  description: 'chl_ and 52 characters of base32: 256 random bits, the nonce',
});

/** A leaf of the metering log with its inclusion proof in the tree of the message. */
export const provenLeaf = exact({ index: count(), record: record('JCS of gov.meter/1'), inclusion: path });

export const attestationStatuses = ['not_sampled', 'pending', 'verified', 'failed', 'expired'] as const;
