/**
 * The only way in which a project's settings and keys change: row and audit event in one append, judged by
 * the current rows. Each change is an event of the system run, so a longer run shows a change by another
 * process; the change is then judged again. The same append adds an event to the home of the organization. A
 * crash before the store answers leaves all of a change or nothing. Proven by
 * `test/service/access/projects.test.ts`, `test/service/access/homes.test.ts` and
 * `test/service/access/api-keys.test.ts`.
 */
import type { Scope } from '../../contract/operation.ts';
import { systemRun, type EventDraft } from '../../core/events/record.ts';
import type { AppendRequest, StoredOrganization, StoredProject } from '../../store/port/store.ts';
import type { Effect } from '../../store/port/store.ts';
import type { Project } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import { asksFor, type Requester } from '../writes/asking.ts';
import { notFound, type ReplayedResponse } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import { untilStored } from '../call/overtaken.ts';
import { actsIn } from './bounds.ts';
import type { Services } from '../port/services.ts';

/** The result of judging a request; `change` is null where nothing changes. */
export interface TenantJudgement<Answer> {
  readonly change:
    | (Pick<AppendRequest, 'leaves' | 'toHome' | 'effects' | 'idempotency'> & {
        /** Scopes that the change grants to others; the caller must have them. */
        readonly gives?: readonly string[];
      })
    | null;
  readonly answer: Answer;
}

/**
 * Appends the judgement of `judge` to a project. OVERLOADED where the project keeps changing, and errors of
 * `judge` and of effects.
 */
export function changeTenant<Answer extends object>(
  services: Services,
  { projectId, asking }: { readonly projectId: string; readonly asking: Requester },
  judge: (atMs: number) => Promise<TenantJudgement<Answer>>,
): Promise<Answer | ReplayedResponse> {
  const { runs, store, now } = services;
  return runs.inTurn({ projectId, runId: systemRun }, () =>
    untilStored(`project ${projectId}`, async () => {
      await runs.overtaken(projectId);
      const events = (await store.run(projectId, systemRun))?.events ?? 0;
      const { change, answer } = await judge(now());
      if (change === null) return answer;
      const { gives = [], ...request } = change;
      const stored = await append(
        services,
        { ...request, projectId },
        { by: asksFor(asking, gives), expect: { run: { runId: systemRun, events } } },
      );
      if ('replayed' in stored) return stored;
      return stored.outcome === 'stored' ? answer : null;
    }),
  );
}

/** A project of the caller's organization that is not deleted. NOT_FOUND, also for a key of the other environment. */
export async function livingProject(
  { store }: Pick<Services, 'store'>,
  caller: Caller,
  projectId: string = caller.project.projectId,
): Promise<StoredProject> {
  const stored = await store.storedProject(caller.project.organizationId, projectId);
  const isForeign = stored !== null && !actsIn(caller, stored.project.environment);
  if (stored === null || stored.deletedMs !== null || isForeign) throw notFound('project');
  return stored;
}

/** A change of a project, with an event for each log that records it. */
export interface ProjectChange {
  readonly effect: Omit<Extract<Effect, { kind: 'changeProject' }>, 'kind' | 'atMs'>;
  readonly event: () => EventDraft;
}

/** The project after a change and the recorded event; null where nothing changed. */
export interface ChangedProject {
  readonly stored: StoredProject;
  readonly event: (() => EventDraft) | null;
}

/**
 * Changes a project by the judgement of `judge`, which gets the current project. Returns the project after
 * it. `scope`: the scope of the operation. NOT_FOUND.
 */
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

/** Like `changeProject`, for the project that `find` returns or refuses before each judgement. */
export async function changeFound(
  services: Services,
  {
    projectId,
    asking,
    find,
  }: {
    readonly projectId: string;
    readonly asking: Requester;
    readonly find: () => Promise<StoredProject>;
  },
  judge: (stored: StoredProject, atMs: number) => ProjectChange | null,
): Promise<ChangedProject> {
  // before any read of the log, because the project may be another organization's or missing (contract A16)
  await find();
  const changed = await changeTenant(
    services,
    { projectId, asking },
    async (atMs): Promise<TenantJudgement<ChangedProject>> => {
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
  if ('replayed' in changed)
    throw new Error('expected a change of a project to be stored, got a replay without an Idempotency-Key');
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
  if (organization === null) throw new Error(`expected organization ${organizationId}, got none`);
  return organization;
}
