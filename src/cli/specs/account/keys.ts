/** Commands of the noun keys, as data. Tested by `test/cli/commands/keys/create.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { scopes } from '../../../contract/operation.ts';
import { secretFlags } from '../../context/secret-file.ts';
import { command, flag } from '../../program/spec.ts';

const keyId = { name: 'keyId', description: 'API key, such as key_…' } as const;
const scopeFlag = flag.list('A,B', 'Scopes, separated by commas; exports:* allows all exports', {
  separator: ',',
  choices: scopes,
});
const description = flag.text('TEXT', 'Longer description', { maxLength: limits.keyDescriptionChars });
export const keysCreate = command({
  name: 'keys create',
  prints: 'key? keyFile? record:object',
  summary: 'Create an API key of the project; gov shows it only this once',
  changes: true,
  args: [{ name: 'name', description: 'Purpose of the key' }],
  flags: {
    scopes: scopeFlag,
    expires: flag.text('TIME', 'Expiry: 90d, 2027-01-31, or RFC 3339; default: never'),
    description,
    ...secretFlags('the key'),
  },
  examples: [
    'gov keys create ci --scopes events:write,proofs:write --expires 90d --out ci.key',
    'gov keys create ci --show-secret -o json | jq -r .key',
  ],
});

export const keysUpdate = command({
  name: 'keys update',
  prints: '=updateApiKey',
  summary: 'Change name, description, scopes or expiry of an API key',
  changes: true,
  args: [keyId],
  flags: {
    name: flag.text('NAME', 'Purpose of the key', { maxLength: limits.keyNameChars }),
    scopes: scopeFlag,
    expires: flag.text('TIME', 'Expiry: 90d, 2027-01-31, RFC 3339, or never'),
    description,
  },
  examples: ['gov keys update key_01jq3v5k8hf7wb3c9x2m4n6p8r --scopes events:write --expires never'],
});

export const keysRevoke = command({
  name: 'keys revoke',
  prints: 'none',
  summary: 'Revoke an API key: at once here, within five seconds everywhere',
  changes: true,
  args: [keyId],
  examples: ['gov keys revoke key_01jq3v5k8hf7wb3c9x2m4n6p8r --yes'],
});

export const keysRotate = command({
  name: 'keys rotate',
  prints: 'key? keyFile? record:object',
  summary: 'Replace an API key by a new one with the same name and scopes',
  details: [
    'The old key stops at once, or after --overlap. If the context stores the old key, gov stores the new one in its place.',
  ],
  changes: true,
  args: [keyId],
  flags: {
    overlap: flag.duration(
      'TIME',
      `Time that the old key still works, at most ${limits.keyOverlapSeconds / 86_400}d; default: 0`,
    ),
    ...secretFlags('the key'),
  },
  examples: ['gov keys rotate key_01jq3v5k8hf7wb3c9x2m4n6p8r --overlap 1h --out ci.key --force'],
});
