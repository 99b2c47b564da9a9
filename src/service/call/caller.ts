/** Who calls an operation, and what the scopes of that caller allow. */
import type { Scope } from '../../contract/operation.ts';
import { holds } from '../../core/credential.ts';
import type { Credential, Project, StoredPlane } from '../../store/port/store.ts';
import type { TenantRules } from './settings.ts';

/** Who calls. A key decides its project; a person names it, or acts on the organization. */
export interface Caller {
  /** Key, user or data plane id. */
  readonly id: string;
  readonly type: 'api_key' | 'person' | 'data_plane';
  /** What it came with, as the store knows it; null for an ID token, which the store does not, and for a data plane. */
  readonly credential: Credential | null;
  /** Where an operation is of the organization and a person named none: the home project of the environment. */
  readonly project: Project;
  readonly scopes: readonly string[];
  readonly rules: TenantRules;
  /** Of a data plane. */
  readonly plane?: CallingPlane;
}

/** A data plane as it was found by its key. */
export interface CallingPlane {
  readonly stored: StoredPlane;
  /** Whether it came with the key before, which works for a while. */
  readonly byPrevious: boolean;
  /** Secrets that sign its messages at a time. */
  secrets(nowMs: number): readonly Uint8Array[];
}

/** Whether a key's scopes allow an operation. */
export const allows = (scopes: readonly string[], scope: Scope): boolean => holds(scopes, scope);
