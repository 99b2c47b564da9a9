/** `gov context list`. */
import type { Run } from '../command.ts';
import { readUserConfig } from '../config.ts';
import { safe } from '../safe.ts';
import type { contextList as spec } from '../specs/general.ts';
import { plainView } from '../view.ts';

export const run: Run<typeof spec> = async ({ out, io, settings }) => {
  const config = readUserConfig(io.env);
  const chosen = settings.context ?? config.currentContext;
  const items = Object.entries(config.contexts).map(([name, context]) => ({
    name,
    current: name === chosen,
    kind: context.kind,
    place: context.kind === 'plane' ? context.dataDir : context.baseUrl,
  }));
  if (items.length === 0) await out.note(safe`no contexts yet; make a data plane: gov plane init --data DIR`);
  const pages = async function* () {
    yield { items, nextCursor: null };
  };
  await out.list(pages(), plainView(['name', 'current', 'kind', 'place']), 'contexts');
};
