/** Commands of the noun console, as data. Tested by `test/cli/commands/console/open.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { command, flag } from '../../program/spec.ts';

export const consoleOpen = command({
  name: 'console open',
  prints: 'url expiresAt',
  summary:
    'Open the console in the browser: of a plane signed in with the scopes of a key, of a service to sign in there',
  details: [
    `The link to a plane works once, for ${limits.consoleLinkSeconds / 60} minutes. It contains a code, never the key. The session ends with the key, after ${limits.sessionIdleMinutes} minutes without use, and after ${limits.sessionHours} hours.`,
    'The address has localhost for 127.0.0.1, because passkeys need a name. It stays 127.0.0.1 where another program listens at the same port of ::1.',
    'The key that asked for a call may not approve it. What an agent asked for is approved with a passkey.',
  ],
  flags: {
    key: flag.text('FILE', 'Use the key in this file instead of the key of the context'),
    print: flag.on('Print the link; open no browser'),
  },
  examples: [
    'gov console open',
    'gov console open --key ./approver.key',
    'gov console open --print -C plane',
  ],
});
