/** Repeats a change of a document that another call or the scheduler changes at the same time. */
import { GovError } from '../../contract/problems.ts';

const attempts = 5;

/** `noun`: what the document is. CONFLICT where somebody changes it each time; errors of `work`. */
export async function persistently<Result>(noun: string, work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      // a refused If-Match names the version that it expected, and a repeat would refuse it again
      const isStale = error instanceof GovError && error.code === 'PRECONDITION_FAILED';
      if (!isStale || Object.keys(error.extensions).length > 0) throw error;
      if (attempt < attempts) continue;
      const detail = `expected nobody else to change the ${noun} at the same time, but somebody kept changing it; repeat later`;
      throw new GovError('CONFLICT', detail, { cause: error });
    }
  }
}
