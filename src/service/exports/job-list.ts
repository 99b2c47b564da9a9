/**
 * The rows of an export of jobs: jobs that existed when it was created, newest first. Proven by
 * `test/service/exports/handlers.test.ts`.
 */
import type { ExportFilters } from '../../contract/exports.ts';
import type { JobStatus } from '../../contract/job-words.ts';
import type { ByAge } from '../../store/port/store.ts';
import { listedJob } from '../jobs/body.ts';
import { timeRange } from '../call/pages.ts';
import type { TaskContext } from '../call/work.ts';

const pageJobs = 50;

export async function* jobRows(
  { reader, breathe }: TaskContext,
  { projectId, filters, untilMs }: { projectId: string; filters: ExportFilters; untilMs: number },
): AsyncGenerator<readonly string[], void, undefined> {
  const { runId, status } = filters;
  const { startMs = 0, endMs = untilMs } = timeRange(filters, 'body');
  const filter = {
    startMs,
    endMs: Math.min(endMs, untilMs),
    ...(runId === undefined ? {} : { runId }),
    // `createExport` accepted the status
    ...(status === undefined ? {} : { status: status as JobStatus }),
  };
  for (let after: ByAge | undefined; ;) {
    const page = { limit: pageJobs, ...(after === undefined ? {} : { after }) };
    const jobs = await reader.jobs(projectId, filter, page);
    yield jobs.map((job) => JSON.stringify(listedJob(job)));
    const last = jobs.at(-1);
    if (jobs.length < pageJobs || last === undefined) return;
    after = { ms: last.createdMs, id: last.jobId };
    await breathe();
  }
}
