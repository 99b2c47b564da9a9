/** Runs of the service itself: nobody else writes to them, everybody may read and prove them (contract O8). */

/** How their ids begin. */
const systemRuns = 'gov.';

export const isSystemRun = (runId: string): boolean => runId.startsWith(systemRuns);
export const systemRunRefusal = `expected a run of your own: ${systemRuns}… are the service’s`;
