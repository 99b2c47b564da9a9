/** Handler of coverage (contract P5). Proven by `test/service/coverage/handlers.engines.test.ts`. */
import { GovError } from '../../contract/problems.ts';
import { notFound } from '../call/answer.ts';
import type { Handlers } from '../port/handler.ts';
import { prunedBelow } from '../events/run-stream.ts';

export const coverage: Pick<Handlers, 'getRunCoverage'> = {
  async getRunCoverage({ params, caller }, { store, work }) {
    const of = { projectId: caller.project.projectId, runId: params.runId };
    const run = await store.run(of.projectId, of.runId);
    if (run === null) throw notFound('run');
    try {
      return { status: 200, body: await work.run('coverage', of, { events: run.events }) };
    } catch (error) {
      const below = prunedBelow(error);
      if (below === null) throw error;
      const detail = `expected all events of run ${of.runId}, but those below leaf ${below} were pruned, and are in an archive`;
      throw new GovError('NOT_FOUND', detail);
    }
  },
};
