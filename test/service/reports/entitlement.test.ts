/** Who has reports (contract C4): at a service that gives them to customers, and at one that gives them to everybody. */
import { expect, it } from 'vitest';
import type { Operation } from '../../../src/contract/operation.ts';
import { table, type OperationId } from '../../../src/contract/table.ts';
import { startService } from '../../support/hosted.ts';
import { nobodysIds, rowRequest } from '../../support/rows.ts';
import { logo, upload } from '../../support/upload.ts';
import { event } from '../../support/serving.ts';

const rows = (Object.keys(table) as OperationId[]).filter((id) =>
  (table[id] as Operation).statuses.includes(402),
);

it('a service that gives reports to customers answers 402 to others, and names the plan', async () => {
  const upgradeUrl = 'https://gov.example/plans';
  const service = await startService({ file: { reporting: { for: 'customers', upgradeUrl } } });
  try {
    const tenant = await service.signUp('ada');
    const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
    const ask = (id: OperationId) => {
      const { method, path, ...rest } = rowRequest(id, {
        ...nobodysIds,
        projectId,
        reportTemplateId: 'incident-bundle',
      });
      return tenant.call(method, path, id === 'uploadLogo' ? upload(logo) : rest);
    };
    expect(rows.length).toBeGreaterThan(10);
    for (const id of rows) {
      const { status, body } = await ask(id);
      expect([id, status, body.code, body.entitlement, body.upgradeUrl]).toEqual([
        id,
        402,
        'ENTITLEMENT_REQUIRED',
        'reporting',
        upgradeUrl,
      ]);
    }
    const customer = { kind: 'setCustomer', organizationId: tenant.orgId, customerId: 'cus_1' } as const;
    const meter = { op: 'none', units: 0 } as const;
    await service.services.store.append({ projectId, leaves: [], meter, effects: [customer] });
    expect((await ask('listExecutions')).status).toBe(200);
    await tenant.call('POST', '/events', { body: event({ runId: nobodysIds.runId }) });
    expect((await ask('createExecution')).status).toBe(202);
    // without a credential, nothing says what plan anybody has
    expect((await service.call('GET', '/reporting/executions')).status).toBe(401);
    const shared = rowRequest('downloadShared', nobodysIds);
    expect((await service.call('GET', shared.path)).status).toBe(404);
  } finally {
    await service.end();
  }
});
