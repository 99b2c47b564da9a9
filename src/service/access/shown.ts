/** What credentials of all kinds share: how they are shown, and how they are refused (contract B5, B7, A15, A17). */
import type { Environment } from '../../contract/auth.ts';
import { GovError } from '../../contract/problems.ts';
import type { StoreReader } from '../../store/port/store.ts';
import type { Caller } from '../call/handler.ts';
import type { Hosting } from '../hosting.ts';
import type { StoredSettings } from '../call/settings.ts';
import { fieldError } from '../call/schema.ts';

/** What a request shows; every text is an attacker's. */
export interface Shown {
  /** Key, token of the command line, or ID token. */
  readonly token: string | null;
  /** Session cookie; looked at where there is no token. */
  readonly cookie: string | null;
  /** `Gov-Project`. */
  readonly project: string | null;
}

/** Where it is shown. */
export interface Place {
  readonly environment: Environment;
  /** Whether a person has to name a project. */
  readonly needsProject: boolean;
  /** Whether a data plane is asked for, and nobody else. */
  readonly forPlane?: boolean;
}

export interface On {
  readonly shown: Shown;
  readonly place: Place;
}

/** A credential that the store has to be asked for. */
export interface Unfamiliar {
  /** Nothing was found under it lately. */
  readonly isNew: boolean;
  lookUp(): Promise<Caller>;
}

export interface CredentialOptions {
  readonly store: Pick<
    StoreReader,
    'apiKey' | 'planeOfKey' | 'session' | 'user' | 'organization' | 'storedProject'
  >;
  readonly now: () => number;
  /** On a plane: settings that its service decides. */
  readonly settings?: () => Partial<StoredSettings>;
  /** Null on a plane, which knows keys alone. */
  readonly hosting: Pick<Hosting, 'identity' | 'quotas' | 'seal'> | null;
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

export const projectFault = (code: string, detail: string): GovError =>
  fieldError({ pointer: '/Gov-Project', in: 'header', code, detail });

/** A caller that is known was refused: its project may be told. To the caller it is an error like any other. */
export class Denied extends GovError {
  readonly caller: Caller;

  constructor(caller: Caller, { code, message, extensions }: GovError) {
    super(code, message, { extensions });
    this.caller = caller;
  }
}
