/**
 * The tenants of a store: organizations, people, projects and credentials.
 * A plane has one project and none of the others. Changes are effects (`TenantEffect`) of an append, so that
 * the log has them in the same transaction. Only a new project has no log to append to: `createTenant`
 * creates the log with it.
 * Proven by `test/store/suite/tenancy/tenants.ts`.
 */
import type { Environment } from '../../contract/auth.ts';
import type { MeteredType } from '../../contract/operation.ts';
import type { LeafDraft } from '../../core/events/record.ts';
import type { RequiredCaller } from './caller.ts';
import type { IdempotencyWrite, StoredResponse } from './repeats.ts';
import type { ByAge } from './rows.ts';
import type { Page, Project, StoredProject } from './log.ts';
import type { TelemetryEffect, TelemetryReader } from './planes.ts';

export interface StoredOrganization {
  readonly organizationId: string;
  readonly name: string;
  /** Id at the payment provider. */
  readonly customerId: string | null;
  /**
   * The projects whose logs record changes of the organization itself. When one is deleted, another project
   * takes its place (`src/store/rules/homes.ts`), from the other environment if its own has none.
   */
  readonly home: Readonly<Record<Environment, string>>;
  readonly createdMs: number;
}

/** A person, named by (issuer, subject). */
export interface StoredUser {
  readonly userId: string;
  readonly organizationId: string;
  readonly issuer: string;
  readonly subject: string;
  /** Null unless the issuer states that it is verified. */
  readonly email: string | null;
  readonly name: string;
  readonly createdMs: number;
}

export interface StoredSession {
  /** SHA-256 of the token. */
  readonly digest: Uint8Array;
  readonly kind: 'browser' | 'cli';
  readonly userId: string;
  readonly organizationId: string;
  readonly createdMs: number;
  /** Rounded down to the minute. */
  readonly lastUsedMs: number;
  readonly expiresMs: number;
  readonly endedMs: number | null;
}

/**
 * The parts of a project that lists show. Settings are left out: those of a thousand projects take 32 MiB.
 */
export type NamedProject = Pick<StoredProject, 'project' | 'name' | 'createdMs' | 'updatedMs'>;

/** The units that a project used in a month. */
export interface ProjectUsage {
  readonly projectId: string;
  readonly name: string;
  readonly environment: Environment;
  readonly deletedMs: number | null;
  readonly used: Readonly<Record<MeteredType, number>>;
  /** The units that data planes reported for the month (`TelemetryReader.planeUsage`). */
  readonly planes: Readonly<Record<MeteredType, number>>;
}

export interface ApiKeyRow {
  readonly keyId: string;
  readonly projectId: string;
  readonly digest: Buffer;
  readonly prefix: string;
  readonly last4: string;
  readonly name: string;
  readonly description: string | null;
  readonly scopes: readonly string[];
  readonly createdMs: number;
  /** Key id, user id, or `operator`. */
  readonly createdBy: string;
  readonly updatedMs: number;
  /** Rounded down to the minute. */
  readonly lastUsedMs: number | null;
  readonly expiresMs: number | null;
  /** May be in the future: a rotated key works until then. */
  readonly revokedMs: number | null;
  readonly rotatedFrom: string | null;
}

export interface NewProject {
  readonly stored: StoredProject;
  /** The first leaves; the genesis leaf comes first. */
  readonly leaves: readonly LeafDraft[];
  readonly keys: readonly ApiKeyRow[];
}

/** Created in one transaction, whole or not at all. */
export interface NewTenant {
  /** Null at a sign-up, which needs no caller. */
  readonly by: RequiredCaller | null;
  /** Both null if the organization already exists. */
  readonly organization: StoredOrganization | null;
  readonly user: StoredUser | null;
  readonly projects: readonly NewProject[];
  /**
   * Like `AppendRequest.toHome`, for the home of the first project, unless this request creates that home.
   */
  readonly toHome?: readonly LeafDraft[];
  /** Stored in the caller's project. */
  readonly idempotency?: IdempotencyWrite & { readonly projectId: string };
}

export type CreateOutcome =
  /** `home`: the project whose log got `toHome`. */
  | { readonly outcome: 'stored'; readonly home?: string }
  | { readonly outcome: 'replayed'; readonly response: StoredResponse }
  | { readonly outcome: 'key_reused' };

/** Rows of tenants that change with an append to one of their projects. */
export type TenantEffect =
  | RequiredCaller
  | TelemetryEffect
  /**
   * Refused with CONFLICT if the project has `limits.keysPerProject` keys without a revocation time, past or
   * future.
   */
  | { readonly kind: 'saveApiKey'; readonly key: ApiKeyRow }
  /** Refused with NOT_FOUND if the key is unknown, or revoked at `atMs`. */
  | {
      readonly kind: 'changeApiKey';
      readonly keyId: string;
      readonly name: string;
      readonly description: string | null;
      readonly scopes: readonly string[];
      readonly expiresMs: number | null;
      readonly atMs: number;
    }
  /** Ends the key at `revokedMs`, or at its earlier end if it has one. Refused like `changeApiKey`. */
  | {
      readonly kind: 'revokeApiKey';
      readonly keyId: string;
      readonly revokedMs: number;
      readonly atMs: number;
    }
  /**
   * Changes the project of the append; an absent member stays unchanged. Deleting or restoring it moves the
   * homes of its organization. Refused with NOT_FOUND if the project is deleted and `deletedMs` is absent or
   * deletes it again. Refused with NAME_TAKEN if another project of the organization and environment has the
   * name, compared without case, and is not deleted.
   */
  | {
      readonly kind: 'changeProject';
      readonly name?: string;
      readonly settings?: string;
      readonly quotas?: StoredProject['quotas'];
      readonly deletedMs?: number | null;
      readonly atMs: number;
    }
  | { readonly kind: 'openSession'; readonly session: StoredSession }
  /** Refused with NOT_FOUND if the session is unknown or has ended. */
  | { readonly kind: 'endSession'; readonly digest: Uint8Array; readonly atMs: number }
  /** Refused with NOT_FOUND if the project of the append belongs to another organization. */
  | {
      readonly kind: 'setCustomer';
      readonly organizationId: string;
      readonly customerId: string | null;
    };

/** One use of a credential. Times are rounded down to the minute and never run backwards. */
export type Use =
  | { readonly projectId: string; readonly keyId: string; readonly atMs: number }
  | { readonly digest: Uint8Array; readonly atMs: number };

export interface TenantReader extends TelemetryReader {
  organization(organizationId: string): Promise<StoredOrganization | null>;
  user(issuer: string, subject: string): Promise<StoredUser | null>;
  /** Null for a person of another organization. */
  userOf(organizationId: string, userId: string): Promise<StoredUser | null>;
  /** Finds a session by the digest of its token, even if it has ended. */
  session(digest: Uint8Array): Promise<{
    readonly session: StoredSession;
    readonly user: StoredUser;
    readonly organization: StoredOrganization;
  } | null>;
  /** Projects that are not deleted, newest first. */
  projects(organizationId: string): Promise<NamedProject[]>;
  /**
   * For the operator alone. Projects of one organization or of all, including deleted ones, newest first by
   * id. `after` is a project id. A plane has none.
   */
  everyProject(filter: { readonly organizationId?: string }, page: Page<string>): Promise<StoredProject[]>;
  /** Returns deleted projects too. Null for a project of another organization. */
  storedProject(organizationId: string, projectId: string): Promise<StoredProject | null>;
  /**
   * Units counted in a month (`2026-11`, UTC) by the projects of an organization. Living projects come first,
   * newest first. Deleted projects with units follow, last deleted first. Searches only the
   * `limits.projectsPerOrganization` last deleted ones; `complete` states whether there are no more.
   */
  usageOf(
    organizationId: string,
    month: string,
  ): Promise<{ readonly projects: readonly ProjectUsage[]; readonly complete: boolean }>;
  /** Units counted in a month by one project. */
  usage(projectId: string, month: string): Promise<Readonly<Record<MeteredType, number>>>;

  /** Searches all projects: the credential decides the tenant. `stored` is null on a plane. */
  apiKey(digest: Uint8Array): Promise<{
    readonly key: ApiKeyRow;
    readonly project: Project;
    readonly stored: StoredProject | null;
  } | null>;
  apiKeyOf(projectId: string, keyId: string): Promise<ApiKeyRow | null>;
  /** Newest first. `liveAtMs`: only keys that are not revoked at this time. */
  apiKeys(projectId: string, filter: { readonly liveAtMs?: number }, page: Page<ByAge>): Promise<ApiKeyRow[]>;

  /** The text that the first process of an installation stored about its keys, or null. */
  installation(): Promise<string | null>;
}

export interface TenantStore {
  /**
   * Refuses with USER_EXISTS if (issuer, subject) is known, and with NAME_TAKEN like `changeProject`. Refuses
   * with CONFLICT if the organization has `limits.projectsPerOrganization` projects that are not deleted.
   * Refuses like `RequiredCaller` if `by` may not create it.
   */
  createTenant(tenant: NewTenant): Promise<CreateOutcome>;
  /** Stores the text if none is stored, and returns the stored one. The first text stays. */
  claimInstallation(text: string): Promise<string>;
  /** Uses at most one transaction per tenant. Ignores unknown credentials and ended sessions. */
  used(uses: readonly Use[]): Promise<void>;
}
