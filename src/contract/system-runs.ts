/** Runs that only the service writes to; every reader of the project may read and prove them (contract O8). */

/** Their ids begin with this. */
const systemRuns = 'gov.';

export const isSystemRun = (runId: string): boolean => runId.startsWith(systemRuns);
export const systemRunRefusal = `expected a run id outside ${systemRuns}…, which the service reserves`;
