/** Commands of the noun config, as data. Tested by `test/cli/context/explain.test.ts`. */
import { storable } from '../../context/config.ts';
import { explained } from '../../context/explain.ts';
import { command } from '../../program/spec.ts';

const key = { name: 'key', description: `Setting: ${storable.join(', ')}` } as const;

export const configList = command({
  name: 'config list',
  prints: 'settings[] key value:any from problem:string|null',
  summary: 'List the settings in use, the source of each, and values that gov does not use',
  withoutSettings: true,
  examples: ['gov config list', 'gov config list -o json'],
});

export const configExplain = command({
  name: 'config explain',
  prints: 'sources[] value:any from problem:string|null',
  summary: 'Show each source that names a setting; the first one without a problem is in use',
  withoutSettings: true,
  args: [{ name: 'key', description: `Setting: ${explained.join(', ')}` }],
  examples: ['gov config explain output', 'gov config explain project -C acme'],
});

export const configSet = command({
  name: 'config set',
  prints: 'none',
  summary: 'Store a setting in your configuration file',
  withoutSettings: true,
  details: [
    'A flag, a GOV_* variable and the project file .gov.json are stronger.',
    'updateNotice true: once a day, after a command on a terminal, gov says that a newer release is available. It asks the npm registry of updateRegistry behind a command, so that no command waits, and sends nothing about you. Without updateRegistry it asks nobody.',
  ],
  args: [key, { name: 'value', description: 'Value, as the flag of that name takes it' }],
  examples: [
    'gov config set output json',
    'gov config set timeout 60s',
    'gov config set updateRegistry https://npm.example.com',
  ],
});

export const configUnset = command({
  name: 'config unset',
  prints: 'none',
  summary: 'Remove a setting from your configuration file',
  withoutSettings: true,
  args: [key],
  examples: ['gov config unset output'],
});

export const configPath = command({
  name: 'config path',
  prints: 'path exists:boolean',
  summary: 'Print the path of your configuration file',
  withoutSettings: true,
  examples: ['gov config path'],
});

export const configEdit = command({
  name: 'config edit',
  prints: 'none',
  summary: 'Open your configuration file in an editor, and check the result',
  withoutSettings: true,
  details: [
    'The editor is $GOV_EDITOR, $VISUAL or $EDITOR. A file with an error does not replace the present one.',
  ],
  examples: ['gov config edit'],
});
