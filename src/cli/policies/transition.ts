/** Prints a policy after a transition. Tested by `test/cli/commands/policy/change.test.ts`. */
import type { Out } from '../terminal/out.ts';
import { safe } from '../terminal/safe.ts';
import { plainView } from '../terminal/view.ts';

export async function printTransition(out: Out, body: { readonly id: string }, text: string): Promise<void> {
  if (!out.isHuman) return out.one(body, plainView(Object.keys(body), 'id'));
  return out.line(safe`${out.styles.bold(body.id)}  ${text}`);
}
