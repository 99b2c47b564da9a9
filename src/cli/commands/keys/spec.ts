/** Hand-made commands of the noun keys, as data. */
import { limits } from '../../../contract/limits.ts';
import { scopes } from '../../../contract/operation.ts';
import { command } from '../../program/command.ts';

const keyId = { name: 'keyId', description: 'API key, such as key_…' } as const;
const scopeFlag = {
  type: 'strings',
  separator: ',',
  choices: scopes,
  value: 'A,B',
  description: 'What it may do, separated by commas; exports:* lets it read all that can be exported',
} as const;
const description = {
  type: 'string',
  value: 'TEXT',
  maxLength: limits.keyDescriptionChars,
  description: 'More about it',
} as const;
const out = {
  type: 'string',
  value: 'FILE',
  description: 'Write the key to this file, for you alone, in place of showing it',
} as const;
const force = { type: 'boolean', description: 'Replace the file of --out' } as const;

export const keysCreate = command({
  name: 'keys create',
  summary: 'Create an API key of the project; it is shown this once',
  changes: true,
  args: [{ name: 'name', description: 'What it is for' }],
  flags: {
    scopes: scopeFlag,
    expires: {
      type: 'string',
      value: 'TIME',
      description: 'When it ends: 90d, 2027-01-31, or RFC 3339; default never',
    },
    description,
    out,
    force,
  },
  examples: [
    'gov keys create ci --scopes events:write,proofs:write --expires 90d --out ci.key',
    'gov keys create ci -o json | jq -r .key',
  ],
});

export const keysUpdate = command({
  name: 'keys update',
  summary: 'Change name, description, scopes or end of an API key',
  changes: true,
  args: [keyId],
  flags: {
    name: { type: 'string', value: 'NAME', maxLength: limits.keyNameChars, description: 'What it is for' },
    scopes: scopeFlag,
    expires: {
      type: 'string',
      value: 'TIME',
      description: 'When it ends: 90d, 2027-01-31, RFC 3339, or never',
    },
    description,
  },
  examples: ['gov keys update key_01jq3v5k8hf7wb3c9x2m4n6p8r --scopes events:write --expires never'],
});

export const keysRevoke = command({
  name: 'keys revoke',
  summary: 'Revoke an API key: at once here, within five seconds everywhere',
  changes: true,
  args: [keyId],
  examples: ['gov keys revoke key_01jq3v5k8hf7wb3c9x2m4n6p8r --yes'],
});

export const keysRotate = command({
  name: 'keys rotate',
  summary: 'Replace an API key by a new one of the same name and scopes',
  details: [
    'The old key stops at once, or after --overlap. Where it is the one that the context keeps, the new one is kept in its place.',
  ],
  changes: true,
  args: [keyId],
  flags: {
    overlap: {
      type: 'duration',
      value: 'TIME',
      description: `How long the old key still works, at most ${limits.keyOverlapSeconds / 86_400}d; default 0`,
    },
    out,
    force,
  },
  examples: ['gov keys rotate key_01jq3v5k8hf7wb3c9x2m4n6p8r --overlap 1h --out ci.key --force'],
});
