/**
 * The sandbox guard: what is written to a log cannot be taken back. So a command that changes something asks before it
 * reaches production by a context that nobody named, where that context has a sandbox beside it.
 * `test/cli/program/guard.test.ts` proves it.
 */
import { confirm } from '../terminal/ask.ts';
import type { Asking } from '../terminal/ask.ts';
import type { CommandSpec } from './command.ts';
import type { Session } from '../context/session.ts';

/** Whether a call changes something at the service, by its declaration and flags. */
export function isChange({ changes }: CommandSpec, flags: Readonly<Record<string, unknown>>): boolean {
  if (changes === undefined || changes === true) return changes === true;
  const given = (name: string): boolean => {
    const value = flags[name];
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
  };
  return 'with' in changes ? changes.with.some(given) : !given(changes.without);
}

/** Errors: exit 2 where the answer is no, or nobody can be asked. */
export async function guardProduction(session: Session, asking: Asking): Promise<void> {
  const found = session.unnamedProduction();
  if (found === null) return;
  const { name, sandbox } = found;
  await confirm(
    `this changes production (context ${name}); its sandbox is context ${sandbox}`,
    `-C ${name} or -C ${sandbox}, or --yes`,
    asking,
  );
}
