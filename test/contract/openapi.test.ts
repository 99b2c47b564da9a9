import { Validator } from '@seriousme/openapi-schema-validator';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { streams } from '../../src/contract/events.ts';
import { receivers } from '../../src/contract/otlp.ts';
import { openapiDocument, operationObject } from '../../src/contract/openapi.ts';
import { accessOf, type Operation } from '../../src/contract/operation.ts';
import { table } from '../../src/contract/table.ts';
import { projectRoot } from '../paths.ts';

const golden = join(projectRoot, 'test/golden/openapi.json');
const text = `${JSON.stringify(openapiDocument(), null, 2)}\n`;
const document = JSON.parse(text) as {
  paths: Record<string, Record<string, Documented>>;
};
interface Documented {
  readonly operationId: string;
  readonly 'x-stability': string;
  readonly 'x-origin': string;
  readonly security: readonly Record<string, unknown>[];
  readonly parameters?: readonly { readonly $ref?: string }[];
  readonly responses: Readonly<Record<string, { readonly content?: object; readonly headers?: object }>>;
}
/** Answers to HEAD are those to GET without a body. */
const documented = Object.values(document.paths).flatMap((methods) =>
  Object.entries(methods).flatMap(([method, operation]) => (method === 'head' ? [] : [operation])),
);
const find = (id: string): Documented | undefined => documented.find(({ operationId }) => operationId === id);

describe('the OpenAPI document', () => {
  it('the OpenAPI document equals the golden file, which GOLDEN=1 rewrites', () => {
    if (process.env['GOLDEN'] === '1' || !existsSync(golden)) writeFileSync(golden, text);
    expect(text).toBe(readFileSync(golden, 'utf8'));
  });

  it('the OpenAPI document is valid OpenAPI 3.1 for a public validator', async () => {
    const { valid, errors } = await new Validator().validate(text);
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
  });

  it('the OpenAPI document lists every operation once, with stability and origin', () => {
    const atRoot = Object.entries<Operation>(receivers).map(
      ([id, row]) => [`${id}AtRoot`, row] as [string, Operation],
    );
    const rows: [string, Operation][] = [
      ...Object.entries<Operation>({ ...table, ...streams, ...receivers }),
      ...atRoot,
    ];
    expect(documented.map(({ operationId }) => operationId).toSorted()).toEqual(
      rows.map(([id]) => id).toSorted(),
    );
    for (const [id, row] of rows) {
      const operation = find(id);
      expect([operation?.['x-stability'], operation?.['x-origin']]).toEqual([row.stability, row.origin]);
      const statuses = Object.keys(operation?.responses ?? {});
      for (const status of [...Object.keys(row.success), ...row.statuses])
        expect(statuses).toContain(String(status));
    }
  });

  it('the OpenAPI document lists the transport statuses for every operation', () => {
    for (const methods of Object.values(document.paths)) {
      for (const [method, { operationId, responses }] of Object.entries(methods)) {
        const hasBody = method !== 'get' && method !== 'head';
        const shared = [400, 404, 405, 406, 408, 429, 431, 503, ...(hasBody ? [413, 415] : [])];
        for (const status of shared) expect(Object.keys(responses), operationId).toContain(String(status));
        expect(Object.keys(responses).includes('409') || method !== 'post', operationId).toBe(true);
      }
    }
  });

  it('the OpenAPI document says who may call each operation and how a person names the project', () => {
    const anyone = [{}];
    const all = ['api_key', 'bearer_key', 'id_token', 'session'].map((name) => ({ [name]: [] }));
    const plane = [{ hybrid_telemetry_key: [] }];
    const expected = {
      anyone,
      idToken: [{ id_token: [] }],
      project: all,
      organization: all,
      caller: all,
      plane,
      cron: anyone,
    };
    for (const [id, row] of Object.entries<Operation>({ ...table, ...streams, ...receivers })) {
      const operation = find(id);
      const access = accessOf(row);
      expect(operation?.security, id).toEqual(expected[access]);
      const names = operation?.parameters?.some(({ $ref }) => $ref === '#/components/parameters/GovProject');
      expect(names ?? false, id).toBe(['project', 'organization', 'caller'].includes(access));
      const refused = ['401', '403'].every((status) => operation?.responses[status] !== undefined);
      expect(refused, id).toBe(row.tag !== 'Health');
    }
  });

  it('an answer without body has no content, and all operations but probes document rate limits', () => {
    expect(find('revokeApiKey')?.responses['204']).not.toHaveProperty('content');
    for (const [id, row] of Object.entries<Operation>(table)) {
      for (const status of Object.keys(row.success)) {
        const { headers = {} } = find(id)?.responses[status] ?? {};
        expect(Object.keys(headers).includes('RateLimit'), id).toBe(row.tag !== 'Health');
      }
    }
  });

  it('the OpenAPI document says that receivers take and answer OTLP, below the base URL and at the root', () => {
    for (const place of ['/otlp/v1/traces', '/v1/traces']) {
      const { post } = document.paths[place] as unknown as Record<string, Record<string, any>>; // oxlint-disable-line typescript/no-explicit-any -- read member by member
      expect(Object.keys(post?.['requestBody'].content)).toEqual([
        'application/json',
        'application/x-protobuf',
      ]);
      expect(post?.['responses']['400']).toEqual({ $ref: '#/components/responses/OtlpStatus' });
      expect(post?.['servers']).toEqual(place === '/v1/traces' ? [{ url: '/' }] : undefined);
    }
  });

  it('a deprecated operation is marked and documents the headers with its dates', () => {
    const deprecation = { since: 1, sunset: 2, link: 'https://gov.example.com/docs' };
    const going = operationObject('x', { ...table.listRuns, deprecation }) as unknown as Documented;
    expect(going).toHaveProperty('deprecated', true);
    expect(Object.keys(going.responses['200']?.headers ?? {})).toEqual(
      expect.arrayContaining(['Deprecation', 'Sunset', 'Link']),
    );
    expect(operationObject('x', { ...table.listRuns, stability: 'deprecated' })).toHaveProperty(
      'deprecated',
      true,
    );
    expect(operationObject('x', table.listRuns)).not.toHaveProperty('deprecated');
  });

  it('the OpenAPI document describes range requests of downloads and their headers', () => {
    const path = document.paths['/exports/{exportId}/download'] ?? {};
    const names = (of: Documented | undefined): string[] =>
      (of?.parameters ?? []).flatMap(({ $ref }) => $ref?.split('/').at(-1) ?? []);
    expect(names(path['get'])).toEqual(['GovProject', 'IfMatch', 'IfNoneMatch', 'Range', 'IfRange']);
    expect(names(path['head'])).toEqual(['GovProject', 'IfMatch', 'IfNoneMatch']);
    const told = (method: string, status: string): string[] =>
      Object.keys(path[method]?.responses[status]?.headers ?? {});
    const whole = ['ETag', 'Accept-Ranges', 'Repr-Digest', 'Content-Disposition'];
    for (const method of ['get', 'head']) expect(told(method, '200')).toEqual(expect.arrayContaining(whole));
    expect(told('get', '206')).toEqual(expect.arrayContaining([...whole, 'Content-Range']));
    expect(told('get', '304')).toEqual(expect.arrayContaining(['ETag']));
    expect(path['head']?.responses['200']).not.toHaveProperty('content');
    expect(Object.keys(path['head']?.responses ?? {})).not.toContain('206');
  });

  it('every reference in the OpenAPI document has a target', () => {
    for (const [, reference] of text.matchAll(/"\$ref": "#\/([^"]+)"/g)) {
      const target = (reference ?? '')
        .split('/')
        .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document);
      expect(target, reference).toBeDefined();
    }
  });
});
