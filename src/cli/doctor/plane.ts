/**
 * The check of `gov doctor` on the data directory of a plane on this machine: the worst of what `gov plane doctor` finds.
 * Tested by `test/cli/doctor/run.test.ts`.
 */
import { shellWord } from '../../core/shell-word.ts';
import type { Session } from '../context/session.ts';
import type { Io } from '../terminal/io.ts';
import { failed, ok, skipped, warning, type CheckResult } from './finding.ts';

/** It does not ask the service of the plane, which may take longer than a check: `gov plane doctor` does. */
export async function lookAtPlane(session: Session, { env }: Io): Promise<CheckResult> {
  const chosen = session.context();
  if (chosen === null) return skipped('there is no context');
  if (chosen.context.kind !== 'plane') return skipped('the context is no data plane of this machine');
  const { dataDir } = chosen.context;
  const { planeDoctor } = await import('../../../plane/serve/doctor.ts');
  const { checks } = await planeDoctor({ dataDir, env, isLocal: true });
  const said = (status: string): string[] =>
    checks.filter((each) => each.status === status).map(({ name, detail }) => `${name}: ${detail}`);
  const [faults, warnings] = [said('fail'), said('warn')];
  const next = `gov plane doctor --data ${shellWord(dataDir)}`;
  if (faults.length > 0) return failed([...faults, ...warnings].join('; '), next);
  return warnings.length > 0 ? warning(warnings.join('; '), next) : ok(`${dataDir}: ${checks.length} checks`);
}
