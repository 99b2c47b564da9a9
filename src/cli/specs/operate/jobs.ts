/** Commands of the noun jobs, as data. Tested by `test/cli/commands/jobs/wait.test.ts`. */
import { command } from '../../program/spec.ts';

export const jobsWait = command({
  name: 'jobs wait',
  prints: 'data[] =getJob',
  summary: 'Wait until jobs have ended',
  details: [
    'Waits at most --timeout, default 10m, for all jobs together. Prints each job as soon as it has ended.',
  ],
  args: [{ name: 'jobId', description: 'Job, such as job_…', variadic: true }],
  examples: ['gov jobs wait job_01jq3v5k8hf7wb3c9x2m4n6p8r --timeout 2m'],
  exitCodes: { 1: 'a job failed or was cancelled', 8: 'a job did not end within --timeout' },
});
