/** Sessions of API keys in the console of a plane (contract B14, P13). */
import { Type } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { exact, timestamp } from './shapes.ts';

const extension = { tag: 'Auth', stability: 'beta', origin: 'extension', scope: null } as const;
const Success = Type.Object({ success: Type.Boolean() });

export const consoleSessions = {
  createConsoleLink: operation({
    ...extension,
    method: 'POST',
    path: '/console/links',
    access: 'caller',
    summary: 'Create a one-time code that opens the console with the scopes of the calling key',
    success: {
      201: Type.Object({
        code: Type.String({
          description: 'Returned only this once; the fragment of the link: /console/#code=…',
        }),
        expiresAt: timestamp('When the code can no longer be used'),
      }),
    },
    statuses: [401, 404, 500],
  }),
  openConsoleSession: operation({
    ...extension,
    method: 'POST',
    path: '/console/session',
    summary: 'Open the console with a one-time code: sets the session cookie',
    body: exact({ code: Type.String({ minLength: 1, maxLength: limits.consoleCodeChars }) }),
    success: { 200: Success },
    statuses: [400, 401, 403, 500],
  }),
  closeConsoleSession: operation({
    ...extension,
    method: 'DELETE',
    path: '/console/session',
    summary: 'Sign out of the console: ends the session and clears its cookie',
    success: { 200: Success },
    statuses: [500],
  }),
} as const;
