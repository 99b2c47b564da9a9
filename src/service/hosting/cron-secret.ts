/**
 * The secret of the scheduler of an installation (contract B17). Proven by `test/http/admit/cron.test.ts`.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface CronSecret {
  readonly isSet: boolean;
  /** False for any text where no secret is set. Takes the same time wherever two texts differ. Attacker controlled. */
  matches(text: string): boolean;
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** `secret`: null where the operator set none. */
export function cronSecretOf(secret: string | null): CronSecret {
  const wanted = secret === null ? null : digest(secret);
  return {
    isSet: wanted !== null,
    matches: (text) => wanted !== null && timingSafeEqual(digest(text), wanted),
  };
}
