/**
 * Selects an organization's homes: the projects whose logs record changes of the organization itself.
 * When a home is deleted, another project takes its place. The log of an organization therefore stays
 * readable while it has a project.
 * Proven by `test/store/suite/tenancy/homes.ts`.
 */
import type { Environment } from '../../contract/auth.ts';
import type { StoredOrganization } from '../port/tenancy.ts';

export type Homes = StoredOrganization['home'];

/** A project that is not deleted. */
export interface LivingProject {
  readonly projectId: string;
  readonly environment: Environment;
}

/** A project, its organization, and the organization's homes. */
export interface Membership extends LivingProject {
  readonly organizationId: string;
  readonly home: Homes;
}

/**
 * Computes the homes from the living projects, oldest first. A home stays if it is living and of its
 * environment. Otherwise the oldest project of the environment replaces it, then the oldest of the other
 * environment. Without any project the home stays.
 */
export function homesAmong(homes: Homes, living: readonly LivingProject[]): Homes {
  const homeOf = (wanted: Environment): string => {
    const current = homes[wanted];
    const own = living.filter(({ environment }) => environment === wanted);
    for (const candidates of [own, living]) {
      const [oldest] = candidates;
      if (candidates.some(({ projectId }) => projectId === current)) return current;
      if (oldest !== undefined) return oldest.projectId;
    }
    return current;
  };
  return { production: homeOf('production'), sandbox: homeOf('sandbox') };
}

export const areSame = (one: Homes, other: Homes): boolean =>
  one.production === other.production && one.sandbox === other.sandbox;

/** The home that records a project's changes. Null if the project is its own home or has none. */
export function homeBeside(membership: Membership | null): string | null {
  if (membership === null) return null;
  const { projectId, environment, home } = membership;
  return home[environment] === projectId ? null : home[environment];
}

/** A row of `project`, joined with its organization. */
export interface MembershipRow {
  project_id: string;
  organization_id: string;
  environment: Environment;
  home_production: string;
  home_sandbox: string;
}

export const membershipOf = (row: MembershipRow): Membership => ({
  projectId: row.project_id,
  organizationId: row.organization_id,
  environment: row.environment,
  home: { production: row.home_production, sandbox: row.home_sandbox },
});
