/** What states of runs are called, and how they are colored. */
import { redVerdicts, type CoverageVerdict, type RunCoverage } from '../../contract/coverage.ts';
import type { AuditEvent } from '../../contract/events.ts';
import { balanceWords, isWhole, statedBy, wordOf } from '../../core/balance/statement.ts';
import { callsIn, countOf, stateOf } from '../../core/coverage/state.ts';
import { recordingFault, RecordingsJudge } from '../../core/proofs/recordings.ts';
import type { RecordingCode } from '../../core/proofs/verdict.ts';
import { visibleLine } from '../../core/visible.ts';
import { counted } from '../parts/counted.ts';
import type { Tone } from '../parts/status.tsx';

/** The worst first. */
const verdictTexts: Readonly<Record<CoverageVerdict, string>> = {
  denied_but_ran: 'ran after a denial',
  mismatch: 'ran in place of the decided one',
  ungoverned: 'ran without a decision',
  gap: 'missing in a source',
  unknown: 'may have run without a decision',
  single_source: 'reported by one source',
  failed: 'failed',
  user_refused: 'refused by its user',
  not_run: 'not known to have run',
  denied: 'denied',
  governed: 'governed',
};

const verdicts = Object.keys(verdictTexts) as CoverageVerdict[];

export interface CoverageWords {
  readonly tone: Tone;
  readonly verdict: string;
  /** `3 calls: 2 governed, 1 ran without a decision; 2 confirmed by a second source`. */
  readonly line: string;
}

/** One source that loses everything looks like a run without calls of that source, so it is not confirmed. */
export function coverageWords(body: RunCoverage): CoverageWords {
  const { confirmed, gaps } = body;
  const calls = callsIn(body);
  const listed = verdicts
    .toReversed()
    .filter((verdict) => countOf(body, verdict) > 0)
    .map((verdict) => `${countOf(body, verdict)} ${verdictTexts[verdict]}`);
  const missing = gaps.length === 0 ? '' : `; ${counted(gaps.length, 'gap')} in the records of a source`;
  const line =
    calls === 0
      ? `no tool calls${missing}`
      : `${counted(calls, 'call')}: ${listed.join(', ')}; ${confirmed} confirmed by a second source${missing}`;
  switch (stateOf(body)) {
    case 'red': {
      const found = redVerdicts.reduce((sum, verdict) => sum + countOf(body, verdict), 0) + gaps.length;
      return { tone: 'bad', verdict: counted(found, 'alarm'), line };
    }
    case 'amber':
      return { tone: 'wait', verdict: 'not certain', line };
    case 'no_calls':
      return { tone: 'plain', verdict: 'no calls', line };
    case 'one_source':
      return { tone: 'plain', verdict: 'one source', line };
    case 'green':
      return { tone: 'good', verdict: 'covered', line };
  }
}

const faultWords: Readonly<Record<Exclude<RecordingCode, 'NO_RECORDING'>, { tone: Tone; verdict: string }>> =
  {
    RECORDING_WITHOUT_BALANCE: { tone: 'wait', verdict: 'not balanced' },
    RECORDING_NOT_COUNTED: { tone: 'plain', verdict: 'nothing compared' },
    RECORDING_UNBALANCED: { tone: 'bad', verdict: 'unbalanced' },
    RECORDING_LEFT_OUT: { tone: 'bad', verdict: 'left out' },
  };

/** What the balances of a run say of its recordings, and whose word they are; null for a run without one. */
export function recordingWords(events: readonly AuditEvent[]): CoverageWords | null {
  const judge = new RecordingsJudge();
  for (const { sequence, ...event } of events) judge.take({ index: sequence, ...event });
  const found = judge.finish();
  const fault = recordingFault(found);
  if (fault === 'NO_RECORDING') return null;
  const all = found.balances.map(({ balance }) => balance);
  const open = all.filter((balance) => !isWhole(balance)).map(({ source }) => visibleLine(source.name));
  const names = open.length === 0 ? '' : `: ${open.slice(0, 3).join(', ')}${open.length > 3 ? ', …' : ''}`;
  const line =
    all.length === 0
      ? 'a recording without a balance'
      : `recordings balanced: ${balanceWords(all)}${names}${fault === 'RECORDING_WITHOUT_BALANCE' ? '; another recording has no balance' : ''}, ${wordOf(statedBy(all))}`;
  return { ...(fault === null ? { tone: 'good' as const, verdict: 'balanced' } : faultWords[fault]), line };
}
