/** Hand-made commands of the noun jobs, as data. */
import { command } from '../../program/command.ts';

export const jobsWait = command({
  name: 'jobs wait',
  summary: 'Wait until jobs are done',
  details: [
    'Waits at most --timeout, default 10m, for all of them together. Prints each job once it has ended.',
  ],
  args: [{ name: 'jobId', description: 'Job, such as job_…', variadic: true }],
  examples: ['gov jobs wait job_01jq3v5k8hf7wb3c9x2m4n6p8r --timeout 2m'],
  exitCodes: { 1: 'a job failed', 8: 'a job was not done within --timeout' },
});
