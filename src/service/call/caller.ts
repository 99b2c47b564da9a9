/**
 * Who calls an operation, and what the scopes of that caller allow. Proven by
 * `test/http/admit/scopes.test.ts`.
 */
import type { Scope } from '../../contract/operation.ts';
import { agentScopes } from '../../core/agents/clients.ts';
import { holds } from '../../core/credential.ts';
import type { Credential, Project, StoredPlane } from '../../store/port/store.ts';
import type { TenantRules } from './settings.ts';

/**
 * The caller of an operation. A key belongs to one project; a person names a project or acts on the
 * organization.
 */
export interface Caller {
  /** Key, user or data plane id. */
  readonly id: string;
  readonly type: 'api_key' | 'person' | 'data_plane';
  /**
   * The credential as the store knows it. Null for a data plane, and for an ID token, which the store does
   * not keep.
   */
  readonly credential: Credential | null;
  /**
   * The named project. The home project of the environment where a person calls an operation of the
   * organization without one.
   */
  readonly project: Project;
  readonly scopes: readonly string[];
  /** When the key expires, in Unix milliseconds; null for never, and for a person or a data plane. */
  readonly expiresMs: number | null;
  readonly rules: TenantRules;
  /** Present where a run token calls: the only run in which it may evaluate and record. */
  readonly run?: string;
  /** Present where a request token calls: the token, and the SHA-256 of the only request that it is good for. */
  readonly request?: { readonly token: string; readonly requestHash: Buffer };
  /** Present where a data plane calls. */
  readonly plane?: CallingPlane;
}

/** A data plane that the service found by its key. */
export interface CallingPlane {
  readonly stored: StoredPlane;
  /** Whether it used its previous key, which stays valid for a while. */
  readonly byPrevious: boolean;
  /** Secrets that are valid for its signatures at a time. */
  secrets(nowMs: number): readonly Uint8Array[];
}

/** Whether agents have all of these scopes. */
export const isAgents = (scopes: readonly string[]): boolean =>
  scopes.every((scope) => agentScopes.some((own) => own === scope));

/** Whether the caller is an agent: a run token, or a key that has the scopes of agents alone. */
export const isAgent = ({ run, scopes }: Pick<Caller, 'run' | 'scopes'>): boolean =>
  run !== undefined || isAgents(scopes);

/** Whether a key's scopes allow an operation. */
export const allows = (scopes: readonly string[], scope: Scope): boolean => holds(scopes, scope);
