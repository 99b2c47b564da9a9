/** Hand-made commands about the tool itself, as data. */
import { command } from '../command.ts';

export const contextList = command({
  name: 'context list',
  summary: 'List the contexts: the services this user talks to',
  examples: ['gov context list'],
});

export const contextUse = command({
  name: 'context use',
  summary: 'Make a context the current one',
  args: [{ name: 'name', description: 'Context' }],
  examples: ['gov context use production'],
});

export const contextShow = command({
  name: 'context show',
  summary: 'Show which service, credential and trust apply here, and what decided each',
  examples: ['gov context show', 'gov context show -C production -o json'],
});

export const completion = command({
  name: 'completion',
  summary: 'Print a completion script for a shell',
  args: [{ name: 'shell', description: 'bash, zsh or fish' }],
  examples: ['source <(gov completion bash)', 'gov completion fish > ~/.config/fish/completions/gov.fish'],
});

export const commands = command({
  name: 'commands',
  summary: 'List every command; with -o json the whole manifest, for programs',
  examples: ['gov commands', 'gov commands -o json'],
});

export const help = command({
  name: 'help',
  summary: 'Help on a command or a topic: environment, exit-codes, formatting',
  args: [{ name: 'topic', description: 'Words of a command, or a topic', optional: true, variadic: true }],
  examples: ['gov help events list', 'gov help exit-codes'],
});

export const version = command({
  name: 'version',
  summary: 'Print the version',
  examples: ['gov version', 'gov version -o json'],
});
