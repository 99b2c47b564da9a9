/** The verdict of one call by rules 1 to 3, for proofs that state them. Tested by `test/core/proofs/coverage.test.ts`. */
import type { CoverageVerdict } from '../../contract/coverage.ts';
import type { CallFacts, Sighting } from './calls.ts';

/** Whether a source may have reported a refusal: an error of a program that takes one for the other. */
const isMistakable = ({ failed, succeeded, mistakesRefusals }: Sighting): boolean =>
  mistakesRefusals && failed && !succeeded;

/** `missing`: what a source lacks of the call, which may have run. Returns also why the verdict is `gap`. */
export function olderVerdict(
  call: CallFacts,
  { rules, missing }: { readonly rules: number; readonly missing: (hasRun: boolean) => string | null },
): readonly [CoverageVerdict, string | null] {
  const seen = [...call.sightings.values()];
  const ran = seen.some((each) => each.ran);
  const isRefused = seen.some((each) => each.refused);
  // a client reports a refusal as a failure too, and one of the proxy as a call that ended
  if (call.decision === 'denied') return [ran && !call.isStopped ? 'denied_but_ran' : 'governed', null];
  const hasFailed = seen.some((each) => each.failed);
  // the first rules had no doubt, and knew no refusal and no failure of an allowed call
  const isFirst = rules === 1;
  const mayHaveRun = hasFailed && !isRefused;
  const isSure = isFirst
    ? ran || mayHaveRun
    : seen.some((each) => (each.ran || (each.failed && !isRefused)) && !isMistakable(each));
  const hasRun = isSure || mayHaveRun;
  if (call.decision === null) return [isSure ? 'ungoverned' : hasRun ? 'unknown' : 'not_run', null];
  const lacks = missing(hasRun);
  if (lacks !== null) return ['gap', lacks];
  if (!isFirst && isRefused && !isSure) return ['user_refused', null];
  if (seen.length === 1) return ['single_source', null];
  const isFailed = !isFirst && hasFailed && !seen.some((each) => each.succeeded);
  return [isFailed ? 'failed' : 'governed', null];
}
