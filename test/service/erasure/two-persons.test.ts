import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import type { Answer } from '../../support/answer.ts';
import { asPerson, inProject, said, told } from '../support/tenants.ts';

describe.each(engines)('policies that two people publish, on %s', (engine) => {
  let service: TestService;
  let acme: Tenant;
  let projectId: string;
  let author: string;
  let reviewer: string;
  let authorId: string;
  beforeAll(async () => {
    service = await startService({ engine });
    acme = await service.signUp('Ann');
    ({ projectId } = (await acme.call('GET', '/auth/identity')).body);
    await twoPersons(true);
    const made = await create('author');
    [author, authorId] = [made.body.key, made.body.record.keyId];
    reviewer = (await create('reviewer')).body.key;
  });
  afterAll(() => service.end());

  const twoPersons = (requireTwoPersonPublish: boolean): Promise<Answer> =>
    acme.call('PUT', `/projects/${projectId}`, { body: { settings: { requireTwoPersonPublish } } });
  const create = (name: string): Promise<Answer> =>
    acme.call('POST', '/api-keys', {
      body: { name, scopes: ['governance:manage', 'governance:read', 'keys:write'] },
    });
  const post = (key: string, path: string, body: unknown): Promise<Answer> =>
    acme.call('POST', `/governance/policies${path}`, { key, body });
  let count = 0;
  const draft = async (key = author): Promise<string> => {
    const policyId = `p${count++}`;
    const body = { policyId, name: 'p', condition: { 'tool.name': 'shell' }, action: 'deny' };
    expect((await post(key, '', body)).status).toBe(201);
    return policyId;
  };
  const version = (policyId: string, key: string): Promise<Answer> =>
    post(key, `/${policyId}/versions`, { condition: { 'tool.name': 'rm' }, action: 'deny' });

  it('the author of a version cannot publish it, and the error names who can', async () => {
    const policyId = await draft();
    const refused = await post(author, `/${policyId}/publish`, {});
    expect(said(refused)).toEqual([403, 'FORBIDDEN']);
    expect(refused.body).toMatchObject({ author: authorId, version: 1 });
    expect(refused.body.detail).toMatch(/another key or person than key_.*wrote version 1/);
    expect((await post(reviewer, `/${policyId}/publish`, {})).status).toBe(200);
  });

  it('the author of a version can neither activate it nor roll back to it', async () => {
    const policyId = await draft();
    const activate = { targetStatus: 'active' };
    expect((await post(author, `/${policyId}/transition`, activate)).status).toBe(403);
    expect((await post(author, `/${policyId}/transition`, { targetStatus: 'review' })).status).toBe(200);
    expect((await post(author, `/${policyId}/transition`, activate)).status).toBe(403);
    expect((await post(reviewer, `/${policyId}/transition`, activate)).status).toBe(200);
    await version(policyId, reviewer);
    expect((await post(reviewer, `/${policyId}/publish`, {})).status).toBe(403);
    expect((await post(author, `/${policyId}/publish`, {})).status).toBe(200);
    expect((await post(author, `/${policyId}/rollback`, { targetVersion: 1 })).status).toBe(403);
    expect((await post(reviewer, `/${policyId}/rollback`, { targetVersion: 1 })).status).toBe(200);
  });

  it('any caller may take a policy out of force', async () => {
    const policyId = await draft();
    await post(reviewer, `/${policyId}/publish`, {});
    const stop = { targetStatus: 'disabled' };
    expect((await post(author, `/${policyId}/transition`, stop)).status).toBe(200);
    expect((await post(author, `/${policyId}/transition`, { targetStatus: 'active' })).status).toBe(403);
    expect((await post(author, `/${policyId}/transition`, { targetStatus: 'archived' })).status).toBe(200);
  });

  it('the author of other versions may publish a version of another author', async () => {
    const policyId = await draft(author);
    await version(policyId, reviewer);
    expect((await post(author, `/${policyId}/publish`, { version: 1 })).status).toBe(403);
    expect((await post(author, `/${policyId}/publish`, { version: 2 })).status).toBe(200);
  });

  it('a key that was rotated from the key of the author cannot publish the version', async () => {
    const { body: own } = await create('rotating');
    const policyId = await draft(own.key);
    let newest = own;
    for (let n = 0; n < 3; n++) {
      newest = (await acme.call('POST', `/api-keys/${newest.record.keyId}/rotate`)).body;
    }
    expect((await post(newest.key, `/${policyId}/publish`, {})).status).toBe(403);
    const { body: other } = await create('fresh');
    expect((await post(other.key, `/${policyId}/publish`, {})).status).toBe(200);
  });

  it('a person may publish a version that a key wrote, unless that person wrote it', async () => {
    const ann = asPerson(service, 'Ann');
    const policyId = await draft();
    const publish = (id: string) =>
      ann('POST', `/governance/policies/${id}/publish`, { ...inProject(projectId), body: {} });
    expect((await publish(policyId)).status).toBe(200);
    const body = { policyId: 'hers', name: 'p', condition: { 'tool.name': 'shell' }, action: 'deny' };
    await ann('POST', '/governance/policies', { ...inProject(projectId), body });
    expect((await publish('hers')).status).toBe(403);
  });

  it('a key that was rotated from the asking key cannot decide the approval', async () => {
    const shell = { policyId: 'ask', name: 'p', condition: { 'tool.name': 'pay' }, action: 'escalate' };
    await post(author, '', shell);
    await post(reviewer, '/ask/publish', {});
    const { body: asker } = await acme.call('POST', '/api-keys', { body: { name: 'asker' } });
    const call = { tool: { name: 'pay' }, arguments: {}, runId: 'r' };
    const { body } = await acme.call('POST', '/mcp/tools/evaluate', { key: asker.key, body: call });
    const { body: rotated } = await acme.call('POST', `/api-keys/${asker.record.keyId}/rotate`);
    const decide = (key: string) =>
      acme.call('POST', `/approvals/${body.approvalId}/decision`, { key, body: { outcome: 'approved' } });
    expect(said(await decide(rotated.key))).toEqual([403, 'FORBIDDEN']);
    expect((await decide(acme.keys.production)).status).toBe(200);
  });

  it('the log records each refused publication and decision', async () => {
    const events = await told(acme.call, 'authorization.failed');
    expect(events.length).toBeGreaterThan(0);
    expect(events[0]?.metadata).toMatchObject({ operation: 'publishPolicy', code: 'FORBIDDEN' });
  });

  it('the author may publish when the project does not require two people', async () => {
    await twoPersons(false);
    const policyId = await draft();
    expect((await post(author, `/${policyId}/publish`, {})).status).toBe(200);
  });
});
