/**
 * Before a write: it names its target on a terminal and in CI, and with --verbose. The sandbox guard: a command that changes
 * production asks first, if nobody named the context and the context has a sandbox. A write to a log cannot be undone.
 * Tested by `test/cli/context/guard.test.ts`.
 */
import { shellWord } from '../../core/shell-word.ts';
import { confirm } from '../terminal/ask.ts';
import type { Prompter } from '../terminal/ask.ts';
import type { CommandSpec } from '../program/spec.ts';
import type { Session } from './session.ts';
import { targetText } from './target.ts';
import { safe } from '../terminal/safe.ts';

/** Returns whether a call with these arguments and flags changes data at the service. */
export function isChange({ changes }: CommandSpec, values: Readonly<Record<string, unknown>>): boolean {
  if (changes === undefined || changes === true) return changes === true;
  if ('unless' in changes)
    return Object.entries(changes.unless).every(([name, value]) => values[name] !== value);
  const given = (name: string): boolean => {
    const value = values[name];
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
  };
  return 'with' in changes ? changes.with.some(given) : !given(changes.without);
}

/** Prints where the command writes: on a terminal, in CI, and with --verbose. */
export async function nameTarget(session: Session, { out, io }: Pick<Prompter, 'out' | 'io'>): Promise<void> {
  if (!session.hasTarget()) return;
  const text = safe`to ${targetText(session)}`;
  await (io.stderr.isTTY === true || io.env['CI'] ? out.note(text) : out.detail(text));
}

/** Errors: exit 2 if the answer is no, or if nobody can answer. */
export async function guardProduction(session: Session, asking: Prompter): Promise<void> {
  const found = session.unnamedProduction();
  if (found === null) return;
  const { name, sandbox } = found;
  await confirm(
    `this changes production (context ${name}); its sandbox is context ${sandbox}`,
    `-C ${shellWord(name)} or -C ${shellWord(sandbox)}, or --yes`,
    asking,
  );
}
