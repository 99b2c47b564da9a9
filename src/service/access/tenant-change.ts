/**
 * The one way in which settings of a project and its keys change: row and audit event in one append, judged by rows as
 * they stand. Each change is an event of the system run, so a change that another process made meanwhile shows in the
 * length of that run; then it is judged again. What changes of a project is told to the home of its organization as
 * well, in the same append. A crash before the store answers leaves all of a change or nothing.
 * Proven by `test/service/access/projects.test.ts`, `test/service/access/homes.test.ts` and `test/service/access/api-keys.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { Scope } from '../../contract/operation.ts';
import { GovError } from '../../contract/problems.ts';
import { systemRun, type EventDraft } from '../../core/event/record.ts';
import type {
  AppendRequest,
  Effect,
  Project,
  StoredOrganization,
  StoredProject,
} from '../../store/port/store.ts';
import { unmetered } from '../events/append.ts';
import { appendForOrStale, asksFor, type Asking } from '../events/asking.ts';
import { notFound, type Caller, type Replayed } from '../call/handler.ts';
import type { Services } from '../dependencies.ts';

const attempts = 5;

/** What a request comes to; `change` is null where everything is as asked already. */
export interface Judgement<Answer> {
  readonly change:
    | (Pick<AppendRequest, 'leaves' | 'toHome' | 'effects' | 'idempotency'> & {
        /** Scopes that others get by it, which whoever asks must have. */
        readonly gives?: readonly string[];
      })
    | null;
  readonly answer: Answer;
}

/** Appends to a project what `judge` says. OVERLOADED where it never rests, and what `judge` and effects refuse with. */
export function changeTenant<Answer extends object>(
  services: Services,
  { projectId, asking }: { readonly projectId: string; readonly asking: Asking },
  judge: (atMs: number) => Promise<Judgement<Answer>>,
): Promise<Answer | Replayed> {
  const { runs, store, now } = services;
  return runs.inTurn({ projectId, runId: systemRun }, async () => {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const events = (await store.run(projectId, systemRun))?.events ?? 0;
      const { change, answer } = await judge(now());
      if (change === null) return answer;
      const expect = { runId: systemRun, events };
      const { gives = [], ...request } = change;
      const stored = await appendForOrStale(services, asksFor(asking, gives), {
        ...request,
        projectId,
        meter: unmetered,
        expect,
      });
      if ('replayed' in stored) return stored;
      if (stored.outcome === 'stored') return answer;
    }
    throw new GovError('OVERLOADED', `project ${projectId} kept changing meanwhile; repeat later`, {
      retryAfterSeconds: limits.overloadRetrySeconds,
    });
  });
}

/** A project of the caller's organization that is not deleted. NOT_FOUND. */
export async function livingProject(
  { store }: Pick<Services, 'store'>,
  { project }: Caller,
  projectId: string = project.projectId,
): Promise<StoredProject> {
  const stored = await store.storedProject(project.organizationId, projectId);
  if (stored === null || stored.deletedMs !== null) throw notFound('project');
  return stored;
}

/** What changes of a project, and what tells of it: a draft for each log that it stands in. */
export interface ProjectChange {
  readonly effect: Omit<Extract<Effect, { kind: 'changeProject' }>, 'kind' | 'atMs'>;
  readonly event: () => EventDraft;
}

/** A project as it stands after a change, and what told of the change; null where nothing changed. */
export interface Changed {
  readonly stored: StoredProject;
  readonly event: (() => EventDraft) | null;
}

/** Changes a project as `judge` says, which sees it as it stands; answers it as it stands then. `scope`: of the operation. NOT_FOUND. */
export async function changeProject(
  services: Services,
  {
    caller,
    scope,
    projectId = caller.project.projectId,
  }: { readonly caller: Caller; readonly scope: Scope; readonly projectId?: string },
  judge: (stored: StoredProject, atMs: number) => ProjectChange | null,
): Promise<StoredProject> {
  const find = (): Promise<StoredProject> => livingProject(services, caller, projectId);
  const asking = { caller, scopes: [scope] } as const;
  return (await changeFound(services, { projectId, asking, find }, judge)).stored;
}

/** The same of a project that `find` answers, or refuses, each time that it is judged. */
export async function changeFound(
  services: Services,
  {
    projectId,
    asking,
    find,
  }: {
    readonly projectId: string;
    readonly asking: Asking;
    readonly find: () => Promise<StoredProject>;
  },
  judge: (stored: StoredProject, atMs: number) => ProjectChange | null,
): Promise<Changed> {
  // before anything is asked of the log of a project that may be somebody else's, or nobody's (contract A16)
  await find();
  const changed = await changeTenant(
    services,
    { projectId, asking },
    async (atMs): Promise<Judgement<Changed>> => {
      const stored = await find();
      const change = judge(stored, atMs);
      if (change === null) return { change, answer: { stored, event: null } };
      const { effect, event } = change;
      return {
        change: {
          leaves: [event()],
          toHome: [event()],
          effects: [{ kind: 'changeProject', ...effect, atMs }],
        },
        answer: { stored: { ...stored, ...effect, updatedMs: atMs }, event },
      };
    },
  );
  if ('replayed' in changed) throw new Error('a change of a project is no repeat: it has no Idempotency-Key');
  if (changed.event === null) return changed;
  services.forgetCredential(projectId);
  return changed;
}

/** The caller's organization. */
export async function organizationOf(
  { store }: Pick<Services, 'store'>,
  { organizationId }: Project,
): Promise<StoredOrganization> {
  const organization = await store.organization(organizationId);
  if (organization === null) throw new Error(`no organization ${organizationId}`);
  return organization;
}
