/**
 * `gov plane rotate-credentials`: gets new credentials; the old ones work for a while.
 * Tested by `test/cli/commands/plane/telemetry.test.ts`.
 */
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import { hintedBy } from '../../enrolment/token.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeRotateCredentials as spec } from '../../specs/operate/plane-telemetry.ts';
import { plainView } from '../../terminal/view.ts';

const again =
  'enrol again with a token for this data plane: gov planes token ID, at the service; then gov plane enroll --force';

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { rotateCredentials } = await import('../../../../plane/enrolment/exchange.ts');
  const { overlap } = flags;
  const overlapSeconds = overlap === undefined ? undefined : Math.ceil(overlap / 1000);
  const { dataPlaneId, current, previous } = await rotateCredentials({
    dataDir,
    overlapSeconds,
    env: io.env,
    now: io.now,
  }).catch(hintedBy(again));
  const keyLast4 = current.key.slice(-4);
  const previousValidUntil = previous?.validUntil ?? null;
  const result = { dataPlaneId, keyLast4, previousValidUntil };
  if (!out.isHuman) return out.one(result, plainView(Object.keys(result)));
  const until = previousValidUntil === null ? 'have ended' : `work until ${previousValidUntil}`;
  return out.line(safe`${out.styles.green('✓')} new credentials (…${keyLast4}); the old ones ${until}`);
};
