/** Runs that only the service writes to; every reader of the project may read and prove them (contract O8). */

/** Their ids begin with this. */
const systemRuns = 'gov.';

export const isSystemRun = (runId: string): boolean => runId.startsWith(systemRuns);
/** Whether a client may not write to a run: a name that differs in case alone would pose as the service's. */
export const isReservedRun = (runId: string): boolean => isSystemRun(runId.toLowerCase());
export const reservedRunRefusal = `expected a run id outside ${systemRuns}…, which the service reserves in any case of letters`;
