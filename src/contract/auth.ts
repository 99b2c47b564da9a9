/** Sign-up, sessions and tokens of the command line (contract A15, B14-B16, I1, I2). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { environments } from './auth-words.ts';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { exact, nullable, oneOf, serviceId, timestamp } from './shapes.ts';
import { namePattern } from './text-patterns.ts';

export { environments } from './auth-words.ts';
export type { Environment } from './auth-words.ts';

/** A name that people read. */
export const displayName = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: namePattern, description });

const idToken = Type.String({
  minLength: 1,
  maxLength: limits.idTokenChars,
  description: 'ID token of the identity provider, a JWT',
});
const apiKey = (kind: string) =>
  Type.String({ pattern: `^gov_${kind}_[0-9A-Za-z]{38}$`, description: 'Returned only this once' });
const answerText = (description: string) =>
  Type.String({ minLength: 1, maxLength: limits.signInAnswerChars, description });
const Success = Type.Object({ success: Type.Boolean() });

const SignedUp = Type.Object({
  orgId: serviceId('org'),
  organizationId: Type.String({ description: 'The same as orgId' }),
  projectId: Type.String({ description: 'The sandbox project' }),
  apiKeys: Type.Object({ sandbox: apiKey('test'), production: apiKey('live') }),
});
export type SignedUp = Static<typeof SignedUp>;

/** Settings that a client needs to get an ID token for this service. */
const AuthConfiguration = Type.Object({
  issuer: Type.String({ format: 'uri' }),
  clientId: Type.String(),
  scopes: Type.Array(Type.String()),
});
export type AuthConfiguration = Static<typeof AuthConfiguration>;

const Identity = Type.Object({
  type: oneOf(['api_key', 'person']),
  id: Type.String({ description: 'keyId or user id' }),
  name: nullable(Type.String()),
  organizationId: Type.String(),
  organizationName: nullable(Type.String()),
  projectId: Type.String({ description: 'The project of the calls' }),
  projectName: nullable(Type.String()),
  environment: oneOf(environments),
  scopes: Type.Array(Type.String()),
  expiresAt: nullable(timestamp('When the credential expires')),
});
export type Identity = Static<typeof Identity>;

const specified = { tag: 'Auth', stability: 'stable', origin: 'specification', scope: null } as const;
const extension = { tag: 'Auth', stability: 'beta', origin: 'extension', scope: null } as const;

export const auth = {
  signUp: operation({
    ...specified,
    method: 'POST',
    path: '/auth/signup',
    access: 'idToken',
    summary: 'Create an organization with a sandbox and a production project, and a key for each',
    body: exact({
      name: displayName(limits.accountNameChars, 'Your name'),
      organizationName: displayName(limits.accountNameChars, 'Name of the organization'),
    }),
    success: { 201: SignedUp },
    statuses: [400, 401, 409, 500],
  }),
  openSession: operation({
    ...specified,
    method: 'POST',
    path: '/auth/session',
    summary: 'Sign in: sets the session cookie',
    body: exact({ idToken }),
    success: { 200: Success },
    statuses: [400, 401, 500],
  }),
  closeSession: operation({
    ...specified,
    method: 'DELETE',
    path: '/auth/session',
    summary: 'Sign out: ends the session and clears its cookie',
    success: { 200: Success },
    statuses: [500],
  }),
  createCliToken: operation({
    ...extension,
    method: 'POST',
    path: '/auth/tokens',
    summary: 'Sign in on a command line: exchanges an ID token for a token',
    body: exact({ idToken }),
    success: {
      201: Type.Object({
        token: apiKey('cli'),
        organizationId: serviceId('org'),
        expiresAt: timestamp('When the token expires'),
      }),
    },
    statuses: [400, 401, 500],
  }),
  revokeCliToken: operation({
    ...extension,
    method: 'DELETE',
    path: '/auth/tokens',
    access: 'caller',
    summary: 'Sign out on a command line: revokes the token of the call',
    success: { 200: Success },
    statuses: [401, 500],
  }),
  startSignIn: operation({
    ...extension,
    method: 'POST',
    path: '/auth/sign-in',
    summary: 'Begin a sign-in of the browser at the identity provider: sets a cookie for its return',
    success: {
      200: Type.Object({
        authorizationUrl: Type.String({ format: 'uri', description: 'The page of the provider to open' }),
        expiresAt: timestamp('When the person must be back'),
      }),
    },
    statuses: [403, 404, 500],
  }),
  finishSignIn: operation({
    ...extension,
    method: 'POST',
    path: '/auth/sign-in/finish',
    summary:
      'Finish a sign-in with the parameters that the identity provider sent back: sets the session cookie',
    body: exact({
      state: answerText('The state of the sign-in'),
      code: Type.Optional(answerText('The authorization code')),
      iss: Type.Optional(answerText('The issuer, RFC 9207')),
      error: Type.Optional(answerText('Why the provider refused')),
      error_description: Type.Optional(answerText('The same in its words')),
    }),
    success: { 200: Success },
    statuses: [400, 401, 403, 404, 500],
  }),
  signOut: operation({
    ...extension,
    method: 'POST',
    path: '/auth/sign-out',
    summary:
      'Sign out as DELETE /auth/session does, and get the page that signs out of the identity provider',
    success: {
      200: Type.Object({
        success: Type.Boolean(),
        providerUrl: nullable(
          Type.String({ format: 'uri', description: 'Null where the provider has none' }),
        ),
      }),
    },
    statuses: [403, 500],
  }),
  getIdentity: operation({
    ...extension,
    method: 'GET',
    path: '/auth/identity',
    access: 'caller',
    summary: 'Get the owner of the credential',
    success: { 200: Identity },
    statuses: [401, 404, 500],
  }),
  getAuthConfiguration: operation({
    ...extension,
    method: 'GET',
    path: '/auth/configuration',
    summary: 'Get the identity provider of the service',
    success: { 200: AuthConfiguration },
    statuses: [404, 500],
  }),
} as const;
