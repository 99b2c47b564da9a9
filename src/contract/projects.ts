/** Projects and their settings (contract I3-I5, O11, G11, Z11). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { displayName, environments } from './auth.ts';
import { limits } from './limits.ts';
import { resource } from './resource.ts';
import {
  cursorQuery,
  exact,
  limitQuery,
  nullable,
  oneOf,
  page,
  readOnly,
  serviceId,
  timestamp,
} from './shapes.ts';
import { WebhookDefaults } from './webhook-events.ts';

const auditFailureModes = ['strict', 'best_effort'] as const;
const quotaModes = ['block', 'overage'] as const;

/** What a project keeps of arguments, results and messages in received telemetry (OTLP). */
export const contentCaptures = ['none', 'hashes', 'full'] as const;
export type ContentCapture = (typeof contentCaptures)[number];

export const subjectPointerPattern = '^/(actor|resource|metadata|arguments)(/([^~/]|~[01])*)*$';

const settings = {
  retentionDays: nullable(
    Type.Integer({
      minimum: 1,
      maximum: limits.retentionDays,
      description: 'Days to keep bodies; null: without end. At least 183 in production',
    }),
  ),
  auditFailureMode: oneOf(auditFailureModes),
  timezone: Type.String({ minLength: 1, maxLength: 64, description: 'IANA name, such as Europe/Zurich' }),
  webhookDefaults: WebhookDefaults,
  redactionKeys: Type.Array(
    Type.String({
      pattern: '^/(actor|resource|metadata)(/([^~/]|~[01])*)*$',
      maxLength: limits.redactionKeyChars,
    }),
    {
      maxItems: limits.redactionKeys,
      uniqueItems: true,
      description:
        'JSON pointers into actor, resource and metadata; the service replaces these values before it hashes them',
    },
  ),
  subjectPointers: Type.Array(
    Type.String({
      pattern: subjectPointerPattern,
      maxLength: limits.subjectPointerChars,
    }),
    {
      maxItems: limits.subjectPointers,
      uniqueItems: true,
      description:
        'JSON pointers to the subject of an event, such as /metadata/customerId. An erasure finds the events of a person by these values',
    },
  ),
  requireTwoPersonErasure: Type.Boolean({
    description: 'An erasure needs two credentials: one requests it, another executes it',
  }),
  requireTwoPersonPublish: Type.Boolean({
    description: 'A version needs two credentials: one writes it, another publishes it',
  }),
  quotaMode: oneOf(quotaModes),
  contentCapture: oneOf(contentCaptures),
};

export const { redactionKeys } = settings;

/** All settings, as the service returns them. */
const ProjectSettings = Type.Object(settings);
export type ProjectSettings = Static<typeof ProjectSettings>;

const Project = Type.Object({
  id: serviceId('prj'),
  name: Type.String(),
  environment: oneOf(environments),
  createdAt: timestamp('When it was created'),
});

/** A project without its settings: settings may have 32 KiB, and a page has up to 1000 projects. */
const ListedProject = Type.Object({
  ...Project.properties,
  updatedAt: timestamp('When it was last changed'),
});
export type ListedProject = Static<typeof ListedProject>;

const ProjectDetail = Type.Object({ ...ListedProject.properties, settings: ProjectSettings });
export type ProjectDetail = Static<typeof ProjectDetail>;

const name = displayName(limits.projectNameChars, 'Unique in the organization and environment');
const params = exact({ projectId: serviceId('prj') });
const project = resource({
  tag: 'Projects',
  stability: 'stable',
  origin: 'specification',
  access: 'organization',
  path: '/projects',
  params,
  item: ProjectDetail,
  reads: 'projects:read',
  writes: 'projects:write',
});

export const projects = {
  createProject: project.create({
    summary: 'Create a project in the organization',
    body: exact({ name, environment: oneOf(environments) }),
    success: { 201: Project },
    statuses: [400, 401, 500],
  }),
  listProjects: project.list({
    command: 'projects list',
    summary: 'List the projects of the organization, newest first, without their settings',
    query: exact({
      cursor: cursorQuery,
      limit: limitQuery(limits.projectsPerOrganization, limits.projectsPerOrganization),
    }),
    success: { 200: page(ListedProject) },
    statuses: [400, 401, 500],
  }),
  getProject: project.get({
    command: 'projects get',
    summary: 'Get one project with its settings',
    tagged: true,
    statuses: [401, 404, 500],
  }),
  updateProject: project.update({
    summary: 'Change the name or settings of a project; other settings are unchanged',
    body: Type.Object(
      {
        name: Type.Optional(name),
        settings: Type.Optional(
          Type.Object(
            Object.fromEntries(
              Object.entries(settings).map(([key, schema]) => [key, Type.Optional(schema)]),
            ) as { [Key in keyof typeof settings]: ReturnType<typeof Type.Optional<(typeof settings)[Key]>> },
            { additionalProperties: false },
          ),
        ),
        id: readOnly,
        environment: readOnly,
        createdAt: readOnly,
        updatedAt: readOnly,
      },
      { additionalProperties: false, minProperties: 1 },
    ),
    statuses: [400, 401, 404, 500],
  }),
  deleteProject: project.delete({
    summary: 'Delete a project: its keys stop working, its data remain',
    ifMatch: true,
    success: { 200: Type.Object({ deleted: Type.Boolean() }) },
    statuses: [401, 404, 500],
  }),
} as const;
