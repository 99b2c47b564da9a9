/** Billing: the portal of the payment provider, usage, retention (contract I6, I10, I11, Z11). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { meteredTypes, operation } from './operation.ts';
import { exact, nullable, oneOf, serviceId, timestamp } from './shapes.ts';
import { environments } from './auth.ts';

const Retention = Type.Object({
  retentionDays: nullable(Type.Integer({ minimum: 1, maximum: limits.retentionDays })),
  legalHold: Type.Boolean({ description: 'true: the service deletes nothing' }),
});

const units = (description?: string) =>
  Type.Object(
    Object.fromEntries(meteredTypes.map((type) => [type, Type.Integer({ minimum: 0 })])) as {
      [Name in (typeof meteredTypes)[number]]: ReturnType<typeof Type.Integer>;
    },
    description === undefined ? {} : { description },
  );

const Summary = Type.Object({
  organizationId: serviceId('org'),
  period: Type.String(),
  hasCustomer: Type.Boolean({ description: 'Whether the payment provider knows the organization' }),
  complete: Type.Boolean({
    description: `false: more than ${limits.projectsPerOrganization.toLocaleString('en')} projects were deleted, and only those deleted last are counted`,
  }),
  projects: Type.Array(
    Type.Object({
      projectId: serviceId('prj'),
      name: Type.String(),
      environment: oneOf(environments),
      deletedAt: nullable(timestamp('When it was deleted; a deleted project is listed only if it has usage')),
      used: units(),
      hybrid: units('The part that data planes reported'),
    }),
  ),
});
export type BillingSummary = Static<typeof Summary>;

const extension = { tag: 'Billing', stability: 'beta', origin: 'extension' } as const;

export const billing = {
  openBillingPortal: operation({
    method: 'POST',
    path: '/billing/portal',
    tag: 'Billing',
    stability: 'stable',
    origin: 'specification',
    access: 'organization',
    scope: 'billing:write',
    summary: 'Open the payment provider’s portal for the organization',
    body: exact({
      returnUrl: Type.String({
        minLength: 1,
        maxLength: limits.returnUrlChars,
        description: 'An https URL of a host that the service allows',
      }),
    }),
    success: { 200: Type.Object({ url: Type.String({ format: 'uri' }) }) },
    statuses: [400, 401, 404, 500],
  }),
  getBillingSummary: operation({
    ...extension,
    method: 'GET',
    path: '/billing/summary',
    access: 'organization',
    scope: 'billing:write',
    command: 'billing summary',
    summary: 'Get the usage of all projects of the organization this month',
    success: { 200: Summary },
    statuses: [401, 500],
  }),
  getRetention: operation({
    ...extension,
    method: 'GET',
    path: '/billing/retention',
    scope: 'projects:read',
    command: 'billing retention',
    summary: 'Get the retention of bodies of the project',
    tagged: true,
    success: { 200: Retention },
    statuses: [401, 500],
  }),
  putRetention: operation({
    ...extension,
    method: 'PUT',
    path: '/billing/retention',
    scope: 'projects:write',
    summary: 'Set the retention of bodies of the project, and a legal hold',
    body: exact({
      retentionDays: Retention.properties.retentionDays,
      legalHold: Retention.properties.legalHold,
    }),
    ifMatch: true,
    success: { 200: Retention },
    statuses: [400, 401, 500],
  }),
} as const;
