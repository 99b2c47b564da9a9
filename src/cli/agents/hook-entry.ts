/**
 * The words after `gov hook`, read without the parser of commands, which would double the time of a hook. Words that are
 * not the plain form go to the parser, which explains them. Tested by `test/cli/agents/hook.test.ts`.
 */
import { writeSync } from 'node:fs';
import { agentClients } from '../../core/agents/clients.ts';
import { userConnectionFile } from './connection-file.ts';
import { hook, type HookOptions } from './hook.ts';

/** Runs the hook if the words have the plain form; returns false otherwise. */
export async function hookEntry(words: readonly string[]): Promise<boolean> {
  const options = optionsOf(words);
  if (options === null) return false;
  // an end that nobody foresaw blocks too: clients let a call run after most other codes
  process.exitCode = 2;
  process.once('uncaughtException', crashed);
  process.exitCode = await hook(options);
  return true;
}

function crashed(cause: Error): never {
  writeSync(2, `gov: the call did not run: ${cause.message}\n`);
  process.exit(2);
}

function optionsOf([name, ...more]: readonly string[]): HookOptions | null {
  const client = agentClients.find((each) => each === name);
  if (client === undefined || more.length % 2 !== 0) return null;
  let [config, fail, hold]: [string | undefined, HookOptions['fail'], number] = [undefined, 'closed', 0];
  for (let at = 0; at < more.length; at += 2) {
    const value = more[at + 1];
    if (more[at] === '--config' && value !== undefined) config = value;
    else if (more[at] === '--hold' && /^[0-9]{1,3}$/.test(value ?? '')) hold = Number(value);
    else if (more[at] === '--fail' && (value === 'open' || value === 'closed')) fail = value;
    else return null;
  }
  return { client, config: config ?? userConnectionFile(process.env), fail, hold };
}
