/** Commands of the noun context, as data. Tested by `test/cli/context/config.test.ts`. */
import { command, flag } from '../../program/spec.ts';

export const contextList = command({
  name: 'context list',
  prints: 'contexts[] name current:boolean kind environment:string|null place project:string|null credential',
  summary: 'List the contexts: the services and planes of this user',
  examples: ['gov context list'],
});

export const contextUse = command({
  name: 'context use',
  prints: 'none',
  summary: 'Make a context the current one',
  args: [{ name: 'name', description: 'Context' }],
  examples: ['gov context use production'],
  exitCodes: { 5: 'there is no such context' },
});

export const contextShow = command({
  name: 'context show',
  prints:
    'name:string|null kind:string|null baseUrl:any environment:any project:any apiKey:any trustFile:any configFile',
  summary: 'Show the service, credential and trust in use, and the source of each',
  examples: ['gov context show', 'gov context show -C production -o json'],
});

export const contextSet = command({
  name: 'context set',
  prints: 'none',
  summary: 'Create a context, or change one',
  details: [
    'Stores the global flags --base-url, --env, --project and --cacert in the context. Settings without a flag stay. An address without a path gets the path of the API.',
  ],
  args: [{ name: 'name', description: 'Context' }],
  flags: {
    apiKeyFile: flag.text(
      'FILE',
      'Read the API key from this file, which gov does not change; see also gov auth login',
    ),
    trust: flag.text('FILE', 'Trust file for proofs of this service'),
    data: flag.text('DIR', 'The context is for the data plane in this directory'),
    unset: flag.list('A,B', 'Remove these settings', {
      separator: ',',
      choices: ['project', 'apiKeyFile', 'trustFile', 'caFile', 'environment'],
    }),
  },
  examples: [
    'gov context set acme --base-url https://gov.example.com',
    'gov context set acme --project prj_01jq3v5k8hf7wb3c9x2m4n6p8r --cacert ./ca.pem',
    'gov context set local --data /var/lib/gov',
  ],
});

export const contextDelete = command({
  name: 'context delete',
  prints: 'none',
  summary: 'Delete a context, and its stored credential unless another context uses it',
  details: ['The service does not learn of it: gov auth logout ends a sign-in, gov keys revoke a key.'],
  args: [{ name: 'name', description: 'Context' }],
  flags: {
    confirm: flag.text('NAME', 'Name of the context, instead of a question'),
  },
  examples: ['gov context delete acme-sandbox'],
  exitCodes: { 5: 'there is no such context' },
});
