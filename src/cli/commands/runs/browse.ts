/** `gov runs browse`: the browser of runs; into a pipe, the runs. Tested by `test/cli/screens/runs.test.ts`. */
import type { Client } from '../../../client/create.ts';
import type { Run } from '../../context/command.ts';
import { runEffects } from '../../screens/effects.ts';
import { loadDecidedPolicies, loadProof, loadRun, loadRuns } from '../../screens/runs/load.ts';
import { reduceRuns, runsState, type RunsAnswer, type RunsRequest } from '../../screens/runs/state.ts';
import { canShow, rowsAsData, showScreen } from '../../screens/start.ts';
import { Store } from '../../screens/store.ts';
import type { runsBrowse as spec } from '../../specs/record/runs.ts';

export const run: Run<typeof spec> = async (call) => {
  const { flags, session, io } = call;
  const client = await session.client();
  if (!(await canShow(call))) return rowsAsData(call, allRuns(client), 'listRuns');
  const target = session.context()?.name ?? session.baseUrl().value;
  const store = new Store(runsState(target, io.now()), reduceRuns);
  const load = async (wanted: RunsRequest): Promise<RunsAnswer> => {
    switch (wanted.kind) {
      case 'runs':
        return { kind: 'runs', page: await loadRuns(client, wanted.cursor) };
      case 'run':
        return { kind: 'run', run: await loadRun(client, wanted.runId) };
      case 'decision':
        return {
          kind: 'decision',
          policies:
            wanted.row.evaluation === null ? [] : await loadDecidedPolicies(client, wanted.row.evaluation),
        };
      case 'proof':
        return {
          kind: 'proof',
          lines: await loadProof({ client, session, columns: store.get().columns - 2 }, wanted.proofId),
        };
    }
  };
  const end = runEffects({
    wanted: () => store.get().wanted,
    subscribe: store.subscribe,
    load,
    loaded: (wanted, loaded) => store.dispatch({ kind: 'loaded', for: wanted, loaded }),
    failed: (wanted, why) => store.dispatch({ kind: 'failed', for: wanted, why }),
  });
  await showScreen(call, { name: 'runs', store, ascii: flags.ascii }).finally(() => void end());
};

async function* allRuns(client: Client) {
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof loadRuns>> = await loadRuns(client, cursor);
    cursor = page.nextCursor;
    yield { items: page.rows, nextCursor: null };
  } while (cursor !== null);
}
