/** `gov heads list`. Tested by `test/cli/commands/proofs/history.test.ts`. */
import type { Run } from '../../context/command.ts';
import { requireTrust } from '../../context/trust.ts';
import { plainView } from '../../terminal/view.ts';
import { keptHeadsOf } from '../../trust/history.ts';
import type { headsList as spec } from '../../specs/prove/heads.ts';

export const run: Run<typeof spec> = async ({ flags, io, out, session }) => {
  const { trust } = requireTrust(flags, session);
  const items = keptHeadsOf(io.env, trust).heads.map(({ size, root, paths }) => ({
    size,
    root: Buffer.from(root).toString('hex'),
    paths: paths.length,
  }));
  const pages = async function* () {
    yield { items, nextCursor: null };
  };
  await out.list(pages(), plainView(['size', 'root', 'paths']), 'heads');
};
