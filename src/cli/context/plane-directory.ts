/**
 * A plane by its data directory: asked where it serves, its directory opened where it does not. And what a refused
 * configuration is told as. `test/cli/context/plane-directory.test.ts` holds both ways.
 */
import type { Client } from '../../client/create.ts';
import { GovApiError, GovNetworkError } from '../../client/errors.ts';
import { GovError } from '../../contract/problems.ts';
import { exit } from '../program/exit.ts';
import type { Out } from '../terminal/out.ts';
import { safe } from '../terminal/safe.ts';
import type { Session } from './session.ts';

/** The answer of the plane that serves; `otherwise` where none does. Other failures are thrown. */
export async function askedOr<Answer>(
  session: Session,
  ask: (client: Client) => Promise<Answer>,
  otherwise: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask(await session.client({ retries: 0 }));
  } catch (cause) {
    const isAway = cause instanceof GovNetworkError && cause.code === 'ECONNREFUSED';
    if (!isAway) throw cause;
  }
  return otherwise();
}

export interface Refused {
  readonly reason: string;
  readonly detail: string;
}

/** Why a configuration is refused; null for another failure. */
export function refusalOf(thrown: unknown): Refused | null {
  const reason =
    thrown instanceof GovApiError
      ? thrown.problem['reason']
      : thrown instanceof GovError
        ? thrown.extensions['reason']
        : undefined;
  if (typeof reason !== 'string') return null;
  return { reason, detail: thrown instanceof GovApiError ? thrown.detail : (thrown as Error).message };
}

/** Exit 3. */
export async function tellRefusal(out: Out, refused: Refused, effect: string): Promise<number> {
  out.verdict = exit.checkFailed;
  if (out.isHuman) {
    await out.lines([
      safe`${out.styles.red('✗ refused')}: ${refused.reason}; ${effect}`,
      safe`  ${refused.detail}`,
    ]);
  } else await out.json({ taken: false, ...refused });
  return out.verdict;
}
