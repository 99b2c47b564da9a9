import { afterEach, beforeEach, expect, it } from 'vitest';
import * as gov from '../../src/client/index.ts';
import { problem, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeEach(async () => {
  server = await startServer();
});
afterEach(() => server.close());

it.each([
  [400, 'VALIDATION_ERROR', gov.GovBadRequestError],
  [401, 'INVALID_CREDENTIAL', gov.GovAuthError],
  [402, 'PAYMENT_REQUIRED', gov.GovPaymentError],
  [403, 'INSUFFICIENT_SCOPE', gov.GovPermissionError],
  [404, 'NOT_FOUND', gov.GovNotFoundError],
  [409, 'CONFLICT', gov.GovConflictError],
  [410, 'GONE', gov.GovNotFoundError],
  [412, 'PRECONDITION_FAILED', gov.GovConflictError],
  [413, 'PAYLOAD_TOO_LARGE', gov.GovTooLargeError],
  [422, 'ATTESTATION_FAILED', gov.GovBadRequestError],
  [429, 'RATE_LIMITED', gov.GovRateLimitError],
  [500, 'INTERNAL', gov.GovServerError],
  [503, 'OVERLOADED', gov.GovServerError],
] as const)(
  'an answer with status %s and code %s throws an error of its kind',
  async (status, code, Kind) => {
    server.handle = (_seen, response) => problem(response, code, status);
    const client = gov.createClient({ baseUrl: server.baseUrl, retries: 0, env: {} });
    const error: unknown = await client.listRuns().catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(Kind);
    expect(error).toBeInstanceOf(gov.GovApiError);
    expect(error).toBeInstanceOf(gov.GovError);
    expect(error).toMatchObject({ name: Kind.name, status, code, requestId: 'req-12345678' });
  },
);

it('an attempt that gets no answer in time throws a GovTimeoutError', async () => {
  server.handle = () => {};
  const client = gov.createClient({ baseUrl: server.baseUrl, retries: 0, timeoutMs: 30, env: {} });
  const error: unknown = await client.getHealth().catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(gov.GovTimeoutError);
  expect(error).toBeInstanceOf(gov.GovNetworkError);
  expect(error).toMatchObject({ code: 'TIMEOUT', retryable: true });
});
