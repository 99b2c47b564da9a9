/**
 * Reaches a plane by its data directory: asks the serving process, or opens the directory if no process serves. Also
 * prints why a plane refused a configuration. Tested by `test/cli/context/plane-directory.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import { GovApiError, GovNetworkError } from '../../client/errors.ts';
import { GovError } from '../../contract/problems.ts';
import { exit } from '../program/exit.ts';
import type { Out } from '../terminal/out.ts';
import { safe } from '../terminal/safe.ts';
import type { Session } from './session.ts';

/**
 * Returns the response of the plane that serves the directory, or the result of `otherwise` if none does. The plane of a copied
 * directory may answer at its address, and is not asked. Rethrows other failures.
 */
export async function askOr<Answer>(
  { session, dataDir }: { readonly session: Session; readonly dataDir: string },
  ask: (client: Client) => Promise<Answer>,
  otherwise: () => Promise<Answer>,
): Promise<Answer> {
  const { isServed } = await import('../../../plane/serve/served.ts');
  if (!isServed(dataDir)) return otherwise();
  try {
    return await ask(await session.client({ retries: 0 }));
  } catch (cause) {
    const isAway = cause instanceof GovNetworkError && cause.code === 'ECONNREFUSED';
    if (!isAway) throw cause;
  }
  return otherwise();
}

export interface PlaneRefusal {
  readonly reason: string;
  readonly detail: string;
}

/** Returns why a configuration was refused; null for any other failure. */
export function refusalOf(thrown: unknown): PlaneRefusal | null {
  const reason =
    thrown instanceof GovApiError
      ? thrown.problem['reason']
      : thrown instanceof GovError
        ? thrown.extensions['reason']
        : undefined;
  if (typeof reason !== 'string') return null;
  return { reason, detail: thrown instanceof GovApiError ? thrown.detail : (thrown as Error).message };
}

/** Prints the refusal. Returns exit code 3. */
export async function printRefusal(out: Out, refused: PlaneRefusal, effect: string): Promise<number> {
  out.verdict = exit.checkFailed;
  if (out.isHuman) {
    await out.lines([
      safe`${out.styles.red('✗ refused')}: ${refused.reason}; ${effect}`,
      safe`  ${refused.detail}`,
    ]);
  } else await out.json({ taken: false, ...refused });
  return out.verdict;
}
