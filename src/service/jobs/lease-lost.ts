/**
 * The lease of a job or of a report was lost: another worker has it, or it was cancelled. Its worker ends quietly.
 * Only where a worker noticed that itself; a store refuses the result of a lost lease, and the end of the job with it.
 */
import { GovError } from '../../contract/problems.ts';

export class LostLeaseError extends GovError {
  /** `what`: such as `job job_…`. */
  constructor(what: string, cause?: unknown) {
    super('CONFLICT', `expected the lease of ${what}, but another worker has it, or it was cancelled`, {
      cause,
    });
  }
}
