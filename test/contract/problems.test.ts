import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Operation } from '../../src/contract/operation.ts';
import { problemHelp, problemsPage } from '../../src/contract/problem-help.ts';
import { GovError, problems, problemSlug, type ProblemCode } from '../../src/contract/problems.ts';
import { table } from '../../src/contract/table.ts';
import { renderProblem } from '../../src/http/answer/problem.ts';
import { projectRoot } from '../paths.ts';

const codes = Object.keys(problems) as ProblemCode[];
const context = { requestId: 'req-12345678', base: 'http://127.0.0.1:7460' };

describe('the error register', () => {
  it('has stable codes, titles and statuses of the documented set', () => {
    for (const code of codes) {
      expect(code).toMatch(/^[A-Z][A-Z_]{2,62}$/);
      expect(problems[code].title).toMatch(/^[A-Z].*[^.]$/);
      expect([
        400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 412, 413, 415, 416, 422, 426, 429, 431, 500, 503,
      ]).toContain(problems[code].status);
    }
    expect(new Set(codes.map(problemSlug)).size).toBe(codes.length);
  });

  it('says what to do about each problem', () => {
    for (const code of codes) expect(problemHelp[code]).toMatch(/^[A-Z].{8,}\.$/);
  });

  it('is what docs/reference/problems.md shows', () => {
    expect(readFileSync(join(projectRoot, 'docs/reference/problems.md'), 'utf8')).toBe(problemsPage());
  });

  it('is the only source of codes: whatever the sources throw is in it', () => {
    const unknown = globSync(`${projectRoot}/{src,plane}/**/*.ts`).flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(/new GovError\(\s*'([A-Z_]+)'/g)]
        .map(([, code]) => code ?? '')
        .filter((code) => !Object.hasOwn(problems, code)),
    );
    expect(unknown).toEqual([]);
  });

  it('has a problem for each status that a row documents', () => {
    const statuses = new Set(codes.map((code) => problems[code].status));
    for (const row of Object.values<Operation>(table)) {
      for (const status of row.statuses) expect(statuses.has(status), `${row.path} ${status}`).toBe(true);
    }
  });
});

describe('a problem body', () => {
  it('has exactly the members of RFC 9457 and of the contract', () => {
    const { body, headers } = renderProblem(
      new GovError('RUN_HAS_NO_EVENTS', 'expected events, got none'),
      context,
    );
    expect(headers['content-type']).toBe('application/problem+json');
    expect(JSON.parse(body)).toEqual({
      type: 'http://127.0.0.1:7460/problems/run-has-no-events',
      title: 'The run has no events',
      status: 400,
      detail: 'expected events, got none',
      instance: 'urn:gov:req:req-12345678',
      code: 'RUN_HAS_NO_EVENTS',
      requestId: 'req-12345678',
      retryable: false,
      docUrl: 'http://127.0.0.1:7460/problems/run-has-no-events',
    });
  });

  it('of an unexpected error shows nothing of it', () => {
    const error = new GovError('INTERNAL', 'SELECT secret FROM table at /srv/x.js:1', {
      extensions: { path: '/srv' },
    });
    expect(JSON.parse(renderProblem(error, context).body)).toEqual({
      type: 'http://127.0.0.1:7460/problems/internal',
      title: 'Internal error',
      status: 500,
      detail: 'Internal error',
      instance: 'urn:gov:req:req-12345678',
      code: 'INTERNAL',
      requestId: 'req-12345678',
      retryable: true,
    });
  });

  it('cannot be rewritten by an extension', () => {
    const error = new GovError('NOT_FOUND', 'x', {
      extensions: { status: 200, code: 'OK', type: 'about:blank' },
    });
    expect(JSON.parse(renderProblem(error, context).body)).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  it('of a 401 and of a missing scope challenges as RFC 6750 says', () => {
    const challenge = (code: ProblemCode, extensions = {}) =>
      renderProblem(new GovError(code, 'x', { extensions }), context).headers['www-authenticate'];
    expect(challenge('UNAUTHENTICATED')).toBe('Bearer realm="gov"');
    expect(challenge('INVALID_CREDENTIAL')).toBe('Bearer realm="gov", error="invalid_token"');
    expect(challenge('INSUFFICIENT_SCOPE', { requiredScope: 'events:read' })).toBe(
      'Bearer realm="gov", error="insufficient_scope", scope="events:read"',
    );
    expect(challenge('FORBIDDEN')).toBeUndefined();
  });

  it('of a quota has the registered type, and 503 always says when to come back', () => {
    const quota = renderProblem(new GovError('QUOTA_EXCEEDED', 'x', { retryAfterSeconds: 60 }), context);
    expect(JSON.parse(quota.body).type).toBe(
      'https://iana.org/assignments/http-problem-types#quota-exceeded',
    );
    expect(quota.headers['retry-after']).toBe('60');
    for (const code of codes.filter((each) => problems[each].status === 503)) {
      expect(renderProblem(new GovError(code, 'x'), context).headers['retry-after']).toBe('5');
    }
  });
});
