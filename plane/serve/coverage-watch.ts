/**
 * Looks at the newest runs once a minute, and gives health a reason where a recent run has calls that ran ungoverned, or a
 * source with a gap. A finding counts when two looks in a row have it: telemetry may be recorded before the program that
 * asked for the decision. A call counts by the policies in force when it began: nothing governs calls before there is a policy.
 * An imported recording is history: `gov runs coverage` judges it, and health leaves it out.
 * Proven by `test/plane/serve/coverage-watch.test.ts`.
 */
import type { RunCoverage } from '../../src/contract/coverage.ts';
import { limits } from '../../src/contract/limits.ts';
import { isSystemRun } from '../../src/contract/system-runs.ts';
import { shellWord } from '../../src/core/shell-word.ts';
import type { Log } from '../../src/service/call/log.ts';
import { Poller } from '../../src/service/call/poller.ts';
import type { TaskRunner } from '../../src/service/call/work.ts';
import type { StoreReader } from '../../src/store/port/store.ts';
import type { ReportingBackground } from './background.ts';

const everyMs = 60_000;
/** Runs that are looked at, and the age at which a run is no longer recent. */
const newestRuns = 20;
const recentMs = 24 * 3600 * 1000;
/** Runs without a denied call that ran, which health names. */
const named = 3;

interface WatchOptions {
  readonly projectId: string;
  readonly store: Pick<StoreReader, 'runs' | 'policiesInForce'>;
  readonly work: Pick<TaskRunner, 'run'>;
  readonly now: () => number;
  readonly log: Log;
}

interface CoverageFinding {
  readonly text: string;
  readonly ranDenied: boolean;
}

interface CoverageLook {
  readonly events: number;
  readonly finding: CoverageFinding | null;
  /** Whether the look before found something too. */
  readonly isConfirmed: boolean;
}

export class CoverageWatch implements ReportingBackground {
  readonly #options: WatchOptions;
  #runs = new Map<string, CoverageLook>();
  readonly #poller: Poller;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#poller = new Poller({
      everyMs,
      firstAfterMs: everyMs,
      poll: () => this.look(),
      log: options.log,
      failed: 'the coverage of recent runs could not be checked',
      level: 'warn',
    });
  }

  start(): void {
    this.#poller.start();
  }

  stop(): Promise<void> {
    return this.#poller.stop();
  }

  /**
   * One reason for each run with a denied call that ran. One for each other run too, or one for all of them where they are
   * many, such as after an import.
   */
  reasons(): readonly string[] {
    const found = [...this.#runs].flatMap(([runId, { finding, isConfirmed }]) =>
      finding === null || !isConfirmed
        ? []
        : [{ runId, ranDenied: finding.ranDenied, has: `run ${runId} has ${finding.text}` }],
    );
    const others = found.filter(({ ranDenied }) => !ranDenied);
    const isMany = others.length > named;
    const own = found
      .filter(({ ranDenied }) => ranDenied || !isMany)
      .map(({ runId, has }) => `coverage: ${has}; see gov runs coverage ${shellWord(runId)}`);
    if (!isMany) return own;
    const first = others.slice(0, named).map(({ has }) => has);
    return [
      ...own,
      `coverage: ${others.length} of the newest ${newestRuns} runs have ungoverned calls or gaps: ` +
        `${first.join('; ')}; and ${others.length - named} more; see gov runs coverage RUN, ` +
        'and all of them with gov report create integrity-completeness --since 1d --open',
    ];
  }

  /** Judges the recent runs. One that has not grown since the last look is not read again. */
  async look(): Promise<void> {
    const { projectId, store, work, now } = this.#options;
    const looked = new Map<string, CoverageLook>();
    const { policyIndex } = await store.policiesInForce(projectId);
    const runs = policyIndex === null ? [] : await store.runs(projectId, {}, { limit: newestRuns });
    for (const { runId, events, lastTimestampMs } of runs) {
      if (isSystemRun(runId) || now() - lastTimestampMs > recentMs || events > limits.syncProofEvents)
        continue;
      const before = this.#runs.get(runId);
      const finding =
        before?.events === events
          ? before.finding
          : findingOf(await work.run('coverage', { projectId, runId, underPolicy: true }, { events }));
      looked.set(runId, {
        events,
        finding,
        isConfirmed: finding !== null && (before?.finding ?? null) !== null,
      });
    }
    this.#runs = looked;
  }
}

/**
 * What health says of a run; null if nothing is wrong. A run that only recordings report was imported: its calls ran elsewhere or
 * earlier, where nothing of this plane could have governed them.
 */
function findingOf({ counts, gaps, covered, sources }: RunCoverage): CoverageFinding | null {
  if (covered || sources.every(({ source }) => source === 'transcript')) return null;
  const denied = counts['denied_but_ran'] ?? 0;
  const parts = [
    [denied, 'call that ran after its denial', 'calls that ran after their denial'],
    [
      counts['mismatch'] ?? 0,
      'call that ran in place of the decided one',
      'calls that ran in place of the decided ones',
    ],
    [counts['ungoverned'] ?? 0, 'ungoverned call', 'ungoverned calls'],
    [counts['gap'] ?? 0, 'call that a source lacks', 'calls that a source lacks'],
    [
      gaps.reduce((sum, { first, last }) => sum + last - first + 1, 0),
      'missing log record',
      'missing log records',
    ],
  ] as const;
  const text = parts
    .filter(([count]) => count > 0)
    .map(([count, one, many]) => `${count} ${count === 1 ? one : many}`)
    .join(', ');
  return { text, ranDenied: denied > 0 };
}
