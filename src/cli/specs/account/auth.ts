/** Commands of the noun auth, as data. Tested by `test/cli/auth/commands.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { secretFlags } from '../../context/secret-file.ts';
import { command, flag } from '../../program/spec.ts';

const idToken = flag.text('FILE', 'Sign in with the ID token in this file, or - for standard input');
const ci = flag.on('Sign in as this CI job: GOV_ID_TOKEN_FILE, GOV_ID_TOKEN, or GitHub Actions');
const open = flag.on('Open the page in a browser');

export const authSignup = command({
  name: 'auth signup',
  prints: 'orgId projectId:any apiKeys?:object keyFile? contexts:array',
  summary: 'Create an organization with a sandbox and a production project, and a key for each',
  details: [
    'You sign in at the identity provider that the service names. gov stores the two keys for the contexts NAME and NAME-sandbox. On a terminal it also shows them, only this once; elsewhere it prints no key. -C sets NAME; by default it follows from the organization.',
  ],
  flags: {
    name: flag.text('NAME', 'Your name', { required: true, maxLength: limits.accountNameChars }),
    organization: flag.text('NAME', 'Name of the organization', {
      required: true,
      maxLength: limits.accountNameChars,
    }),
    idToken,
    ci,
    open,
    ...secretFlags('the keys'),
  },
  examples: [
    'gov auth signup --base-url https://gov.example.com --name "Ada Lovelace" --organization Acme',
    'gov auth signup --name Ada --organization Acme --id-token - --out acme-keys.json < id-token.jwt',
  ],
  exitCodes: { 4: 'the sign-in was refused', 6: 'this person has signed up before' },
});

export const authLogin = command({
  name: 'auth login',
  prints:
    'type id name:string|null organizationId:string|null organizationName:string|null expiresAt:string|null contexts:array currentContext',
  summary: 'Sign in to a service, or give this tool an API key for it',
  details: [
    'Shows a page of the identity provider and a code, and waits for the sign-in there. gov stores a token of the service in the keychain of the system. Without one, or with GOV_KEYCHAIN=0, it stores the token in credentials.json beside config.json, readable by you alone.',
    'Creates or updates the contexts NAME and NAME-sandbox. If a context has no project, it gets the first one of the organization.',
  ],
  flags: {
    idToken,
    ci,
    apiKeyStdin: flag.on('Store the API key from standard input'),
    open,
  },
  examples: [
    'gov auth login --base-url https://gov.example.com',
    'gov auth login --ci --base-url https://gov.example.com',
    'gov auth login --api-key-stdin -C acme --base-url https://gov.example.com < api.key',
  ],
  exitCodes: { 4: 'the sign-in was refused', 8: 'nobody signed in before the code expired' },
});

export const authStatus = command({
  name: 'auth status',
  prints: '=getIdentity context:string|null baseUrl credential from',
  summary: 'Show who is signed in, where, and until when',
  examples: ['gov auth status', 'gov auth status -C acme -o json'],
  exitCodes: { 0: 'signed in', 4: 'not signed in, or the sign-in has ended' },
});

export const authWhoami = command({
  name: 'auth whoami',
  prints: '=getIdentity context:string|null baseUrl credential from',
  summary:
    'Show whose credential calls have, and what it may do: a person or an API key, also on a data plane',
  examples: ['gov auth whoami', 'gov auth whoami -C local -o json | jq -r .id'],
  exitCodes: { 4: 'no credential is stored, or it is no longer valid' },
});

export const authToken = command({
  name: 'auth token',
  prints: 'token from',
  summary: 'Print the credential of calls, for scripts',
  examples: ['gov auth token', 'GOV_API_KEY=$(gov auth token -C acme) ./my-agent'],
  exitCodes: { 4: 'no credential is stored' },
});

export const authLogout = command({
  name: 'auth logout',
  prints: 'none',
  summary: 'End the sign-in at the service, and remove the credential from this machine',
  details: [
    'For an API key, this only removes the local copy; gov keys revoke ends the key. If gov cannot reach the service, it removes nothing without --force.',
  ],
  flags: { force: flag.on('Remove it even if the service cannot be reached') },
  examples: ['gov auth logout', 'gov auth logout -C acme --force'],
});
