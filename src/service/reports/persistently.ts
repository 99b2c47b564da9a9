/** Repeats a change of a document that another call or the scheduler changes at the same time. */
import { GovError } from '../../contract/problems.ts';
import { untilStored } from '../call/overtaken.ts';

/** `noun`: what the document is. OVERLOADED where somebody changes it each time; errors of `work`. */
export const persistently = <Result>(noun: string, work: () => Promise<Result>): Promise<Result> =>
  untilStored(`the ${noun}`, async () => {
    try {
      return await work();
    } catch (error) {
      // a refused If-Match is not transient: a repeat would refuse it again
      const isStale = error instanceof GovError && error.code === 'PRECONDITION_FAILED' && error.transient;
      if (!isStale) throw error;
      return null;
    }
  });
