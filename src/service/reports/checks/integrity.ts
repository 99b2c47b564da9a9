/** The checks of the template `integrity-completeness`. */
import { limits } from '../../../contract/limits.ts';
import { readIndex } from '../../../core/completeness/index-leaf.ts';
import { alarmText, callsOf, unseenText, type CoverageTable } from '../templates/coverage.ts';
import type { Draft } from '../templates/draft.ts';
import { count } from '../templates/period.ts';
import type { ReportSource } from '../templates/source.ts';
import type { Tally } from '../counts/tally.ts';
import type { Examination } from './verdict.ts';

interface Findings {
  readonly kinds: ReadonlyMap<string, number>;
  readonly tally: Tally;
  readonly covered: CoverageTable;
  /** Services that sent telemetry, those that did for long enough to be missed, and those of them that are silent. */
  readonly sources: { readonly services: number; readonly watched: number; readonly silent: number };
  /** Usage reports of data planes that were received in the period, and planes that fell silent. */
  readonly planes: { readonly reports: number; readonly silent: number };
}

/** Only a service that sent for long enough can be silent. */
function sourcesOf({ services, watched, silent }: Findings['sources']): Examination {
  const unwatched = services - watched;
  const young = `${count(unwatched, 'service has', 'services have')} sent for less than ${limits.sourceSilentHours} h, and nobody can tell yet that it is silent.`;
  return {
    examined: watched,
    failed: silent,
    detail: `When the report was made, ${silent} of ${count(watched, 'service')} had sent nothing for more than ${limits.sourceSilentHours} h.`,
    none: unwatched === 0 ? 'No program sent telemetry.' : young,
    missing: unwatched === 0 ? null : young,
  };
}

export function integrityOf({ installation }: ReportSource, of: Findings) {
  const { kinds, covered, sources, tally } = of;
  const { reports: reported, silent } = of.planes;
  const jumps = kinds.get('clock.jumped') ?? 0;
  const losses = tally.recorded('gov.loss/1');
  const unseen = unseenText(covered);
  /** Only a plane that reports can be seen to break its log, or to skip a report. */
  const planes = (types: readonly string[], what: string): Examination => {
    const n = types.reduce((sum, type) => sum + (kinds.get(type) ?? 0), 0);
    return {
      // a fault is a thing to examine where no report arrived, too
      examined: Math.max(reported, n),
      failed: n,
      detail: `${count(n, what)} in the period, in which ${count(reported, 'report')} of data planes arrived.`,
      none:
        installation === 'plane'
          ? 'No plane reports to a data plane. The service that this plane reports to answers it.'
          : 'No data plane reported in the period.',
      missing:
        silent === 0
          ? null
          : `${count(silent, 'data plane')} reported nothing for more than ${limits.reportPlaneSilentHours} h.`,
    };
  };
  return {
    planesWhole: planes(
      ['integrity.violation', 'attestation.failed', 'attestation.contradicted'],
      'violation',
    ),
    usageWhole: planes(['telemetry.gap_detected', 'telemetry.report_refused'], 'gap or refusal'),
    ackedKept: {
      examined: tally.leaves,
      failed: losses,
      detail:
        losses === 0
          ? 'The log records no loss in the period.'
          : `${count(losses, 'loss', 'losses')} in the period; each gov.loss/1 leaf has the number of lost entries.`,
      none: 'The log recorded nothing in the period.',
    },
    clockSteady: {
      // each append compares the clock with the time of the entry before
      examined: tally.leaves,
      failed: jumps,
      detail: jumps === 0 ? 'The log has no jump in the period.' : `${count(jumps, 'jump')} in the period.`,
      none: 'The log recorded nothing in the period.',
    },
    sourcesSend: sourcesOf(sources),
    allGoverned: {
      examined: callsOf(covered.counts),
      failed: covered.alarms,
      detail: alarmText(covered),
      none:
        covered.runs === 0
          ? `No run was compared. ${unseen ?? ''}`.trim()
          : 'No run of the period has a tool call.',
      missing: unseen,
    },
    balanced: covered.recordings.examined({
      none: 'No run of the period has a recording with a balance.',
      leftOut: covered.leftOut,
    }),
    clientClocks: {
      examined: tally.events,
      failed: tally.skewed,
      detail: `${tally.skewed} of ${count(tally.events, 'event')} ${tally.skewed === 1 ? 'differs' : 'differ'} by more than ${limits.recordedSkewSeconds / 60} min.`,
      none: 'There is no event in the period.',
    },
  };
}

/**
 * Whether an index leaf below the checkpoint covers the period. The index follows the log by up to `limits.indexLeaves`
 * leaves, so a smaller gap shows nothing.
 */
export async function indexOf({ source, period }: Draft): Promise<Examination> {
  const { reader, projectId, treeSize } = source;
  const filter = { type: 'gov.index/1', beforeIndex: treeSize } as const;
  const [leaf] = await reader.leavesOf(projectId, filter, { order: 'desc', limit: 1 });
  const read = leaf === undefined ? null : readIndex(leaf.record);
  const { from, to } = period;
  const missing = leaf === undefined || read === null;
  // an index leaf covers all leaves below it, and is the last of those that it does not index
  const size = missing ? 0 : read.size === leaf.index ? leaf.index + 1 : read.size;
  const uncovered = Math.min(to - from, Math.max(0, to - size));
  const isBehind = treeSize - size > limits.indexLeaves;
  return {
    examined: missing ? 0 : to - from,
    failed: missing || !isBehind ? 0 : uncovered,
    detail: `Leaf ${leaf?.index} indexes the leaves below ${read?.size}; the period ends at leaf ${to}.`,
    none:
      from === to
        ? 'The log recorded nothing in the period.'
        : 'The log has no index below the checkpoint. gov log index build makes one.',
    missing:
      isBehind || uncovered === 0
        ? null
        : `The index has not reached ${count(uncovered, 'entry', 'entries')} of the period. gov log index build makes it now.`,
  };
}
