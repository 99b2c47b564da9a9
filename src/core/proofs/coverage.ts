/**
 * The layer `x-coverage` (`docs/reference/proof-format.md`): the sources of a run agree that nothing ran ungoverned. Its
 * claims follow from the events of the run alone, so a bundle that discloses them lets anyone recompute it. A run of which
 * no call has a second source passes, and its code says that nothing was compared.
 * Proven by `test/core/proofs/coverage.test.ts`.
 */
import type { CoverageVerdict } from '../../contract/coverage.ts';
import { hashText } from '../hash.ts';
import { canonicalize } from '../json/parse.ts';
import { ListRoot } from '../merkle/list-root.ts';
import type { Json } from '../json/parse.ts';
import { alarms, newestRules, type Coverage, type CoverageRules } from '../coverage/judge.ts';
import { verdictOf, type LayerResult } from './statement.ts';

/** Verdicts that came later stand only where a call has them, so that older statements of other runs stay the same. */
const later: ReadonlySet<string> = new Set<CoverageVerdict>([
  'unknown',
  'failed',
  'user_refused',
  'denied',
  'mismatch',
]);
const shownCounts = (counts: Coverage['counts']): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).filter(([verdict, count]) => count > 0 || !later.has(verdict)));

/** Returns the rules by which a layer was judged: the oldest ones have no number. Null: this version does not know them. */
export function coverageRules({ rules = 1 }: { readonly rules?: Json }): CoverageRules | null {
  return rules === 1 || rules === 2 || rules === 3 || rules === newestRules ? rules : null;
}

/** Which rules judged the calls. The maker of a proof could choose older rules, which know fewer verdicts. */
export const rulesText = ({ rules = 1 }: { readonly rules?: Json }): string =>
  `judged by rules ${Number(rules)} of ${newestRules}`;

export function coverageLayer({ calls, counts, sources, gaps, confirmed, rules }: Coverage): LayerResult {
  const list = new ListRoot();
  for (const { eventId, verdict, sources: reported, compared } of calls) {
    const stated = { eventId, sources: [...reported], verdict };
    list.add(`\0${canonicalize(rules < 4 ? stated : { ...stated, compared })}`);
  }
  const first = calls.find(({ verdict }) => alarms.has(verdict) || (rules > 2 && verdict === 'unknown'));
  const isVacuous = confirmed === 0;
  const checks = [
    { id: 'nothing_ran_ungoverned', pass: counts.ungoverned === 0 && (rules < 3 || counts.unknown === 0) },
    { id: 'nothing_ran_after_deny', pass: counts.denied_but_ran === 0 },
    ...(rules < 4 ? [] : [{ id: 'decided_calls_ran', pass: counts.mismatch === 0 }]),
    { id: 'sources_have_no_gaps', pass: counts.gap === 0 && gaps.length === 0 },
  ];
  return {
    layer: 'x-coverage',
    claims: {
      ...(isVacuous ? { code: 'NO_SECOND_SOURCE' } : {}),
      ...(rules === 1 ? {} : { rules }),
      vacuous: isVacuous,
      calls: { n: list.size, root: hashText(list.root()) },
      confirmed,
      ...(rules < 4 ? {} : { compared: calls.filter(({ compared }) => compared === 'action').length }),
      counts: shownCounts(counts),
      sources: sources.map(({ source, calls: reported }) => ({ source, calls: reported })),
      missingNumbers: gaps.reduce((sum, gap) => sum + gap.last - gap.first + 1, 0),
      firstFinding: first === undefined ? null : { index: first.index, verdict: first.verdict },
    },
    checks,
    verdict: verdictOf(checks),
  };
}
