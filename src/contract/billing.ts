/** Billing (contract I6, I10, I11, Z11). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { meteredTypes, operation } from './operation.ts';
import { exact, nullable, oneOf, serviceId, timestamp } from './shapes.ts';
import { environments } from './auth.ts';

const Retention = Type.Object({
  retentionDays: nullable(Type.Integer({ minimum: 1, maximum: limits.retentionDays })),
  legalHold: Type.Boolean({ description: 'While set, nothing is deleted' }),
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
    description: `False where more than ${limits.projectsPerOrganization.toLocaleString('en')} projects were deleted; those deleted last are looked at`,
  }),
  projects: Type.Array(
    Type.Object({
      projectId: serviceId('prj'),
      name: Type.String(),
      environment: oneOf(environments),
      deletedAt: nullable(
        timestamp('When it was deleted; such projects are listed where they used anything'),
      ),
      used: units(),
      hybrid: units('How many of them data planes reported'),
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
        description: 'https, and of a host that the service allows',
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
    summary: 'What the projects of the organization used this month',
    success: { 200: Summary },
    statuses: [401, 500],
  }),
  getRetention: operation({
    ...extension,
    method: 'GET',
    path: '/billing/retention',
    scope: 'projects:read',
    command: 'billing retention',
    summary: 'How long bodies of the project are kept',
    success: { 200: Retention },
    statuses: [401, 500],
  }),
  putRetention: operation({
    ...extension,
    method: 'PUT',
    path: '/billing/retention',
    scope: 'projects:write',
    summary: 'Set how long bodies of the project are kept, and a legal hold',
    body: exact({
      retentionDays: Retention.properties.retentionDays,
      legalHold: Retention.properties.legalHold,
    }),
    success: { 200: Retention },
    statuses: [400, 401, 500],
  }),
} as const;
