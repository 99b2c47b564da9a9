/**
 * Who is signed in, and the client of that session. A key's session is opened by a link of `gov console open`, a
 * person's by the identity provider of the service. Tested by `test/console/sessions.test.ts`.
 */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { GovApiError } from '../../client/errors.ts';
import type { Client } from '../../client/create.ts';
import type { Environment } from '../../contract/auth-words.ts';
import type { Identity } from '../../contract/auth.ts';
import type { ListedProject } from '../../contract/projects.ts';
import { clientOf } from './api.ts';

export interface Session extends SignedIn {
  /** Whether the session has the scope: a page shows no button that the API would refuse. */
  can(scope: string): boolean;
  /** Ends the session on the server and shows the sign-in page. */
  signOut(): Promise<void>;
  /** Of a person: works on another project from now on. */
  chooseProject(project: { readonly id: string; readonly environment: Environment }): void;
  /** Of a person: reads the projects again. */
  refresh(): Promise<void>;
}

export const SessionContext = createContext<Session | null>(null);

/** The session of the page. Only pages call it, and they render only while someone is signed in. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('expected a session around the page');
  return session;
}

export interface SignedIn {
  readonly client: Client;
  readonly identity: Identity;
  readonly environment: Environment;
  /** Of a person: those of the organization; null for a key, which has its own. */
  readonly projects: readonly ListedProject[] | null;
}

const chosenProject = 'gov-project';

interface ChosenProject {
  readonly project: string;
  readonly environment: Environment;
}

/** A person's choice lasts as long as the tab. */
function readChosen(): ChosenProject | null {
  const [environment, project] = (sessionStorage.getItem(chosenProject) ?? '').split(' ');
  if (project === undefined || (environment !== 'production' && environment !== 'sandbox')) return null;
  return { project, environment };
}

export const saveChosen = ({
  id,
  environment,
}: {
  readonly id: string;
  readonly environment: Environment;
}): void => sessionStorage.setItem(chosenProject, `${environment} ${id}`);

export const forgetChosen = (): void => sessionStorage.removeItem(chosenProject);

/** The session of the browser's cookie, or null where it has none. Throws what else the API answers. */
export async function readSession(): Promise<SignedIn | null> {
  const chosen = readChosen();
  try {
    if (chosen === null) return await readIdentity('production', null);
    return await readIdentity(chosen.environment, chosen.project);
  } catch (error) {
    if (!(error instanceof GovApiError)) throw error;
    if (chosen !== null && (error.code === 'NOT_FOUND' || error.code === 'ENVIRONMENT_MISMATCH')) {
      forgetChosen();
      return readSession();
    }
    if (error.code === 'ENVIRONMENT_MISMATCH') return readIdentity('sandbox', null);
    if (error.status === 401) return null;
    throw error;
  }
}

async function readIdentity(environment: Environment, project: string | null): Promise<SignedIn> {
  const { body: identity } = await clientOf(environment, project).getIdentity();
  if (identity.type !== 'person') {
    return { client: clientOf(environment, null), identity, environment, projects: null };
  }
  const { data: projects } = (await clientOf(environment, null).listProjects()).body;
  // the default project of an organization may be deleted
  const [other] = projects;
  if (other !== undefined && !projects.some(({ id }) => id === identity.projectId)) {
    return readIdentity(other.environment, other.id);
  }
  // an organization without a project in one environment has its default in the other
  const client = clientOf(identity.environment, identity.projectId);
  return { client, identity, environment: identity.environment, projects };
}
