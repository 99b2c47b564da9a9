/** Hand-made commands about the tool itself, as data. */
import { command } from '../../program/command.ts';

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

export const contextSet = command({
  name: 'context set',
  summary: 'Make a context, or change one',
  details: [
    'What the flags of every command say is kept for it: --base-url, --env, --project, --cacert. What is not given stays. An address without a path gets that of the interface.',
  ],
  args: [{ name: 'name', description: 'Context' }],
  flags: {
    apiKeyFile: {
      type: 'string',
      value: 'FILE',
      description: 'Read the API key from this file, which stays yours; see also gov auth login',
    },
    trust: { type: 'string', value: 'FILE', description: 'Trust file for proofs of this service' },
    data: {
      type: 'string',
      value: 'DIR',
      description: 'The context is for the data plane in this directory',
    },
    unset: {
      type: 'strings',
      separator: ',',
      choices: ['project', 'apiKeyFile', 'trustFile', 'caFile', 'environment'],
      value: 'A,B',
      description: 'Forget these',
    },
  },
  examples: [
    'gov context set acme --base-url https://gov.example.com',
    'gov context set acme --project prj_01jq3v5k8hf7wb3c9x2m4n6p8r --cacert ./ca.pem',
    'gov context set local --data /var/lib/gov',
  ],
});

export const contextDelete = command({
  name: 'context delete',
  summary: 'Remove a context, and its stored credential where no other context has it',
  details: ['The service is not told: gov auth logout ends a sign-in, gov keys revoke a key.'],
  args: [{ name: 'name', description: 'Context' }],
  flags: {
    confirm: {
      type: 'string',
      value: 'NAME',
      description: 'Name of the context, in place of being asked for it',
    },
  },
  examples: ['gov context delete acme-sandbox'],
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
