/**
 * `gov log fsck`: checks that the disk has exactly the recorded and signed data. It only reads, also while a plane serves.
 * Exit 0 whole, 3 broken, 2 unreadable. Tested by `test/cli/commands/log/fsck.test.ts` on an altered store.
 */
import { resolve } from 'node:path';
import { GovError } from '../../../contract/problems.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import type { Io } from '../../terminal/io.ts';
import { startProgress } from '../../progress/show.ts';
import { safe } from '../../terminal/safe.ts';
import type { Safe, Styles } from '../../terminal/safe.ts';
import type { logFsck as spec } from '../../specs/prove/log.ts';
import { tabbed } from '../../terminal/table.ts';
import { plainView } from '../../terminal/view.ts';

/** The used parts of the host's options and report. The host is loaded only when this command runs. */
interface Options {
  readonly dataDir: string;
  readonly env: Io['env'];
  readonly deep: boolean;
  readonly onProgress: (progress: { readonly done: number; readonly of: number }) => void;
}
interface Problem {
  readonly position: string;
  readonly kind: string;
  readonly expected: string;
  readonly got: string;
}
interface Report {
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  readonly found: number;
  readonly leaves: number;
  readonly checkpoints: number;
  readonly unopened: number;
  readonly deep: boolean;
}

export const run: Run<typeof spec> = async (call) => {
  const { flags, out, session, io, signal } = call;
  const dataDir = resolve(flags.data ?? session.dataDir());
  const progress = startProgress(call);
  const onProgress: Options['onProgress'] = ({ done, of }) => {
    signal.throwIfAborted();
    progress.at('checking', { done, total: of, unit: 'leaves' });
  };
  const report = await check({ dataDir, env: io.env, deep: flags.deep, onProgress }).finally(() =>
    progress.stop(),
  );
  out.verdict = report.ok ? exit.ok : exit.checkFailed;
  if (out.isHuman) await out.lines(told(report, dataDir, out.styles));
  else if (out.format === 'tsv') {
    await out.note(headLine(report, dataDir));
    await out.lines(report.problems.map((each) => tabbed(columns, { ...each })));
  } else await out.one(report, plainView(Object.keys(report)));
  return out.verdict;
};

const { columns } = plainView(['position', 'kind', 'expected', 'got']);

async function check(options: Options): Promise<Report> {
  const { fsck } = await import('../../../host/data/fsck.ts');
  try {
    return await fsck(options);
  } catch (cause) {
    if (!(cause instanceof GovError)) throw cause;
    throw new CliError(exit.usage, `cannot check ${options.dataDir}: ${cause.message}`, {
      code: cause.code,
      cause,
    });
  }
}

function told(report: Report, dataDir: string, { bold, green, red, dim }: Styles): Safe[] {
  const { ok, problems, found, unopened } = report;
  const head = ok ? green('✓ whole') : red(`✗ BROKEN in ${found} places`);
  return [
    safe`${bold(head)}  ${dataDir}`,
    safe`  ${readLine(report)}`,
    ...(unopened === 0 ? [] : [safe`  skipped ${unopened} bodies about subjects: their keys are not here`]),
    ...problems.map((problem) => problemLine(problem, dim)),
    ...(found > problems.length ? [safe`  and ${found - problems.length} more`] : []),
  ];
}

const readLine = ({ leaves, checkpoints, deep }: Report): string =>
  `read ${leaves} leaves and ${checkpoints} checkpoints ` +
  (deep
    ? '(deep)'
    : '(without --deep: no disclosures, nodes and edges of graphs, metering references and signatures)');

/** For standard error, where the problems go into a pipe. */
const headLine = (report: Report, dataDir: string): Safe =>
  safe`${report.ok ? 'whole' : `broken in ${report.found} places`}: ${dataDir}; ${readLine(report)}`;

const problemLine = ({ position, kind, expected, got }: Problem, dim: Styles['dim']): Safe =>
  safe`  ${position}  ${kind}  ${dim(safe`expected ${expected}, got ${got}`)}`;
