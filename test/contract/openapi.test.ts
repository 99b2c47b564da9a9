import { Validator } from '@seriousme/openapi-schema-validator';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { streams } from '../../src/contract/events.ts';
import { openapiDocument } from '../../src/contract/openapi.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { table } from '../../src/contract/table.ts';
import { projectRoot } from '../shared.ts';

const golden = join(projectRoot, 'test/golden/openapi.json');
const text = `${JSON.stringify(openapiDocument(), null, 2)}\n`;
const document = JSON.parse(text) as {
  paths: Record<
    string,
    Record<string, { operationId: string; 'x-stability': string; 'x-origin': string; responses: object }>
  >;
};

describe('the OpenAPI document', () => {
  it('is the golden one; GOLDEN=1 writes it anew', () => {
    if (process.env['GOLDEN'] === '1' || !existsSync(golden)) writeFileSync(golden, text);
    expect(text).toBe(readFileSync(golden, 'utf8'));
  });

  it('is valid OpenAPI 3.1 to a public validator', async () => {
    const { valid, errors } = await new Validator().validate(text);
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
  });

  it('has every row of the table once, with stability and origin', () => {
    const rows = Object.entries<Operation>({ ...table, ...streams });
    const found = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    expect(found.map(({ operationId }) => operationId).toSorted()).toEqual(rows.map(([id]) => id).toSorted());
    for (const [id, row] of rows) {
      const operation = found.find(({ operationId }) => operationId === id);
      expect([operation?.['x-stability'], operation?.['x-origin']]).toEqual([row.stability, row.origin]);
      const documented = Object.keys(operation?.responses ?? {});
      for (const status of [...Object.keys(row.success), ...row.statuses])
        expect(documented).toContain(String(status));
    }
  });

  it('documents the statuses of the transport for every operation', () => {
    for (const methods of Object.values(document.paths)) {
      for (const [method, { operationId, responses }] of Object.entries(methods)) {
        const shared = [400, 404, 405, 406, 408, 429, 431, 503, ...(method === 'get' ? [] : [413, 415])];
        for (const status of shared) expect(Object.keys(responses), operationId).toContain(String(status));
        expect(Object.keys(responses).includes('409') || method !== 'post', operationId).toBe(true);
      }
    }
  });

  it('has no reference that leads nowhere', () => {
    for (const [, reference] of text.matchAll(/"\$ref": "#\/([^"]+)"/g)) {
      const target = (reference ?? '')
        .split('/')
        .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document);
      expect(target, reference).toBeDefined();
    }
  });
});
