/**
 * `gov jobs wait JOB…`: exit 0 if all jobs completed, 1 if one failed or was cancelled, 8 at the deadline.
 * Tested by `test/cli/commands/jobs/wait.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import { exit } from '../../program/exit.ts';
import type { ListPage } from '../../terminal/out.ts';
import { safe } from '../../terminal/safe.ts';
import type { jobsWait as spec } from '../../specs/operate/jobs.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import { defaultWaitMs, jobFailure, waitForJob } from '../../progress/waiting.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, out, session, settings } = call;
  const client = await session.client();
  const deadline = performance.now() + (settings.timeoutMs ?? defaultWaitMs);
  let code: number = exit.ok;
  const view = viewOf('getJob');
  const ended = async function* (): AsyncGenerator<ListPage> {
    for (const jobId of args.jobId) {
      const job = await waitForJob(client, { jobId, deadline }, call);
      if (job.status !== 'completed') {
        code = exit.error;
        await out.warn(safe`${jobFailure(job)}`);
      }
      yield { items: [{ ...job }], nextCursor: null };
    }
  };
  await out.list(ended(), { ...view, columns: view.columns.filter(({ name }) => name !== 'result') }, 'data');
  return code;
};
