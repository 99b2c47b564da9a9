/** Prints what became of a policy that was moved in its life cycle. */
import type { Out } from '../terminal/out.ts';
import { safe } from '../terminal/safe.ts';
import { plainView } from '../terminal/view.ts';

export async function moved(out: Out, body: { readonly id: string }, told: string): Promise<void> {
  if (!out.isHuman) return out.one(body, plainView(Object.keys(body), 'id'));
  return out.line(safe`${out.styles.bold(body.id)}  ${told}`);
}
