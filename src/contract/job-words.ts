/** Words of jobs, without schemas, for programs that load none. */
export type JobType = 'proof' | 'replay';
export const jobStatuses = ['pending', 'processing', 'completed', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof jobStatuses)[number];

/** Whether a job or an export has not ended. Only then can it be cancelled. */
export const isOpen = (status: string): status is 'pending' | 'processing' =>
  status === 'pending' || status === 'processing';
