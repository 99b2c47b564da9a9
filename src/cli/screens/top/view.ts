/**
 * `gov top`: is it well? A grid of panels; on a small terminal one line for each part. What needs attention has a `!` and a
 * word, also without colours. Tested by `test/cli/screens/top.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { bytesText } from '../../../core/byte-size.ts';
import { number } from '../../terminal/numbers.ts';
import { aboutDuration } from '../../../core/duration.ts';
import { safe, type Safe } from '../../terminal/safe.ts';
import { beside, dimmed, fit, panel, right, sparkline, type ScreenStyle } from '../draw.ts';
import { bodyRows } from '../model.ts';
import type { Frame } from '../shell.ts';
import type { TopSample } from './sample.ts';
import type { TopState } from './state.ts';

/** After three missed samples what is shown is stale. */
const staleMs = 3500;

/** One part of the installation. */
interface Part {
  readonly title: string;
  readonly isBad: boolean;
  /** The part in one line. */
  readonly summary: Safe;
  /** Lines below the summary, those that need attention first. */
  readonly rows: readonly { readonly line: Safe; readonly isBad: boolean }[];
}

export function topView(state: TopState, look: ScreenStyle): Frame {
  const { sample, failure, isErrorsOnly } = state;
  const ageMs = state.nowMs - state.sampledMs;
  const isStale = sample !== null && (failure !== null || ageMs > staleMs);
  const lines = sample === null ? firstLines(state) : contents(state, sample, look);
  return {
    title: titleOf(state, { look, staleMs: isStale ? ageMs : null }),
    body: isStale ? dimmed(lines, look) : lines,
    status: state.isPaused
      ? safe` ${look.styles.bold('paused')}: p continues${isErrorsOnly ? ', ! shows everything' : ''}`
      : undefined,
  };
}

const firstLines = ({ failure, target }: TopState): Safe[] =>
  failure === null
    ? [safe``, safe` asking ${target} …`]
    : [safe``, safe` ! no answer: ${failure}`, safe`   asking again every second`];

function titleOf(state: TopState, of: { look: ScreenStyle; staleMs: number | null }): Safe {
  const { target, sample, failure, isErrorsOnly } = state;
  const { bold, green, yellow, red } = of.look.styles;
  const name = safe` ${bold('gov top')}`;
  if (sample === null) return safe`${name}  ${target}`;
  const { status, version, answerMs } = sample;
  const filter = isErrorsOnly ? '  errors only' : '';
  if (of.staleMs !== null) {
    const why = failure === null ? '' : `: ${failure}`;
    return safe`${name}  ${yellow(safe`! ${aboutDuration(of.staleMs)} old`)}${why}${filter}  ${target}`;
  }
  const words = { ok: green('✓ ok'), degraded: yellow('! degraded'), unavailable: red('✗ unavailable') };
  return safe`${name}  ${words[status]}${filter}  answers in ${answerMs} ms  ${target}  v${version ?? '?'}`;
}

function contents(state: TopState, sample: TopSample, look: ScreenStyle): Safe[] {
  const { columns, isErrorsOnly } = state;
  const rows = bodyRows(state);
  const all = [
    ingestPart(state, sample),
    logPart(sample),
    jobsPart(state, sample),
    approvalsPart(state, sample),
    sourcesPart(state, sample),
    diskPart(sample),
  ];
  const parts = isErrorsOnly
    ? all
        .filter(({ isBad }) => isBad)
        .map((part) => ({ ...part, rows: part.rows.filter((row) => row.isBad) }))
    : all;
  const most = isErrorsOnly ? Math.max(2, rows - 7) : Math.max(2, Math.min(4, Math.floor(rows / 5)));
  const notes = atMost(noteLines(sample, look), most);
  if (parts.length === 0 && notes.length === 0)
    return [safe``, safe` ${look.styles.green('✓ nothing needs attention')}`];
  const left = rows - notes.length;
  const body =
    columns < 80 || left < 3 * leastPanelRows
      ? compact(parts, { columns, rows: left }, look)
      : grid(parts, { columns, rows: left }, look);
  return [...notes, ...body];
}

const leastPanelRows = 4;

/** The last line counts what is left out. */
function atMost(lines: readonly Safe[], most: number): Safe[] {
  if (lines.length <= most) return [...lines];
  return [
    ...lines.slice(0, most - 1),
    safe`   and ${lines.length - most + 1} more: gov plane status, or gov health`,
  ];
}

function noteLines({ reasons, unread }: TopSample, { styles }: ScreenStyle): Safe[] {
  return [
    ...reasons.map((reason) => safe` ${styles.yellow('!')} ${reason}`),
    ...unread.map((each) => styles.dim(safe`   not shown: ${each}`)),
  ];
}

/** A line for each part, then rows where there is space. */
function compact(
  parts: readonly Part[],
  size: { columns: number; rows: number },
  { styles }: ScreenStyle,
): Safe[] {
  let spare = size.rows - parts.length;
  return parts.flatMap(({ title, isBad, summary, rows }) => {
    const mark = isBad ? styles.red('!') : ' ';
    const shown = rows.filter((row) => row.isBad).slice(0, Math.max(0, spare));
    spare -= shown.length;
    return [
      safe` ${mark} ${styles.bold(fit(title, 10))} ${summary}`,
      ...shown.map(({ line }) => safe`     ${line}`),
    ];
  });
}

/** Two panels side by side. */
function grid(parts: readonly Part[], size: { columns: number; rows: number }, look: ScreenStyle): Safe[] {
  const pairs = Array.from({ length: Math.ceil(parts.length / 2) }, (_, at) =>
    parts.slice(at * 2, at * 2 + 2),
  );
  const first = parts[0]?.title === 'ingest' ? Math.min(6, Math.floor(size.rows / 3)) : undefined;
  const rest = first === undefined ? size.rows : size.rows - first;
  const others = pairs.length - (first === undefined ? 0 : 1);
  return pairs.flatMap((pair, at) => {
    const isFirst = at === 0 && first !== undefined;
    const isLast = at === pairs.length - 1;
    const each = Math.floor(rest / Math.max(1, others));
    const rows = isFirst ? first : isLast ? rest - each * (others - 1) : each;
    const half = Math.floor(size.columns / 2);
    const widths = pair.length === 1 ? [size.columns] : [half, size.columns - half];
    return beside(
      ...pair.map(({ title, isBad, summary, rows: lines }, column) =>
        panel(
          { title, isBad, lines: [summary, ...lines.map(({ line }) => line)] },
          { columns: widths[column] ?? half, rows },
          look,
        ),
      ),
    );
  });
}

const counted = ({ count, isCut }: { readonly count: number; readonly isCut: boolean }): string =>
  `${count}${isCut ? '+' : ''}`;

const plain = (line: Safe) => ({ line, isBad: false });

function ingestPart({ rates, columns }: TopState, { ingest }: TopSample): Part {
  const { leaves, leavesPerSecond, p99Ms, queue, failed } = ingest;
  const isBad = (failed ?? 0) > 0;
  const p99 = p99Ms === null ? '-' : `≤ ${p99Ms < 1 ? p99Ms : Math.round(p99Ms)} ms`;
  return {
    title: 'ingest',
    isBad,
    summary: safe`${leavesPerSecond === null ? '-' : number(leavesPerSecond)} leaves/s  p99 ${p99}  queue ${queue ?? '-'}`,
    rows: [
      plain(sparkline(rates, Math.floor(columns / 2) - 4)),
      { line: safe`leaves ${leaves === null ? '-' : number(leaves)}  refused ${failed ?? '-'}`, isBad },
    ],
  };
}

function logPart({ checkpoint, integrity, ingest }: TopSample): Part {
  const scrub = integrity?.scrub;
  const altered = (scrub?.found ?? 0) + (scrub?.last?.found ?? 0);
  const fsck = integrity?.fsck;
  const backup = integrity?.backup;
  const isBroken = altered > 0 || fsck?.ok === false;
  const signed = checkpoint === null ? 'no checkpoint read' : `${number(checkpoint.size)} leaves signed`;
  const ageSeconds = checkpoint?.ageSeconds ?? null;
  const age = ageSeconds === null ? '' : ` ${aboutDuration(ageSeconds * 1000)} ago`;
  const behind =
    checkpoint === null || ingest.leaves === null ? 0 : Math.max(0, ingest.leaves - checkpoint.size);
  const rows = [
    plain(safe`unsigned ${number(behind)}  witnesses ${checkpoint?.witnesses ?? 0}`),
    ...(!scrub
      ? []
      : [
          {
            line: safe`scrub ${altered > 0 ? `${altered} ALTERED` : scrub.last === null ? 'first pass' : 'whole'}`,
            isBad: altered > 0,
          },
        ]),
    ...(!fsck
      ? []
      : [{ line: safe`fsck ${fsck.ok ? 'whole' : `BROKEN in ${fsck.found} places`}`, isBad: !fsck.ok }]),
    ...(!backup
      ? []
      : [
          plain(
            safe`backup ${aboutDuration(backup.ageSeconds * 1000)} old${backup.present ? '' : ', not there'}`,
          ),
        ]),
  ];
  return {
    title: 'checkpoint',
    isBad: isBroken,
    summary: safe`${signed}${age}`,
    rows: rows.toSorted((a, b) => Number(b.isBad) - Number(a.isBad)),
  };
}

function jobsPart({ nowMs }: TopState, { jobs }: TopSample): Part {
  if (jobs === null) return unknownPart('jobs');
  const { processing, pending, failed, shown } = jobs;
  return {
    title: 'jobs',
    isBad: failed.count > 0,
    summary: safe`${counted(processing)} running  ${counted(pending)} waiting  ${counted(failed)} failed`,
    rows: [
      ...(failed.count > 0 ? [plain(safe`failed: in the last 24 h`)] : []),
      ...shown.map(({ type, status, runId, createdAt, errorSummary }) => {
        const isBad = status === 'failed';
        const why = errorSummary === null ? '' : `: ${errorSummary}`;
        return {
          isBad,
          line: safe`${fit(isBad ? '! failed' : status, 10)} ${fit(type, 6)} ${since(createdAt, nowMs)} ${runId}${why}`,
        };
      }),
    ],
  };
}

const since = (time: string, nowMs: number): Safe => right(aboutDuration(nowMs - Date.parse(time)), 6);

function approvalsPart({ nowMs }: TopState, { approvals }: TopSample): Part {
  if (approvals === null) return unknownPart('approvals');
  const { waiting, shown } = approvals;
  const [oldest] = shown;
  const longest =
    oldest === undefined ? '' : `  the oldest for ${aboutDuration(nowMs - Date.parse(oldest.requestedAt))}`;
  return {
    title: 'approvals',
    isBad: waiting.count > 0,
    summary: safe`${counted(waiting)} waiting${longest}`,
    rows: shown.map(({ tool, runId, requestedAt }) => {
      return { isBad: true, line: safe`${since(requestedAt, nowMs)}  ${tool ?? 'no tool'}  ${runId}` };
    }),
  };
}

/** An instance that sent nothing for longer, and that is not silent, may have ended. */
const sendsWithinMs = limits.sourceSilentHours * 3_600_000;

function sourcesPart({ nowMs }: TopState, { sources }: TopSample): Part {
  if (sources === null) return unknownPart('sources');
  const { known, silent, missing, rejected, shown } = sources;
  const lost = [
    missing > 0 ? `  ${number(missing)} missing` : '',
    rejected > 0 ? `  ${number(rejected)} refused` : '',
  ];
  return {
    title: 'sources',
    isBad: silent + missing + rejected > 0,
    summary: safe`${counted(known)} known  ${silent} silent${lost.join('')}`,
    rows: shown.map((each) => {
      const isBad = each.silent || each.missing + each.rejected > 0;
      const isNew = nowMs - Date.parse(each.lastSeenAt) <= sendsWithinMs;
      const word = each.silent ? '! silent' : isBad ? '! lacks' : isNew ? 'sends' : 'sent';
      const instance = each.instance === null ? '' : ` ${each.instance}`;
      return {
        isBad,
        line: safe`${fit(word, 8)} ${since(each.lastSeenAt, nowMs)}  ${each.service}${instance}`,
      };
    }),
  };
}

function diskPart({ integrity }: TopSample): Part {
  const disk = integrity?.disk;
  if (!disk) return unknownPart('disk');
  const { freeBytes, databaseBytes, exportBytes, bytesPerDay, daysLeft } = disk;
  const isBad = daysLeft !== null && daysLeft < 30;
  const left = daysLeft === null ? '' : `  ${number(daysLeft)} days left`;
  return {
    title: 'disk',
    isBad,
    summary: safe`${bytesText(freeBytes)} free${left}`,
    rows: [
      { line: safe`databases ${bytesText(databaseBytes)}  exports ${bytesText(exportBytes)}`, isBad },
      ...(bytesPerDay === null ? [] : [plain(safe`grows ${bytesText(bytesPerDay)} a day`)]),
    ],
  };
}

const unknownPart = (title: string): Part => ({
  title,
  isBad: false,
  summary: safe`not known here`,
  rows: [],
});
