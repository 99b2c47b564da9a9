/** `gov cron run WORK`. Tested by `test/cli/commands/cron/run.test.ts`. */
import type { CronSummary } from '../../../contract/cron.ts';
import { GovApiError } from '../../../client/errors.ts';
import { limits } from '../../../contract/limits.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { startProgress } from '../../progress/show.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import { secretIn } from '../../schedules/secret.ts';
import type { ListPage } from '../../terminal/out.ts';
import type { cronRun as spec } from '../../specs/operate/cron.ts';

const operations = {
  schedules: 'runReportSchedules',
  executions: 'runReportExecutions',
  deliveries: 'runReportDeliveries',
  cleanup: 'runReportCleanup',
} as const;
type Work = keyof typeof operations;
const works = Object.keys(operations) as Work[];

/** A call may take as long as the server works, and a little more. */
const timeoutMs = (limits.cronSeconds + 10) * 1000;
/** Calls of one kind; one that leaves something due is followed by another. */
const mostCalls = 100;

export const run: Run<typeof spec> = async (call) => {
  const { args, out, session, settings } = call;
  const wanted = works.filter((work) => args.work === 'all' || args.work === work);
  if (wanted.length === 0)
    throw usage(`expected one of ${works.join(', ')}, all, got ${args.work.slice(0, 64)}`);
  const cronSecret = await secretOf(call);
  const client = await session.client();
  let failed = 0;
  const done = async function* (): AsyncGenerator<ListPage> {
    const items: ListPage['items'][number][] = [];
    for (const work of wanted) {
      const progress = startProgress(call);
      progress.at(work);
      const summary = await untilNothingIsDue(async () => {
        const input = { cronSecret, timeoutMs: settings.timeoutMs ?? timeoutMs };
        return (await client[operations[work]](input).catch(explained)).body;
      }).finally(() => progress.stop());
      failed += summary.failed;
      items.push({ work, ...summary });
    }
    // the widths of columns follow from the first page
    yield { items, nextCursor: null };
  };
  const view = viewOf('runReportSchedules');
  const columns = [
    { name: 'work', kind: 'text' as const },
    ...view.columns.filter(({ name }) => name !== 'createdIds'),
  ];
  await out.list(done(), { ...view, columns, wide: columns, id: undefined }, 'data');
  return failed > 0 ? exit.error : exit.ok;
};

/** The credential of the context plays no part here: only the secret can be wrong. */
function explained(error: unknown): never {
  if (!(error instanceof GovApiError) || error.status !== 401) throw error;
  const hint =
    'compare it with GOV_CRON_SECRET or GOV_CRON_SECRET_FILE of the server; the log of the server says whether it has a secret';
  throw new CliError(exit.denied, error.message, { code: error.code, hint, cause: error });
}

/** Calls until a call took up nothing, and adds their counts. */
async function untilNothingIsDue(once: () => Promise<CronSummary>): Promise<CronSummary> {
  let sum = await once();
  for (let calls = 1; calls < mostCalls; calls++) {
    const isDue = sum.nextDueAt !== null && Date.parse(sum.nextDueAt) <= Date.now();
    if (!isDue) break;
    const more = await once();
    sum = {
      ...more,
      processed: sum.processed + more.processed,
      succeeded: sum.succeeded + more.succeeded,
      failed: sum.failed + more.failed,
      skipped: sum.skipped + more.skipped,
      durationMs: sum.durationMs + more.durationMs,
      ...(sum.createdIds === undefined
        ? {}
        : { createdIds: [...sum.createdIds, ...(more.createdIds ?? [])] }),
    };
    if (more.processed === 0) break;
  }
  return sum;
}

/** The environment holds a secret that only this process reads; the file one that only its owner should. */
async function secretOf({ flags, io, signal }: Invocation<typeof spec>): Promise<string> {
  const { GOV_CRON_SECRET: secret = '', GOV_CRON_SECRET_FILE: inFile } = io.env;
  const file = flags.secretFile ?? (secret === '' ? inFile : undefined);
  if (file === undefined || file === '') {
    if (secret !== '') return secret;
    throw usage(
      'expected the secret of the scheduler, found none',
      'give --secret-file, or set GOV_CRON_SECRET_FILE',
    );
  }
  return secretIn(file, { io, signal });
}
