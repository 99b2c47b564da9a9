/**
 * Handlers of an organization's projects and their settings (contract I3-I5, Z11). Proven by
 * `test/service/access/projects.test.ts`.
 */
import type { ListedProject, ProjectDetail } from '../../contract/projects.ts';
import { limits } from '../../contract/limits.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ByAge, NamedProject, NewTenant, StoredProject } from '../../store/port/store.ts';
import { wakeHome, keyReused } from '../writes/append.ts';
import { forgettingRefused, requiredOf } from '../writes/asking.ts';
import { idempotencyWrite } from '../call/idempotency.ts';
import type { Handlers } from '../port/handler.ts';
import { projectCreated, projectDeleted, projectUpdated } from './project-events.ts';
import { actsIn, requireEnvironment } from './bounds.ts';
import { requireTag } from '../call/entity-tag.ts';
import { byAge, listPage, pageLimit } from '../call/pages.ts';
import { refuseReadOnly } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import { changesOf, settingsChange, settingsOf } from '../call/settings.ts';
import { changeProject, livingProject } from './tenant-change.ts';

const scope = 'projects:write';

export const projects: Pick<
  Handlers,
  'createProject' | 'listProjects' | 'getProject' | 'updateProject' | 'deleteProject'
> = {
  async createProject({ body, caller, basePath, idempotency }, services) {
    requireEnvironment(caller, body.environment);
    const { organizationId, projectId: calledFrom } = caller.project;
    const { project, genesis } = hostingOf(services).makeProject(organizationId, body.environment);
    const nowMs = services.now();
    const stored: StoredProject = {
      project,
      name: body.name,
      settings: '{}',
      quotas: {},
      createdMs: nowMs,
      updatedMs: nowMs,
      deletedMs: null,
    };
    const event = () => projectCreated(stored, { nowMs, salt: services.salt, by: caller });
    const { projectId: id } = project;
    const answer = {
      status: 201,
      body: { id, name: body.name, environment: body.environment, createdAt: formatTimestamp(nowMs) },
      headers: { location: `${basePath}/projects/${id}` },
    } as const;
    const kept = idempotencyWrite(idempotency, answer).idempotency;
    const asking = { caller, scopes: [scope] } as const;
    const tenant: NewTenant = {
      by: requiredOf(asking, nowMs),
      organization: null,
      user: null,
      projects: [{ stored, leaves: [genesis, event()], keys: [] }],
      toHome: [event()],
      ...(kept === undefined ? {} : { idempotency: { ...kept, projectId: calledFrom } }),
    };
    const created = await forgettingRefused(services, asking, () => services.store.createTenant(tenant));
    if (created.outcome === 'key_reused') throw keyReused();
    if (created.outcome === 'replayed') return { replayed: created.response };
    services.checkpoints.grew(id);
    if (created.home !== undefined) wakeHome(services, created.home);
    return answer;
  },

  /** Without a limit it is one page, which is what clients without pages expect (contract D5). */
  async listProjects({ query, caller }, services) {
    const { organizationId, projectId } = caller.project;
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'projects', projectId, filters: {} },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.projectsPerOrganization, limits.projectsPerOrganization),
      read: async ({ after, limit }: { after?: ByAge; limit: number }) => {
        const found = await services.store.projects(organizationId);
        const own = found.filter(({ project }) => actsIn(caller, project.environment));
        return own.filter((each) => after === undefined || isOlder(each, after)).slice(0, limit);
      },
      position: ({ createdMs, project }) => byAge(createdMs, project.projectId),
    });
    return { status: 200, body: { data: rows.map(listedBody), nextCursor } };
  },

  async getProject({ params, caller }, services) {
    return { status: 200, body: projectBody(await livingProject(services, caller, params.projectId)) };
  },

  async updateProject({ params, body, caller, ifMatch }, services) {
    const { name, settings = {}, ...readOnly } = body;
    const { projectId } = params;
    const changed = await changeProject(services, { caller, scope, projectId }, (stored, nowMs) => {
      requireTag(ifMatch, projectBody(stored), 'the project');
      refuseReadOnly(readOnly, projectBody(stored));
      const named = name === undefined ? {} : { name };
      const change = settingsChange(stored, settings);
      const changes = { ...changesOf({ name: stored.name }, named), ...change.changes };
      if (Object.keys(changes).length === 0) return null;
      return {
        effect: { ...named, settings: change.text },
        event: () =>
          projectUpdated(stored, { nowMs, salt: services.salt, by: caller }, { changes, text: change.text }),
      };
    });
    return { status: 200, body: projectBody(changed) };
  },

  async deleteProject({ params, caller, ifMatch }, services) {
    await changeProject(services, { caller, scope, projectId: params.projectId }, (stored, nowMs) => {
      requireTag(ifMatch, projectBody(stored), 'the project');
      return {
        effect: { deletedMs: nowMs },
        event: () => projectDeleted(stored, { nowMs, salt: services.salt, by: caller }),
      };
    });
    return { status: 200, body: { deleted: true } };
  },
};

export function hostingOf({ hosting }: Pick<Services, 'hosting'>) {
  if (hosting === null) throw new Error('expected a hosted service, got a plane, which has one project');
  return hosting;
}

/** In the order of the list: newest first, and of the same time the greater id first. */
const isOlder = ({ createdMs, project }: NamedProject, after: ByAge): boolean =>
  createdMs === after.ms ? project.projectId < after.id : createdMs < after.ms;

const listedBody = ({ project, name, createdMs, updatedMs }: NamedProject): ListedProject => ({
  id: project.projectId,
  name,
  environment: project.environment,
  createdAt: formatTimestamp(createdMs),
  updatedAt: formatTimestamp(updatedMs),
});

function projectBody(stored: StoredProject): ProjectDetail {
  const { legalHold: _hold, thresholds: _thresholds, ...settings } = settingsOf(stored);
  return { ...listedBody(stored), settings };
}
