import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Operation } from '../../src/contract/operation.ts';
import { errorOf, failureOf } from '../../src/contract/failure.ts';
import { fieldCodes } from '../../src/contract/field-codes.ts';
import { problemHelp, problemsPage } from '../../src/contract/problem-help.ts';
import { GovError, problems, problemSlug, type ProblemCode } from '../../src/contract/problems.ts';
import { table } from '../../src/contract/table.ts';
import { telemetryFaults } from '../../src/contract/telemetry.ts';
import { renderProblem } from '../../src/http/answer/problem.ts';
import { projectRoot } from '../paths.ts';

const codes = Object.keys(problems) as ProblemCode[];
const context = { requestId: 'req-12345678', base: 'http://127.0.0.1:7460' };

describe('the error register', () => {
  it('the error register has stable codes, titles and statuses of the documented set', () => {
    for (const code of codes) {
      expect(code).toMatch(/^[A-Z][A-Z_]{2,62}$/);
      expect(problems[code].title).toMatch(/^[A-Z].*[^.]$/);
      expect([
        400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 412, 413, 415, 416, 422, 426, 429, 431, 500, 503,
      ]).toContain(problems[code].status);
    }
    expect(new Set(codes.map(problemSlug)).size).toBe(codes.length);
  });

  it('the error register says what to do about each problem', () => {
    for (const code of codes) expect(problemHelp[code]).toMatch(/^[A-Z].{8,}\.$/);
  });

  it('docs/reference/problems.md shows the error register', () => {
    expect(readFileSync(join(projectRoot, 'docs/reference/problems.md'), 'utf8')).toBe(problemsPage());
  });

  it('the error register contains every code that the sources throw', () => {
    const unknown = globSync(`${projectRoot}/{src,plane}/**/*.ts`).flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(/new GovError\(\s*'([A-Z_]+)'/g)]
        .map(([, code]) => code ?? '')
        .filter((code) => !Object.hasOwn(problems, code)),
    );
    expect(unknown).toEqual([]);
  });

  it('the list of field codes contains every code of a finding that the sources name', () => {
    const known = new Set<string>([...Object.keys(fieldCodes), ...telemetryFaults]);
    const named = globSync(`${projectRoot}/src/{contract,core,service,http,store}/**/*.ts`).flatMap(
      (path) => [
        ...readFileSync(path, 'utf8').matchAll(/\bin: '(?:body|query|path|header)',\s*code: '(\w+)'/g),
      ],
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.map(([, code = '']) => code).filter((code) => !known.has(code))).toEqual([]);
    for (const [code, meaning] of Object.entries(fieldCodes)) {
      expect(code).toMatch(/^[A-Z][A-Z_]+$/);
      expect(meaning).toMatch(/^[A-Z].*[^.]$/);
    }
  });

  it('the error register has a problem for each status that an operation documents', () => {
    const statuses = new Set(codes.map((code) => problems[code].status));
    for (const row of Object.values<Operation>(table)) {
      for (const status of row.statuses) expect(statuses.has(status), `${row.path} ${status}`).toBe(true);
    }
  });
});

describe('an error', () => {
  it('an error is transient where its code is retryable, unless the error says otherwise', () => {
    for (const code of codes) expect(new GovError(code, 'x').transient).toBe(problems[code].retryable);
    expect(new GovError('OVERLOADED', 'x').transient).toBe(true);
    expect(new GovError('CONFLICT', 'x', { transient: true }).transient).toBe(true);
  });

  it('an error that is transient stays so on its way to another thread', () => {
    for (const transient of [true, false]) {
      const sent = errorOf(structuredClone(failureOf(new GovError('CONFLICT', 'x', { transient }))));
      expect(sent).toMatchObject({ code: 'CONFLICT', transient });
    }
  });
});

describe('a problem body', () => {
  it('a problem body has exactly the members of RFC 9457 and of the contract', () => {
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

  it('a problem body shows the hidden characters of the input that it quotes as escapes', () => {
    const hidden = 'a\u202eb\u200bc\u009bd\u{e0041}e\u2066f\u115fg\u2800h\u3164i\u00adj\nk';
    const shown = 'a\\u202eb\\u200bc\\u009bd\\udb40\\udc41e\\u2066f\\u115fg\\u2800h\\u3164i\\u00adj\\u000ak';
    const errors = [{ pointer: `/${hidden}`, in: 'body', code: 'UNKNOWN_FIELD', detail: hidden }] as const;
    const error = new GovError('VALIDATION_ERROR', hidden, { errors });
    expect(JSON.parse(renderProblem(error, context).body)).toMatchObject({
      detail: shown,
      errors: [{ pointer: `/${shown}`, detail: shown }],
    });
  });

  it('a problem body of an unexpected error shows no detail of that error', () => {
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

  it('an extension cannot overwrite the standard members of a problem body', () => {
    const error = new GovError('NOT_FOUND', 'x', {
      extensions: { status: 200, code: 'OK', type: 'about:blank' },
    });
    expect(JSON.parse(renderProblem(error, context).body)).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  it('a problem of a 401 or a missing scope sends the challenge of RFC 6750', () => {
    const challenge = (code: ProblemCode, extensions = {}) =>
      renderProblem(new GovError(code, 'x', { extensions }), context).headers['www-authenticate'];
    expect(challenge('UNAUTHENTICATED')).toBe('Bearer realm="gov"');
    expect(challenge('INVALID_CREDENTIAL')).toBe('Bearer realm="gov", error="invalid_token"');
    expect(challenge('INSUFFICIENT_SCOPE', { requiredScope: 'events:read' })).toBe(
      'Bearer realm="gov", error="insufficient_scope", scope="events:read"',
    );
    expect(challenge('FORBIDDEN')).toBeUndefined();
  });

  it('a quota problem has the registered type, and every 503 has Retry-After', () => {
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
