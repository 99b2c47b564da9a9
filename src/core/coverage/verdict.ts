/**
 * The verdict of one call by the newest rules: what was decided against what every source says of it.
 * Tested by `test/core/coverage/cases.test.ts`.
 */
import type { CoverageVerdict } from '../../contract/coverage.ts';
import type { CallFacts, Sighting } from './calls.ts';
import { clientFacts } from './clients.ts';
import { compare, type Comparison } from './same.ts';

export interface Verdict {
  readonly verdict: CoverageVerdict;
  /** What the sources of the call were compared by; null: nothing, or they differ. */
  readonly compared: 'action' | 'tool' | null;
  readonly detail: string | null;
}

/** What the run as a whole says of a call. */
export interface Around {
  /** What a source lacks of the call that it has to have; null: nothing, or its report may still come. */
  missing(hasRun: boolean): string | null;
  /** No more is to come about the call. */
  readonly isSettled: boolean;
  /** A result that names no call may be that of this one. */
  readonly mayHaveResult: boolean;
}

/** Whether a source says that the call ran, and that it did not end with an error. */
const hasRun = ({ ran, started, failed, refused }: Sighting): boolean =>
  ran || (started && !failed && !refused);

export function verdictOf(call: CallFacts, around: Around): Verdict {
  const { decision, isStopped, sightings } = call;
  const seen = [...sightings.values()];
  const ran = seen.some(hasRun);
  const { compared, other } = comparisonOf(call);
  const said = (verdict: CoverageVerdict, detail: string | null = null): Verdict => ({
    verdict,
    compared,
    detail,
  });
  if (other !== null) {
    const { decided, report } = other;
    const detail = `decided as ${decided.tool}, ${report.source} reports ${report.tool ?? 'another call'}${decided.tool === report.tool ? ' with other arguments' : ''}`;
    const source = sightings.get(report.source);
    const isOver = source !== undefined && !hasRun(source) && (source.failed || source.refused);
    return isOver && !ran ? said('unknown', `${detail}, which did not end well`) : said('mismatch', detail);
  }
  // the client reports a refusal of the proxy as a call that ended
  if (decision === 'denied') return said(ran && !isStopped ? 'denied_but_ran' : 'denied');
  return decision === 'allowed' ? said(...allowed(call, around)) : said(...undecided(call, around));
}

type Found = readonly [CoverageVerdict, string | null];

function allowed({ sightings }: CallFacts, around: Around): Found {
  const seen = [...sightings.values()];
  const ran = seen.some(hasRun);
  const [isRefused, hasFailed] = [seen.some(({ refused }) => refused), seen.some(({ failed }) => failed)];
  const missing = around.missing(ran || (hasFailed && !isRefused));
  if (missing !== null) return ['gap', missing];
  if (isRefused && !ran) return ['user_refused', null];
  if (seen.length === 1) return ['single_source', null];
  return [hasFailed && !seen.some(({ succeeded }) => succeeded) ? 'failed' : 'governed', null];
}

function undecided(call: CallFacts, { isSettled, mayHaveResult }: Around): Found {
  const { sightings, reports } = call;
  const seen = [...sightings.values()];
  if (isWrapper(call) && !sightings.has('kernel')) return ['governed', 'a wrapper: its calls are judged'];
  if (reports.some(({ kind }) => kind === 'session'))
    return ['not_run', 'a tool of the session: it does nothing outside'];
  if (seen.some(hasRun)) return ['ungoverned', null];
  if (seen.some(({ refused }) => refused)) return ['not_run', null];
  // an error is a refusal in the words of some programs
  if (seen.some(({ failed, mistakesRefusals }) => failed && !mistakesRefusals)) return ['ungoverned', null];
  if (sightings.size === 1 && sightings.has('kernel'))
    return ['unknown', 'no shell whose line can be compared, or a linked run has the decision'];
  if (seen.some(({ failed }) => failed)) return ['unknown', 'its error may be a refusal'];
  if (mayHaveResult) return ['unknown', 'a result that names no call may be its'];
  return isSettled ? ['not_run', null] : ['unknown', 'no source says yet whether it ran'];
}

/** Compares the reports of a call with the decisions about it, in the order of their evidence. */
function comparisonOf({ reports }: CallFacts): {
  readonly compared: Verdict['compared'];
  readonly other: {
    readonly decided: CallFacts['reports'][0];
    readonly report: CallFacts['reports'][0];
  } | null;
} {
  const decisions = reports.filter(({ decides }) => decides);
  const found = new Set<Comparison>();
  for (const report of reports) {
    if (report.decides) continue;
    const each = decisions.map((decided) => compare(decided, report));
    const [decided] = decisions;
    if (decided !== undefined && each.every((result) => result === 'other'))
      return { compared: null, other: { decided, report } };
    // what a hook says after a call is its own word again
    decisions.forEach(({ source }, at) => source === report.source || found.add(each[at] ?? null));
  }
  return { compared: found.has('action') ? 'action' : found.has('tool') ? 'tool' : null, other: null };
}

/** Whether a call is one that its client makes inside a call of its wrapper. */
export const isInner = (id: string | null): boolean =>
  id !== null && [...clientFacts.values()].some(({ innerIds }) => innerIds?.test(id) === true);

export const isWrapper = ({ reports }: CallFacts): boolean => reports.some(({ kind }) => kind === 'wrapper');

/**
 * Returns the first of the inner calls in the time of a wrapper, which they do not name; undefined without one. `inner`: in the order
 * of their times. Cost: logarithmic.
 */
export function firstWrapped(wrapper: CallFacts, inner: readonly CallFacts[]): CallFacts | undefined {
  const { startMs, lastMs, durationMs } = wrapper;
  const fromMs = Math.min(startMs, lastMs - durationMs);
  let [low, high] = [0, inner.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((inner[middle]?.startMs ?? 0) < fromMs) low = middle + 1;
    else high = middle;
  }
  const found = inner[low];
  return found !== undefined && found.startMs <= lastMs ? found : undefined;
}
