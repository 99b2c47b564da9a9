/**
 * The phrase of a sealed approver key: chosen once, and typed for each approval.
 * Tested by `test/cli/approvals/sealed.test.ts`.
 */
import { randomInt } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import { phraseLength } from '../../core/approvals/sealed-key.ts';
import { CliError, exit } from '../program/exit.ts';
import { SecretTerminal } from './secret-input.ts';
import { words } from './words.ts';

/** Four words of 2,048 at random. */
export const offeredPhrase = (): string =>
  Array.from({ length: limits.phraseWords }, () => words[randomInt(words.length)]).join('-');

/** Runs `use` with the terminal of this process. Errors: exit 2 without one; `without`: what to do then. */
export async function atTerminal<Value>(
  { what, without }: { readonly what: string; readonly without: string },
  use: (terminal: SecretTerminal) => Promise<Value>,
): Promise<Value> {
  const terminal = SecretTerminal.open();
  if (terminal === null)
    throw new CliError(exit.usage, `expected a terminal, at which a person types ${what}, got none`, {
      code: 'NO_TERMINAL',
      hint: without,
    });
  try {
    return await use(terminal);
  } finally {
    terminal.close();
  }
}

/** Asks for a new phrase: Enter takes the offered one, another one is typed twice. */
export async function chosenPhrase(terminal: SecretTerminal): Promise<string> {
  const offered = offeredPhrase();
  terminal.write(
    'Approvals need a phrase that only you know: an agent that reads your files cannot approve for you.\n' +
      'gov cannot show it again. Keep it where no program of this machine reads it.\n',
  );
  for (;;) {
    const typed = await terminal.ask(`Choose a phrase (Enter: ${offered}): `);
    if (typed === '') return offered;
    const length = phraseLength(typed);
    if (length < limits.phraseChars)
      terminal.write(`expected ${limits.phraseChars} characters or more, got ${length}\n`);
    else if ((await terminal.ask('Once more: ')) === typed) return typed;
    else terminal.write('expected the same phrase twice, got two\n');
  }
}
