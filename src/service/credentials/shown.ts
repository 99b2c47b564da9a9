/**
 * Parts that all kinds of credentials share: the request's credential, and the errors that refuse it
 * (contract B5, B7, A15, A17). Proven by `test/http/admit/credentials.test.ts`.
 */
import type { FieldCode } from '../../contract/field-codes.ts';
import type { Environment } from '../../contract/auth.ts';
import { GovError } from '../../contract/problems.ts';
import type { StoreReader } from '../../store/port/store.ts';
import type { Caller } from '../call/caller.ts';
import type { KeySessions } from './key-sessions.ts';
import type { HostParts, IdentityProvider } from '../hosting/parts.ts';
import type { Seal } from '../call/secrets.ts';
import type { StoredSettings } from '../call/settings.ts';
import { fieldError } from '../call/schema.ts';

/** The credentials of a request. An attacker controls every text. */
export interface RequestCredentials {
  /** Key, token of the command line, or ID token. */
  readonly token: string | null;
  /** Session cookie; ignored where there is a token. */
  readonly cookie: string | null;
  /** The header `Gov-Project`. */
  readonly project: string | null;
}

/** The operation's demands on a credential. */
export interface OperationPlace {
  readonly environment: Environment;
  /** Whether a person must name a project. */
  readonly needsProject: boolean;
  /** Whether only data planes may call. */
  readonly forPlane?: boolean;
}

export interface CredentialCheck {
  readonly shown: RequestCredentials;
  readonly place: OperationPlace;
}

/** A credential that the store must look up. */
export interface UnknownCredential {
  /** Whether the cache has no entry for it, expired or not. */
  readonly isNew: boolean;
  lookUp(): Promise<Caller>;
}

export interface CredentialOptions {
  readonly store: Pick<
    StoreReader,
    'apiKey' | 'apiKeyOf' | 'document' | 'planeOfKey' | 'session' | 'user' | 'organization' | 'storedProject'
  >;
  /** Opens secrets that the store holds. */
  readonly seal: Pick<Seal, 'open'>;
  readonly now: () => number;
  /** On a plane: settings that its service decides. */
  readonly settings?: () => Partial<StoredSettings>;
  /** Sessions of keys in the console. Null on a service. */
  readonly keySessions?: Pick<KeySessions, 'use'> | null;
  /** Null on a plane, which accepts API keys and their sessions only. */
  readonly hosting:
    | (Pick<HostParts, 'quotas'> & { readonly identity: Omit<IdentityProvider, 'browsers'> | null })
    | null;
}

export const missingCredential = (): GovError =>
  new GovError(
    'UNAUTHENTICATED',
    'expected an API key in the header Authorization: Bearer gov_… or X-API-Key',
  );

export const missingHybridKey = (): GovError =>
  new GovError(
    'UNAUTHENTICATED',
    'expected the hybrid key of a data plane in the header Authorization: Bearer gov_hyb_… or X-API-Key',
  );

export const wrongEnvironment = (environment: Environment): GovError =>
  new GovError(
    'ENVIRONMENT_MISMATCH',
    `expected a key of the ${environment} environment; production keys are gov_live_…, sandbox keys gov_test_…`,
  );

export const untrustedSite = (): GovError =>
  new GovError(
    'FORBIDDEN',
    'expected a page of this server over HTTPS, or over HTTP on the same machine (http://127.0.0.1 or http://localhost)',
  );

export const projectFault = (code: FieldCode, detail: string): GovError =>
  fieldError({ pointer: '/Gov-Project', in: 'header', code, detail });

/** A refusal of a known caller, which its project's log may record. The caller gets an ordinary error. */
export class DenialError extends GovError {
  readonly caller: Caller;

  constructor(caller: Caller, { code, message, extensions }: GovError) {
    super(code, message, { extensions });
    this.caller = caller;
  }
}
