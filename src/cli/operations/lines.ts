/** The integrity of a plane as lines of `gov plane status`. Tested by `test/cli/operations/lines.test.ts`. */
import { GovApiError } from '../../client/errors.ts';
import type { Client } from '../../client/create.ts';
import type { Integrity } from '../../contract/operations.ts';
import { aboutDuration } from '../../core/duration.ts';

/** Null if this key may not read it, or an older plane does not know it. */
export async function integrityOf(client: Client): Promise<Integrity | null> {
  try {
    return (await client.getIntegrity()).body;
  } catch (cause) {
    if (cause instanceof GovApiError) return null;
    throw cause;
  }
}

export function scrubText(integrity: Integrity | null): string | null {
  if (integrity === null) return null;
  const { scrub } = integrity;
  if (scrub === null) return 'the log was not read again yet';
  const { reading, last, found } = scrub;
  const now = reading === null ? '' : `; reading ${reading.tree} ${reading.read} of ${reading.of}`;
  const verdict = found > 0 ? `${found} ALTERED places` : null;
  if (last === null) return `${verdict ?? 'first pass'}${now}`;
  return `${verdict ?? (last.found > 0 ? `${last.found} ALTERED places` : 'whole')}, ${last.leaves} leaves read until ${last.completedAt}${now}`;
}

export function backupText(integrity: Integrity | null): string | null {
  if (integrity === null) return null;
  const { backup } = integrity;
  if (backup === null) return 'none known';
  const { createdAt, ageSeconds, out, present, verified } = backup;
  const state = present ? (verified ? 'verified' : 'not verified') : 'not there any more';
  return `${createdAt} (${aboutDuration(ageSeconds * 1000)} ago), ${state}, ${out}`;
}

export function fsckText(integrity: Integrity | null): string | null {
  if (integrity === null) return null;
  const { fsck } = integrity;
  if (fsck === null) return 'never run';
  const { at, ok, found, deep } = fsck;
  return `${ok ? 'whole' : `BROKEN in ${found} places`} at ${at}${deep ? ' (deep)' : ''}`;
}
